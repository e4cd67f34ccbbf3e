"""One adapter an accelerator family: device, collective backend, precision, memory, random state.

Nothing outside this package names a vendor. A new family is one more module with the same functions.
"""

import importlib
from typing import Literal, Protocol, cast

import torch

from trainer.errors import TrainerError

_MODULES = {"gloo": "trainer.adapters.cpu", "nccl": "trainer.adapters.cuda"}

Precision = Literal["float32", "bfloat16"]


class Adapter(Protocol):
    """What the trainer needs to know about a device family."""

    name: str
    backend: str

    def device(self, local_rank: int) -> torch.device:
        """Claim the device of a local rank; raises TrainerError when it is not there."""

    def best_precision(self) -> Precision:
        """The fastest precision that the hardware multiplies natively."""

    def synchronize(self) -> None:
        """Wait until the device has done all queued work."""

    def memory_bytes(self) -> int:
        """Memory in use now."""

    def memory_limit_bytes(self) -> int:
        """Memory this process may use."""

    def rng_state(self) -> torch.Tensor:
        """The device's random state as bytes."""

    def set_rng_state(self, state: torch.Tensor) -> None:
        """Restore what `rng_state` returned."""


def load(backend: str) -> Adapter:
    """The adapter that serves a collective backend; raises TrainerError for an unknown one."""
    if backend not in _MODULES:
        raise TrainerError(f"no adapter for backend {backend!r}; known: {', '.join(sorted(_MODULES))}")
    return cast(Adapter, importlib.import_module(_MODULES[backend]))

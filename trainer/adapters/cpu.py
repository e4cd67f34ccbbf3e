"""CPUs, with gloo."""

import os
from pathlib import Path

import torch

from trainer import machine
from trainer.adapters import Precision

name = "cpu"
backend = "gloo"


def device(local_rank: int) -> torch.device:
    return torch.device("cpu")


def best_precision() -> Precision:
    return "bfloat16" if torch.cpu._is_amx_tile_supported() else "float32"


def synchronize() -> None:
    """CPU work is never queued."""


def memory_bytes() -> int:
    resident_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return resident_pages * os.sysconf("SC_PAGE_SIZE")


def memory_limit_bytes() -> int:
    return machine.memory_limit_bytes()


def rng_state() -> torch.Tensor:
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor) -> None:
    torch.set_rng_state(state)

"""The training state as named tensors: collected, divided over ranks, written, read back, restored."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from trainer import files
from trainer.adapters import Adapter
from trainer.checkpoint.store import Checkpoint, Part
from trainer.optimizer import AdamW

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Share:
    """What one rank writes: its part of the replicated tensors and its own random state, in host memory."""

    tensors: Tensors
    random: dict[str, Any]


def snapshot(model: nn.Module, optimizer: AdamW, *, adapter: Adapter, rank: int, world_size: int) -> Share:
    """Copy this rank's share of the state to host memory; later training steps cannot change the copy."""
    tensors = _live_tensors(model, optimizer)
    sizes = {name: tensor.numel() * tensor.element_size() for name, tensor in tensors.items()}
    names = divide(sizes, world_size=world_size)[rank]
    copies = {name: tensors[name].detach().to("cpu", copy=True).contiguous() for name in names}
    states = {"torch": torch.get_rng_state(), "device": adapter.rng_state()}
    copies |= {_random_name(rank, key): state.clone() for key, state in states.items()}
    return Share(copies, _host_random_state())


def divide(sizes: dict[str, int], *, world_size: int) -> list[list[str]]:
    """Assign tensors to ranks so that each holds about the same number of bytes; largest first."""
    shares: list[list[str]] = [[] for _ in range(world_size)]
    loads = [0] * world_size
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        lightest = loads.index(min(loads))
        shares[lightest].append(name)
        loads[lightest] += sizes[name]
    return shares


def write_share(share: Share, directory: Path, *, rank: int) -> list[Part]:
    """Write a rank's files into a staging directory, durably; returns their descriptions."""
    tensors = directory / f"rank-{rank:05d}.safetensors"
    save_file(share.tensors, tensors)
    tensors.chmod(0o644)
    files.sync_file(tensors)
    rest = directory / f"rank-{rank:05d}.json"
    files.write_json(rest, share.random)
    return [_describe(path) for path in (tensors, rest)]


def restore(
    checkpoint: Checkpoint,
    model: nn.Module,
    optimizer: AdamW,
    *,
    adapter: Adapter,
    rank: int,
) -> None:
    """Load weights, optimizer and, where the checkpoint has this rank, random state."""
    tensors = _read_tensors(checkpoint)
    for name, tensor in _live_tensors(model, optimizer).items():
        tensor.copy_(tensors[name])
    if _random_name(rank, "torch") in tensors:
        torch.set_rng_state(tensors[_random_name(rank, "torch")])
        adapter.set_rng_state(tensors[_random_name(rank, "device")])
        _set_host_random_state(json.loads((checkpoint.path / f"rank-{rank:05d}.json").read_text()))


def _live_tensors(model: nn.Module, optimizer: AdamW) -> Tensors:
    weights = {f"model.{name}": weight.detach() for name, weight in model.named_parameters()}
    return weights | {f"optimizer.{name}": tensor for name, tensor in optimizer.state().items()}


def _read_tensors(checkpoint: Checkpoint) -> Tensors:
    tensors: Tensors = {}
    for part in checkpoint.manifest.files:
        if part.file.endswith(".safetensors"):
            tensors |= load_file(checkpoint.path / part.file)
    return tensors


def _random_name(rank: int, key: str) -> str:
    return f"random.rank-{rank:05d}.{key}"


def _host_random_state() -> dict[str, Any]:
    version, words, gauss = random.getstate()
    numpy = dict(np.random.get_state(legacy=False))
    numpy["state"] = {**numpy["state"], "key": numpy["state"]["key"].tolist()}
    return {"python": [version, list(words), gauss], "numpy": numpy}


def _set_host_random_state(state: dict[str, Any]) -> None:
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    np.random.set_state(state["numpy"])


def _describe(path: Path) -> Part:
    return Part(file=path.name, sha256=files.sha256_of(path), num_bytes=path.stat().st_size)

"""Data parallelism: every rank holds the whole model, gradients are averaged each step."""

from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

BUCKET_BYTES = 32 * 2**20

T = TypeVar("T")


class GradientBuffer:
    """One flat buffer that all gradients are views of, so that averaging and clipping copy nothing.

    The average is a sum over ranks divided by the world size in our own code: not every backend divides when
    asked for an average.
    """

    def __init__(self, model: nn.Module) -> None:
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        first = parameters[0]
        num_elements = sum(parameter.numel() for parameter in parameters)
        self.flat = torch.zeros(num_elements, dtype=first.dtype, device=first.device)
        pieces = self.flat.split([parameter.numel() for parameter in parameters])
        for parameter, piece in zip(parameters, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)

    @property
    def num_bytes(self) -> int:
        return self.flat.numel() * self.flat.element_size()

    @property
    def exchanged_bytes(self) -> int:
        """Bytes of gradients that this rank hands to other ranks each step."""
        return self.num_bytes if world_size() > 1 else 0

    def zero(self) -> None:
        self.flat.zero_()

    def average(self) -> None:
        """Replace the gradients by their mean over ranks; does nothing in a world of one."""
        if world_size() == 1:
            return
        bucket = max(1, BUCKET_BYTES // self.flat.element_size())
        pending = [dist.all_reduce(piece, async_op=True) for piece in self.flat.split(bucket)]
        for work in pending:
            work.wait()
        self.flat.div_(world_size())

    def clip(self, max_norm: float) -> float:
        """Scale the gradients down to `max_norm`; returns their norm before."""
        norm = float(torch.linalg.vector_norm(self.flat))
        if norm > max_norm:
            self.flat.mul_(max_norm / norm)
        return norm


def world_size() -> int:
    """Number of ranks; 1 without a process group."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """This process's rank; 0 without a process group."""
    return dist.get_rank() if dist.is_initialized() else 0


def sum_over_ranks(values: Tensor) -> Tensor:
    """Sum a tensor over all ranks, in place."""
    if world_size() > 1:
        dist.all_reduce(values)
    return values


def broadcast_object(value: T) -> T:
    """Give every rank the value of rank 0."""
    if world_size() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def gather_objects(value: T) -> list[T]:
    """Collect one value of each rank, in rank order, on every rank."""
    if world_size() == 1:
        return [value]
    values: list[T | None] = [None] * world_size()
    dist.all_gather_object(values, value)
    return [item for item in values if item is not None]

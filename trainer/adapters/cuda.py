"""NVIDIA GPUs (and AMD GPUs, which torch serves under the same names), with NCCL."""

import torch

from trainer.adapters import Precision
from trainer.errors import TrainerError

name = "cuda"
backend = "nccl"


def device(local_rank: int) -> torch.device:
    count = torch.cuda.device_count()
    if local_rank >= count:
        raise TrainerError(
            f"local rank {local_rank} has no GPU: {count} visible. Check the node's driver and that the pod "
            f"asks for as many GPUs as NPROC_PER_NODE"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def best_precision() -> Precision:
    return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"


def synchronize() -> None:
    torch.cuda.synchronize()


def memory_bytes() -> int:
    return torch.cuda.max_memory_allocated()


def memory_limit_bytes() -> int:
    return torch.cuda.mem_get_info()[1]


def rng_state() -> torch.Tensor:
    return torch.cuda.get_rng_state()


def set_rng_state(state: torch.Tensor) -> None:
    torch.cuda.set_rng_state(state)

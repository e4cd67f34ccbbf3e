"""One of two ranks, averaging gradients over halves of a batch. Arguments: rank, store file, output."""

import sys

import torch
import torch.distributed as dist

from trainer.config import Model
from trainer.model import Transformer, next_token_loss
from trainer.parallelize import GradientBuffer, gather_objects, sum_over_ranks


def make_model() -> Transformer:
    """A model in float64, the same on every rank."""
    torch.manual_seed(11)
    config = Model(dim=16, num_layers=2, num_heads=2, num_kv_heads=1, hidden_dim=24, max_sequence_tokens=12)
    return Transformer(config, vocab_size=31).double()


def make_windows() -> torch.Tensor:
    """The global batch, shape (4, 13)."""
    return torch.randint(0, 31, (4, 13), generator=torch.Generator().manual_seed(2))


def main(rank: int, store: str, output: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    model = make_model()
    buffer = GradientBuffer(model)
    windows = make_windows()[2 * rank : 2 * rank + 2]
    loss = next_token_loss(model(windows[:, :-1]), windows[:, 1:])
    loss.backward()
    buffer.average()
    mean = sum_over_ranks(loss.detach().double()) / 2
    ranks = gather_objects(rank)
    torch.save({"gradients": buffer.flat, "loss": mean, "norm": buffer.clip(1e9), "ranks": ranks}, output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])

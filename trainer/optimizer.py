"""AdamW and its learning-rate schedule."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from trainer.config import Optimizer as OptimizerConfig

EPSILON = 1e-8


class AdamW:
    """AdamW (Loshchilov and Hutter 2019) that decays matrices and leaves vectors (norm gains) alone.

    torch's kernel, with state that is there from the start and named like the weights. The optimizer class of
    torch would load a compiler that is not used here: seconds of each start.
    """

    def __init__(self, model: nn.Module, config: OptimizerConfig) -> None:
        self._config = config
        named = dict(model.named_parameters())
        self._groups = [
            _Group({k: p for k, p in named.items() if p.dim() >= 2}, weight_decay=config.weight_decay),
            _Group({k: p for k, p in named.items() if p.dim() < 2}, weight_decay=0.0),
        ]

    @torch.no_grad()
    def step(self, *, learning_rate: float) -> None:
        """Update all weights from their gradients."""
        for group in self._groups:
            group.step(learning_rate, self._config)

    def state(self) -> dict[str, Tensor]:
        """The live state tensors by `<weight>.<exp_avg | exp_avg_sq | step>`."""
        return {
            f"{name}.{kind}": tensor
            for group in self._groups
            for kind, tensors in group.state().items()
            for name, tensor in zip(group.weights, tensors, strict=True)
        }


@dataclass
class _Group:
    """Weights with one decay, and their moments."""

    weights: dict[str, nn.Parameter]
    weight_decay: float
    averages: list[Tensor] = field(init=False)
    squares: list[Tensor] = field(init=False)
    steps: list[Tensor] = field(init=False)

    def __post_init__(self) -> None:
        weights = self.weights.values()
        self.averages = [torch.zeros_like(weight.detach()) for weight in weights]
        self.squares = [torch.zeros_like(weight.detach()) for weight in weights]
        self.steps = [torch.zeros((), dtype=torch.float32, device=weight.device) for weight in weights]

    def state(self) -> dict[str, list[Tensor]]:
        return {"exp_avg": self.averages, "exp_avg_sq": self.squares, "step": self.steps}

    def step(self, learning_rate: float, config: OptimizerConfig) -> None:
        weights = list(self.weights.values())
        adamw(
            list[Tensor](weights),
            [weight.grad for weight in weights if weight.grad is not None],
            self.averages,
            self.squares,
            [],
            self.steps,
            fused=True,
            amsgrad=False,
            maximize=False,
            beta1=config.beta1,
            beta2=config.beta2,
            lr=learning_rate,
            weight_decay=self.weight_decay,
            eps=EPSILON,
        )


def learning_rate_at(step: int, *, config: OptimizerConfig, num_steps: int) -> float:
    """Rate of optimizer step `step` (the first is 1): linear warm-up, then cosine down to the floor."""
    if step <= config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    progress = (step - config.warmup_steps) / max(1, num_steps - config.warmup_steps)
    cosine = 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))
    floor = config.min_learning_rate_ratio
    return config.learning_rate * (floor + (1.0 - floor) * cosine)

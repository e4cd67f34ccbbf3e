import pytest
import torch
from torch import Tensor, nn

from trainer.config import Optimizer
from trainer.optimizer import AdamW, learning_rate_at


def reference(weight: Tensor, gradients: list[Tensor], *, rate: float, decay: float) -> Tensor:
    """AdamW as in the paper, one step a gradient."""
    average, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        average = 0.9 * average + 0.1 * gradient
        square = 0.95 * square + 0.05 * gradient**2
        direction = (average / (1 - 0.9**step)) / ((square / (1 - 0.95**step)).sqrt() + 1e-8)
        weight = weight * (1 - rate * decay) - rate * direction
    return weight


def test_steps_follow_the_paper_and_spare_vectors_the_decay() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    start = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    gradients = {name: [torch.randn_like(weight) for _ in range(3)] for name, weight in start.items()}
    optimizer = AdamW(model, Optimizer(weight_decay=0.3))
    for step in range(3):
        for name, weight in model.named_parameters():
            weight.grad = gradients[name][step]
        optimizer.step(learning_rate=0.1)
    for name, decay in (("weight", 0.3), ("bias", 0.0)):
        expected = reference(start[name], gradients[name], rate=0.1, decay=decay)
        torch.testing.assert_close(dict(model.named_parameters())[name].detach(), expected)


def test_state_is_named_after_the_weights() -> None:
    state = AdamW(nn.Linear(2, 2), Optimizer()).state()
    assert set(state) == {f"{w}.{k}" for w in ("weight", "bias") for k in ("exp_avg", "exp_avg_sq", "step")}


@pytest.mark.parametrize(("step", "rate"), [(1, 0.1), (5, 0.5), (10, 1.0), (60, 0.6), (110, 0.2), (500, 0.2)])
def test_the_rate_warms_up_and_decays_to_its_floor(step: int, rate: float) -> None:
    config = Optimizer(learning_rate=1.0, min_learning_rate_ratio=0.2, warmup_steps=10)
    assert learning_rate_at(step, config=config, num_steps=110) == pytest.approx(rate)


def test_no_warm_up_begins_at_the_full_rate() -> None:
    config = Optimizer(learning_rate=1.0, min_learning_rate_ratio=1.0, warmup_steps=0)
    assert learning_rate_at(1, config=config, num_steps=1) == 1.0

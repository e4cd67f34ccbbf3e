"""The training loop: batches, averaged gradients, optimizer steps, and what must happen between them."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from trainer.adapters import Adapter, Precision
from trainer.config import RunConfig
from trainer.data.loader import TrainLoader, Windows
from trainer.errors import Diverged, Terminated
from trainer.metrics import Recorder
from trainer.model import Transformer, next_token_loss
from trainer.optimizer import AdamW, learning_rate_at
from trainer.parallelize import GradientBuffer, gather_objects, rank, sum_over_ranks, world_size
from trainer.progress import Progress
from trainer.resume import Checkpointer

MAX_ROWS_NAMED = 8
LINE_INTERVAL_STEPS = 10


@dataclass
class Session:
    """Everything a run works with, on one rank."""

    config: RunConfig
    adapter: Adapter
    device: torch.device
    precision: Precision
    model: Transformer
    optimizer: AdamW
    loader: TrainLoader
    validation: Windows
    recorder: Recorder
    checkpointer: Checkpointer
    progress: Progress
    gradients: GradientBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.gradients = GradientBuffer(self.model)


@dataclass
class StepTimes:
    """Seconds of one step, by what they were spent on."""

    data: float = 0.0
    compute: float = 0.0
    communication: float = 0.0

    def lap(self, part: str, started: float) -> float:
        """Add the time since `started` to a part; returns now."""
        now = time.perf_counter()
        setattr(self, part, getattr(self, part) + now - started)
        return now


@dataclass(frozen=True)
class Shared:
    """What all ranks know after a step's exchange: mean loss, whether anyone must stop or still saves."""

    loss: float
    stop: bool
    saving: bool


def train(session: Session, *, stop_requested: Callable[[], bool]) -> float | None:
    """Train up to the last step; returns the final validation loss.

    Saves a checkpoint every interval and at the end. Raises Terminated, after an emergency checkpoint, when
    any rank was asked to stop, and Diverged when loss or gradient is no longer finite.
    """
    training = session.config.training
    loss = None
    progress, checkpointer = session.progress, session.checkpointer
    while progress.step < training.num_steps:
        started = time.perf_counter()
        shared = _step(session, stop_requested=stop_requested)
        last = progress.step == training.num_steps
        checkpointer.report()
        if shared.stop and not last:
            checkpointer.save_and_wait(session)
            raise Terminated(f"asked to stop: the checkpoint of step {progress.step} is safe")
        if not last and progress.step % session.config.checkpoint.interval_steps == 0:
            checkpointer.save(session, still_saving=shared.saving)
        if last or progress.step % training.eval_interval_steps == 0:
            loss = validate(session)
            session.recorder.validation(step=progress.step, loss=loss)
        progress.elapsed_seconds += time.perf_counter() - started
    if loss is not None:
        checkpointer.save_and_wait(session)
    return loss


def validate(session: Session) -> float:
    """Mean loss over the validation windows in nats per token; ranks share the work."""
    mine = session.validation[rank() :: world_size()]
    size = session.config.training.micro_batch_sequences
    total = torch.zeros(2, dtype=torch.float64, device=session.device)
    session.model.eval()
    with torch.no_grad():
        for first in range(0, len(mine), size):
            windows = torch.from_numpy(mine[first : first + size]).to(session.device)
            total += torch.stack(
                (_loss(session, windows).double() * len(windows), total.new_tensor(len(windows)))
            )
    session.model.train()
    loss_sum, count = sum_over_ranks(total).tolist()
    return loss_sum / count


def _step(session: Session, *, stop_requested: Callable[[], bool]) -> Shared:
    """One optimizer step."""
    started = mark = time.perf_counter()
    times, progress, config = StepTimes(), session.progress, session.config
    windows = torch.from_numpy(session.loader.batch(progress.sequences_seen)).to(session.device)
    mark = times.lap("data", mark)
    local_loss = _accumulate_gradients(session, windows)
    session.adapter.synchronize()
    mark = times.lap("compute", mark)
    session.gradients.average()
    shared = _exchange(session, local_loss, stop=stop_requested())
    mark = times.lap("communication", mark)
    norm = session.gradients.clip(config.optimizer.clip_norm)
    _require_finite(session, shared.loss, norm, local_loss)
    rate = learning_rate_at(progress.step + 1, config=config.optimizer, num_steps=config.training.num_steps)
    session.optimizer.step(learning_rate=rate)
    session.adapter.synchronize()
    times.lap("compute", mark)
    progress.advance(config.training)
    _record(session, shared.loss, rate=rate, norm=norm, times=times, seconds=time.perf_counter() - started)
    return shared


def _accumulate_gradients(session: Session, windows: Tensor) -> float:
    """Forward and backward over the micro-batches of this rank; returns its mean loss."""
    session.gradients.zero()
    micro_batches = windows.split(session.config.training.micro_batch_sequences)
    total = torch.zeros((), device=session.device)
    for micro_batch in micro_batches:
        loss = _loss(session, micro_batch) / len(micro_batches)
        loss.backward()
        total += loss.detach()
    return float(total)


def _loss(session: Session, windows: Tensor) -> Tensor:
    reduced = session.precision != "float32"
    with torch.autocast(session.device.type, dtype=torch.bfloat16, enabled=reduced):
        return next_token_loss(session.model(windows[:, :-1]), windows[:, 1:])


def _exchange(session: Session, local_loss: float, *, stop: bool) -> Shared:
    """Tell all ranks this rank's loss and flags, so that all take the same decisions."""
    mine = [local_loss, float(stop), float(session.checkpointer.saving)]
    loss, stops, saves = sum_over_ranks(
        torch.tensor(mine, dtype=torch.float64, device=session.device)
    ).tolist()
    return Shared(loss=loss / world_size(), stop=stops > 0, saving=saves > 0)


def _require_finite(session: Session, loss: float, norm: float, local_loss: float) -> None:
    """Raise Diverged, naming the step and the rows it read, unless loss and gradient norm are finite."""
    if math.isfinite(loss) and math.isfinite(norm):
        return
    step = session.progress.step + 1
    suspect = not math.isfinite(local_loss) or math.isfinite(loss)
    mine = session.loader.describe(session.progress.sequences_seen) if suspect else []
    rows = [row for rows in gather_objects(mine) for row in rows]
    more = f" and {len(rows) - MAX_ROWS_NAMED} more" if len(rows) > MAX_ROWS_NAMED else ""
    message = (
        f"diverged at step {step}: loss {loss}, gradient norm {norm}; the step read "
        f"{', '.join(rows[:MAX_ROWS_NAMED])}{more}. Look at these rows, or lower optimizer.learning_rate"
    )
    session.recorder.event("diverged", detail=message, step=step)
    raise Diverged(message)


def _record(
    session: Session, loss: float, *, rate: float, norm: float, times: StepTimes, seconds: float
) -> None:
    training, progress = session.config.training, session.progress
    if progress.step % training.log_interval_steps and progress.step != training.num_steps:
        return
    memory = session.adapter.memory_bytes()
    fields: dict[str, Any] = {
        "step": progress.step,
        "loss": loss,
        "learning_rate": rate,
        "grad_norm": norm,
        "tokens_per_second": training.global_batch_sequences * training.sequence_tokens / seconds,
        "step_seconds": seconds,
        "data_seconds": times.data,
        "compute_seconds": times.compute,
        "communication_seconds": times.communication,
        "checkpoint_seconds": session.checkpointer.take_blocked_seconds(),
        "memory_bytes": memory,
        "memory_utilization": memory / session.adapter.memory_limit_bytes(),
        "network_bytes_per_second": session.gradients.exchanged_bytes / max(times.communication, 1e-9),
        "tokens_seen": progress.tokens_seen,
    }
    session.recorder.step(fields)
    if progress.step == 1 or progress.step % max(LINE_INTERVAL_STEPS, training.log_interval_steps) == 0:
        session.recorder.progress(fields, num_steps=training.num_steps)

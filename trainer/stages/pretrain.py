"""Pretraining: next-token prediction on unlabelled text, from a data set and a run file to a summary."""

import uuid
from pathlib import Path
from typing import Any

import torch

from trainer import files, loop, metrics, resume, summary
from trainer.adapters import Adapter, Precision
from trainer.checkpoint.saver import Saver
from trainer.config import RunConfig
from trainer.data.loader import Layout, TrainLoader, validation_windows
from trainer.data.manifest import Manifest
from trainer.data.verify import locate
from trainer.metrics import Recorder
from trainer.model import Transformer
from trainer.optimizer import AdamW
from trainer.parallelize import broadcast_object, rank, world_size
from trainer.progress import Progress
from trainer.stop import StopSignal


def run(
    config: RunConfig, *, adapter: Adapter, device: torch.device, recorder: Recorder, stop: StopSignal
) -> None:
    """Train until the last step and write the summary; every rank calls this, after the handshake."""
    directory, manifest = locate(
        Path(config.data.dataset), Path(config.data.cache), version=config.data.version
    )
    session = build_session(config, directory, manifest, adapter=adapter, device=device, recorder=recorder)
    _announce(session, directory)
    with stop.deferred():
        loss = loop.train(session, stop_requested=lambda: stop.requested)
    finish(session, directory, manifest, validation_loss=loss)


def build_session(
    config: RunConfig,
    directory: Path,
    manifest: Manifest,
    *,
    adapter: Adapter,
    device: torch.device,
    recorder: Recorder,
) -> loop.Session:
    """Put together model, data and checkpoints, at the newest whole checkpoint if there is one."""
    torch.manual_seed(config.run.seed)
    model = Transformer(config.model, vocab_size=manifest.vocab_size).to(device)
    adam = AdamW(model, config.optimizer)
    identity = resume.identity_of(config, vocab_size=manifest.vocab_size, data_version=manifest.version)
    checkpoint = resume.find_checkpoint(Path(config.checkpoint.directory), recorder)
    progress = Progress()
    if checkpoint:
        progress = resume.resume(checkpoint, model, adam, adapter=adapter, identity=identity)
        recorder.event("resumed", detail=checkpoint.path.name, step=progress.step)
    return loop.Session(
        config=config,
        adapter=adapter,
        device=device,
        precision=choose_precision(config, adapter),
        model=model,
        optimizer=adam,
        loader=_train_loader(config, directory, manifest),
        validation=validation_windows(
            directory,
            manifest,
            num_sequences=config.training.eval_sequences,
            sequence_tokens=config.training.sequence_tokens,
        ),
        recorder=recorder,
        checkpointer=resume.Checkpointer(config, _saver(config), recorder, identity=identity),
        progress=progress,
    )


def choose_precision(config: RunConfig, adapter: Adapter) -> Precision:
    """The precision of matrix products; weights, optimizer and gradients stay in float32."""
    asked = config.training.precision
    return adapter.best_precision() if asked == "auto" else asked


def finish(
    session: loop.Session, directory: Path, manifest: Manifest, *, validation_loss: float | None
) -> dict[str, Any] | None:
    """Write the summary on rank 0; `validation_loss` is None when the run had been complete before."""
    loss = loop.validate(session) if validation_loss is None else validation_loss
    if rank() != 0:
        return None
    session.recorder.say("fitting the bigram baseline on the training tokens")
    result = summary.write(
        session.config,
        session.progress,
        manifest=manifest,
        validation_loss=loss,
        bigram_loss=summary.bigram_baseline(directory, manifest, session.validation),
        model_parameters=session.model.num_parameters(),
    )
    line = f"validation loss {result['validation_loss']:.4f}, bigram baseline {result['bigram_loss']:.4f}"
    session.recorder.event("finished", detail=line, step=session.progress.step)
    session.recorder.say(f"finished: {line} (nats per token)")
    return result


def _train_loader(config: RunConfig, directory: Path, manifest: Manifest) -> TrainLoader:
    return TrainLoader(
        directory,
        manifest,
        layout=Layout(rank(), world_size(), config.training.global_batch_sequences),
        sequence_tokens=config.training.sequence_tokens,
        seed=config.run.seed,
        timeout=config.data.read_timeout_seconds,
    )


def _saver(config: RunConfig) -> Saver:
    return Saver(
        Path(config.checkpoint.directory),
        attempt=broadcast_object(uuid.uuid4().hex[:8]),
        rank=rank(),
        world_size=world_size(),
        keep_last=config.checkpoint.keep_last,
    )


def _announce(session: loop.Session, directory: Path) -> None:
    """Record what is about to run, once."""
    config, recorder = session.config, session.recorder
    snapshot = metrics.environment(
        world_size=world_size(), adapter=session.adapter.name, precision=session.precision
    )
    if rank() == 0:
        files.write_json(Path(config.output.directory) / metrics.ENVIRONMENT_FILE, snapshot)
    detail = (
        f"{config.run.id}: {session.model.num_parameters():,} parameters, {world_size()} ranks, "
        f"{session.adapter.name} in {session.precision}, data from {directory}, "
        f"{session.loader.num_windows:,} windows of {config.training.sequence_tokens} tokens"
    )
    recorder.event("start", detail=detail, step=session.progress.step)
    recorder.say(detail)
    if session.progress.step:
        recorder.say(f"resumed at step {session.progress.step}")

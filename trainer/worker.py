"""One rank of a run: `python -m trainer.worker RUN_FILE`, started by the agent."""

import ctypes
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path

import torch.distributed as dist

from trainer import adapters, config, handshake, report
from trainer.config import RunConfig
from trainer.errors import EXIT_FAILED, EXIT_OK, TrainerError
from trainer.metrics import Recorder
from trainer.report import ExitReport
from trainer.stop import StopSignal

STAGES = {"pretrain": "trainer.stages.pretrain"}
PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run one rank to its end; leaves a report, returns the exit code."""
    stop = StopSignal()
    try:
        _die_with_parent()
        stop.install()
        run(config.load(arguments[0]), stop=stop)
        outcome = ExitReport(_source(), EXIT_OK)
    except TrainerError as error:
        outcome = ExitReport(_source(), error.exit_code, str(error))
    except Exception as error:
        traceback.print_exc()
        outcome = ExitReport(_source(), EXIT_FAILED, f"{type(error).__name__}: {error}")
    report.write(Path(os.environ[report.DIRECTORY_VARIABLE]), outcome)
    return outcome.exit_code


def run(run_config: RunConfig, *, stop: StopSignal) -> None:
    """Meet the other ranks, then run the stage."""
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    adapter = adapters.load(run_config.distributed.backend)
    device = adapter.device(local_rank)
    recorder = Recorder(
        Path(run_config.output.directory),
        run_config.metrics,
        run_id=run_config.run.id,
        rank=rank,
        local_rank=local_rank,
    )
    timeout = run_config.distributed.handshake_timeout_seconds
    seconds = handshake.meet(adapter.backend, device=device, timeout_seconds=timeout)
    detail = f"{dist.get_world_size()} ranks met in {seconds:.1f} s"
    recorder.event("handshake", detail=detail)
    recorder.say(detail)
    stage = importlib.import_module(STAGES[run_config.run.stage])
    stage.run(run_config, adapter=adapter, device=device, recorder=recorder, stop=stop)
    dist.destroy_process_group()


def _source() -> str:
    return f"rank-{int(os.environ['RANK']):05d}"


def _die_with_parent() -> None:
    """Have the kernel end this process when the agent is gone, so that no rank is left behind (prctl(2))."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

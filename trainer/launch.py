"""The entrypoint of a pod: starts torchrun, passes signals on, and alone decides the pod's exit code."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from trainer import config, machine, report
from trainer.checkpoint import store
from trainer.config import RunConfig
from trainer.errors import EXIT_OK
from trainer.report import ExitReport
from trainer.stop import StopSignal
from trainer.topology import Topology, is_loopback, wait_for_address

SHUTDOWN_SECONDS = 25
KILL_AFTER_SECONDS = SHUTDOWN_SECONDS + 3


def run(config_path: Path) -> int:
    """Run this pod's part of a run; returns the pod's exit code.

    0: finished. 78: a retry cannot help. 143: stopped by SIGTERM. 1: anything else. Raises TrainerError for
    what is wrong before any process starts.
    """
    StopSignal().install()
    run_config = config.load(config_path)
    topology = Topology.from_environment(os.environ)
    topology.require_world_size(run_config)
    if is_complete(run_config):
        _say(f"all {run_config.training.num_steps} steps were done before; nothing to do")
        return EXIT_OK
    timeout = run_config.distributed.handshake_timeout_seconds
    address = wait_for_address(topology.master_address, timeout_seconds=timeout, report=_say)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as directory:
        agent = Agent(_command(config_path, topology, timeout), _environment(topology, address, directory))
        code = agent.wait()
        reports = report.read_all(Path(directory))
    explain(reports)
    return report.decide_exit_code(code, reports, terminated=agent.terminated)


def is_complete(run_config: RunConfig) -> bool:
    """Whether the run's summary and its last step's whole checkpoint exist."""
    try:
        summary = json.loads((Path(run_config.output.directory) / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(summary, dict) or summary.get("steps") != run_config.training.num_steps:
        return False
    newest, _ = store.newest_whole(Path(run_config.checkpoint.directory))
    return newest is not None and newest.manifest.step == run_config.training.num_steps


def explain(reports: list[ExitReport]) -> None:
    """Print each distinct reason once, with those who gave it."""
    sources: dict[str, list[str]] = {}
    for item in reports:
        if item.message:
            sources.setdefault(item.message, []).append(item.source)
    for message, names in sources.items():
        sys.stderr.write(f"error ({', '.join(names)}): {message}\n")
    sys.stderr.flush()


class Agent:
    """The torchrun process of this pod. SIGTERM and SIGINT reach it; if it hangs after that, it is killed."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.terminated = False
        self._process: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, self._on_signal)
        self._process = subprocess.Popen(command, env=environment)
        if self.terminated:
            self._process.terminate()

    def wait(self) -> int:
        """Wait for the end; returns torchrun's exit code (negative: killed by that signal)."""
        assert self._process
        return self._process.wait()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGALRM:
            if self._process:
                self._process.kill()
            return
        self.terminated = True
        signal.alarm(KILL_AFTER_SECONDS)
        if self._process:
            self._process.terminate()


def _command(config_path: Path, topology: Topology, timeout_seconds: float) -> list[str]:
    return [
        *(sys.executable, "-m", "trainer.agent"),
        f"--nnodes={topology.num_nodes}",
        f"--node-rank={topology.node_rank}",
        f"--nproc-per-node={topology.num_processes}",
        f"--master-addr={topology.master_address}",
        f"--master-port={topology.master_port}",
        "--max-restarts=0",
        f"--rdzv-conf=timeout={max(1, round(timeout_seconds))}",
        f"--shutdown-timeout={SHUTDOWN_SECONDS}",
        *("--module", "trainer.worker", str(config_path)),
    ]


def _environment(topology: Topology, address: str, report_directory: str) -> dict[str, str]:
    threads = max(1, machine.available_cpus() // topology.num_processes)
    added = {
        report.DIRECTORY_VARIABLE: report_directory,
        "TORCH_ELASTIC_WORKER_IDENTICAL": "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads)),
    }
    if is_loopback(address):
        added["GLOO_SOCKET_IFNAME"] = "lo"
    return {**os.environ, **added}


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

"""The main job for real, as a newcomer types it: `make up`, an `up` that cannot start, `make down`.

One cluster serves all tests of this module, in order. Its state is a directory of its own;
image store and caches are the machine's, so that a machine that has them is quick.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.paths import REPOSITORY, store_dir

pytestmark = [pytest.mark.full, pytest.mark.cluster]


class Job:
    """Runs the project's own commands against a state directory of the test's own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.env = os.environ | {"TRAINYARD_STATE": str(state), "TRAINYARD_STORE": str(store_dir())}
        self.up: subprocess.CompletedProcess[str] | None = None

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=self.env, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    def shell(self, line: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("bash", "-c", f'eval "$(.venv/bin/trainyard env)" && {line}', check=check)

    def objects(self, kind: str) -> list[dict[str, Any]]:
        return list(json.loads(self.shell(f"kubectl get {kind} -A -o json").stdout)["items"])


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    started = Job(tmp_path_factory.mktemp("main-job") / "state")
    try:
        started.up = started.run("make", "up", check=False)
        yield started
    finally:
        started.run("make", "down", "STOP=1", check=False)
        started.run(".venv/bin/trainyard", "cluster", "down", check=False)


def test_up_ends_with_a_model_that_beats_a_bigram_model(job: Job) -> None:
    assert job.up is not None
    assert job.up.returncode == 0, job.up.stdout[-4000:] + job.up.stderr[-4000:]
    lines = dict(
        line.split(None, 1) for line in job.up.stdout.splitlines()[-8:] if len(line.split(None, 1)) == 2
    )
    found = re.match(r"validation ([0-9.]+), below a bigram model's ([0-9.]+)", lines["loss"])
    assert found
    assert float(found[1]) < float(found[2])
    assert Path(lines["checkpoint"], "COMMITTED").exists()
    assert "<svg" in Path(lines["report"]).read_text(encoding="utf-8")
    record = json.loads(Path(lines["record"]).read_text(encoding="utf-8"))
    for field in (
        "configuration",
        "image_digest",
        "git_commit",
        "seed",
        "packages",
        "layout",
        "started_at",
        "ended_at",
    ):
        assert record[field] is not None, field
    assert record["data"]["version"]


def test_the_run_was_admitted_by_the_queue_and_completed_by_two_workers(job: Job) -> None:
    (jobset,), (workload,) = job.objects("jobset"), job.objects("workloads")
    true = {c["type"] for c in workload["status"]["conditions"] if c["status"] == "True"}
    assert {"Admitted", "Finished"} <= true
    assert "Completed" in {c["type"] for c in jobset["status"]["conditions"]}
    pods = [pod for pod in job.objects("pods") if pod["metadata"]["namespace"] == "team-research"]
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded", "Succeeded"]


def test_a_preview_after_up_shows_no_change(job: Job) -> None:
    assert "0 changes" in job.run("make", "preview", "STACK=local").stdout
    plain = job.shell("pulumi preview -s local --non-interactive").stdout
    assert re.search(r"^ +[0-9]+ unchanged$", plain, re.MULTILINE)
    assert not re.search(r"to (create|update|replace|delete)", plain)


def test_a_second_up_starts_nothing_again(job: Job) -> None:
    before = {pod["metadata"]["uid"] for pod in job.objects("pods")}
    job.run("make", "up")
    assert {pod["metadata"]["uid"] for pod in job.objects("pods")} == before


def test_the_node_passes_its_checks(job: Job) -> None:
    outcomes = json.loads(job.run(".venv/bin/trainyard", "verify", "nodes", "-s", "local", "--json").stdout)
    assert len(outcomes) >= 10
    assert [outcome["title"] for outcome in outcomes if not outcome["passed"]] == []


def test_logs_are_found_by_run(job: Job) -> None:
    run_id = job.objects("jobset")[0]["metadata"]["name"]
    for worker in ("0", "1"):
        assert "loss" in job.run(".venv/bin/trainyard", "logs", run_id, "--worker", worker).stdout


def test_an_up_whose_pods_cannot_start_fails_soon_with_the_pods_own_event(job: Job, tmp_path: Path) -> None:
    content = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.local.yaml").read_text(encoding="utf-8"))
    runs = content["config"]["trainyard:stack"]["runs"]
    runs.append(runs[0] | {"name": "broken", "image": "localhost/trainyard/trainer:ffffffffffff"})
    file = tmp_path / "Pulumi.local.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    started = time.monotonic()
    done = job.shell(
        f"pulumi up -s local --yes --skip-preview --non-interactive --config-file {file}", check=False
    )
    seconds = time.monotonic() - started
    job.shell("pulumi up -s local --yes --skip-preview --non-interactive")
    assert done.returncode != 0
    assert seconds < 120
    said = done.stdout + done.stderr
    assert re.search(
        r"the run cannot start: pod broken-\S+, container verify-data: \w+: Failed: .*ffffffffffff", said
    )


def test_down_keeps_the_vault_and_leaves_nothing_else(job: Job) -> None:
    said = job.run("make", "down")
    assert re.search(r"0 processes, 0 mounts, 0 namespaces", said.stdout + said.stderr)
    record = next((job.state / "vault" / "records").glob("first-words-*/record.json"))
    assert json.loads(record.read_text(encoding="utf-8"))["status"] == "finished"
    assert list((job.state / "vault" / "checkpoints").glob("*/step-*/COMMITTED"))
    assert "loss" in job.run(".venv/bin/trainyard", "logs", record.parent.name).stdout

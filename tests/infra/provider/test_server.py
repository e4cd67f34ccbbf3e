"""The plugin contacts no cluster in a preview, and reports a run that cannot start without a traceback."""

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from infra.errors import TrainyardError
from infra.provider import server
from infra.runs.start import Verdict

QUIET_SECONDS = 60

URN = "urn:pulumi:local::trainyard::trainyard:runs:TrainingRun$trainyard:index:RunStart::run-1"


@pytest.fixture
def plugin() -> Iterator[Any]:
    serving = grpc.server(ThreadPoolExecutor(max_workers=2))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(server.WaitingProvider(), serving)
    port = serving.add_insecure_port("127.0.0.1:0")
    serving.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield provider_pb2_grpc.ResourceProviderStub(channel)
    serving.stop(None)


def wanted(**changes: Any) -> struct_pb2.Struct:
    properties = struct_pb2.Struct()
    properties.update(
        {"kubeconfig": "/nowhere", "namespace": "team-a", "name": "run-1", "timeoutSeconds": 5} | changes
    )
    return properties


def test_a_preview_contacts_no_cluster(plugin: Any) -> None:
    answer = plugin.Create(provider_pb2.CreateRequest(properties=wanted(), preview=True))
    assert answer.id == ""
    assert "state" not in answer.properties


def test_a_started_run_becomes_a_resource_with_its_state(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "Cluster", lambda path: path)
    monkeypatch.setattr(server, "wait_until_started", lambda look, **_: Verdict("queued", "insufficient cpu"))
    answer = plugin.Create(provider_pb2.CreateRequest(urn=URN, properties=wanted()))
    assert answer.id == "team-a/run-1"
    assert (answer.properties["state"], answer.properties["reason"]) == ("queued", "insufficient cpu")


def test_a_run_that_cannot_start_fails_with_the_reason_alone(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(look: Any, **_: Any) -> Verdict:
        raise TrainyardError(
            "the run cannot start: pod x: image y is not present", next_step="trainyard status"
        )

    monkeypatch.setattr(server, "Cluster", lambda path: path)
    monkeypatch.setattr(server, "wait_until_started", fail)
    with pytest.raises(grpc.RpcError) as raised:
        plugin.Create(provider_pb2.CreateRequest(urn=URN, properties=wanted()))
    assert raised.value.details().startswith("the run cannot start: pod x: image y is not present")
    assert "Traceback" not in raised.value.details()


def test_an_unreadable_kubeconfig_is_one_clear_error(plugin: Any, tmp_path: Path) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        plugin.Create(
            provider_pb2.CreateRequest(urn=URN, properties=wanted(kubeconfig=str(tmp_path / "absent")))
        )
    assert "absent" in raised.value.details()
    assert "next: trainyard cluster up" in raised.value.details()


@pytest.mark.parametrize(
    ("field", "replaces"), [("name", ["name"]), ("namespace", ["namespace"]), ("kubeconfig", [])]
)
def test_only_another_run_replaces_the_resource(plugin: Any, field: str, replaces: list[str]) -> None:
    answer = plugin.Diff(provider_pb2.DiffRequest(olds=wanted(), news=wanted(**{field: "other"})))
    assert list(answer.replaces) == replaces
    expected = provider_pb2.DiffResponse.DIFF_SOME if replaces else provider_pb2.DiffResponse.DIFF_NONE
    assert answer.changes == expected


def test_a_cancelled_wait_ends_at_once(plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()

    def wait(look: Any, *, pause: Any, **_: Any) -> Verdict:
        waiting.set()
        pause(QUIET_SECONDS)
        return Verdict("running")

    monkeypatch.setattr(server, "Cluster", lambda path: path)
    monkeypatch.setattr(server, "wait_until_started", wait)
    pending = plugin.Create.future(provider_pb2.CreateRequest(urn=URN, properties=wanted()))
    assert waiting.wait(QUIET_SECONDS)
    plugin.Cancel(empty_pb2.Empty())
    with pytest.raises(grpc.RpcError, match="cancelled while it waited"):
        pending.result()


def test_the_plugin_ends_with_the_engine() -> None:
    program_file = str(Path(sys.executable).with_name("pulumi-resource-trainyard"))
    start = f"subprocess.Popen([{program_file!r}])"
    program = f"import subprocess, sys; print({start}.pid, flush=True); sys.stdin.read()"
    engine = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout
    plugin_id, _port = int(engine.stdout.readline()), int(engine.stdout.readline())
    handle = os.pidfd_open(plugin_id)
    engine.kill()
    engine.wait()
    ready, _, _ = select.select([handle], [], [], QUIET_SECONDS)
    os.close(handle)
    assert ready

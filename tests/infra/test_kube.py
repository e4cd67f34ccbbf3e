"""The API reader: absent is None or empty, a refusal names the path, silence names the next step."""

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from infra.errors import TrainyardError
from infra.kube import PATIENCE_SECONDS, ApiError, Cluster, condition, patiently

ANSWERS: dict[str, tuple[int, Any]] = {
    "/api/v1/namespaces/a": (200, {"kind": "Namespace"}),
    "/api/v1/pods?labelSelector=x%3D1": (200, {"items": [{"kind": "Pod"}]}),
    "/api/v1/secrets": (403, {"message": "forbidden"}),
    "/api/v1/namespaces/a/pods/p/log?container=c": (200, "one\ntwo"),
}


class Api(BaseHTTPRequestHandler):
    patched: dict[str, Any]

    def do_GET(self) -> None:
        status, content = ANSWERS.get(self.path, (404, {}))
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PATCH(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        Api.patched = {"type": self.headers["Content-Type"], "path": self.path, "body": json.loads(text)}
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def kubeconfig(directory: Path, port: int) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {}}],
    }
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    server = HTTPServer(("127.0.0.1", 0), Api)
    serving = Thread(target=server.serve_forever)
    serving.start()
    yield Cluster(kubeconfig(tmp_path, server.server_port))
    server.shutdown()
    server.server_close()
    serving.join()


def test_what_is_there_is_read_and_what_is_absent_is_none_or_empty(cluster: Cluster) -> None:
    assert cluster.get("/api/v1/namespaces/a") == {"kind": "Namespace"}
    assert cluster.get("/api/v1/namespaces/b") is None
    assert cluster.list("/api/v1/pods", labels="x=1") == [{"kind": "Pod"}]
    assert cluster.list("/apis/absent.example/v1/things") == []


def test_a_refusal_names_path_and_status(cluster: Cluster) -> None:
    with pytest.raises(TrainyardError, match="/api/v1/secrets: the API server answered 403"):
        cluster.list("/api/v1/secrets")


def test_a_change_is_merged(cluster: Cluster) -> None:
    cluster.patch("/apis/x", {"spec": {"active": False}})
    wanted = {"type": "application/merge-patch+json", "path": "/apis/x", "body": {"spec": {"active": False}}}
    assert Api.patched == wanted


def test_log_lines_are_whole_though_the_last_has_no_end(cluster: Cluster) -> None:
    assert list(cluster.log_lines("a", "p", container="c")) == ["one", "two"]


def test_a_silent_cluster_is_one_clear_error(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), Api)
    port = server.server_port
    server.server_close()
    with pytest.raises(TrainyardError, match="does not answer") as raised:
        Cluster(kubeconfig(tmp_path, port)).get("/api/v1/namespaces/a")
    assert raised.value.next_step == "trainyard cluster status"


@pytest.mark.parametrize(("status", "found"), [("True", True), ("False", False), ("Unknown", False)])
def test_only_a_true_condition_counts(status: str, found: bool) -> None:
    item = {"status": {"conditions": [{"type": "Completed", "status": status}]}}
    assert (condition(item, "Completed") is not None) is found


def test_an_answer_that_breaks_off_is_an_error_of_ours(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = Thread(target=_answer_half, args=[server])
        answering.start()
        with pytest.raises(ApiError, match="does not answer"):
            Cluster(kubeconfig(tmp_path, server.getsockname()[1])).get("/api/v1/namespaces/a")
        answering.join()


def _answer_half(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")


class Answers:
    """Raises or returns one after another; time passes with each pause."""

    def __init__(self, *answers: int) -> None:
        self.answers, self.now = list(answers), 0.0

    def look(self) -> str:
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status != 200:
            raise ApiError(f"answered {status}", status=status)
        return "seen"

    def pause(self, seconds: float) -> None:
        self.now += seconds


def test_a_server_that_is_silent_or_overloaded_for_a_moment_is_asked_again() -> None:
    answers = Answers(0, 503, 429, 200)
    assert patiently(answers.look, clock=lambda: answers.now, pause=answers.pause) == "seen"


@pytest.mark.parametrize(("status", "seconds"), [(0, PATIENCE_SECONDS), (403, 0.0)])
def test_patience_ends_and_a_refusal_is_final(status: int, seconds: float) -> None:
    answers = Answers(status)
    with pytest.raises(ApiError):
        patiently(answers.look, clock=lambda: answers.now, pause=answers.pause)
    assert answers.now == seconds

"""The proxy of a policy pack: the stack by environment, everything else through."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from toolchain.language_host.analyzer_proxy import AnalyzerProxy

STACK = analyzer_pb2.AnalyzerStackConfigureRequest(
    project="app", stack="dev", dry_run=True, config={"app:key": "value"}
)


class Pack(analyzer_pb2_grpc.AnalyzerServicer):
    """A pack that knows its version and fails to analyze."""

    def __init__(self) -> None:
        self.stacks: list[str] = []

    def ConfigureStack(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.stacks.append(request.stack)
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version="1.2.3")

    def Analyze(self, request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not this one")


@pytest.fixture
def pack() -> Iterator[tuple[Pack, int]]:
    """A served pack and its port."""
    servicer = Pack()
    server = grpc.server(ThreadPoolExecutor(2))
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, port
    server.stop(None).wait()


@pytest.fixture
def proxy() -> Iterator[tuple[AnalyzerProxy, Any]]:
    """A proxy and the engine's client of it."""
    with AnalyzerProxy() as served, grpc.insecure_channel(f"127.0.0.1:{served.port}") as channel:
        yield served, analyzer_pb2_grpc.AnalyzerStub(channel)


def test_the_stack_becomes_the_packs_environment(proxy: tuple[AnalyzerProxy, Any]) -> None:
    served, client = proxy
    client.Handshake(analyzer_pb2.AnalyzerHandshakeRequest())
    client.ConfigureStack(STACK)
    variables = served.await_configuration()
    assert variables is not None
    assert json.loads(variables.pop("PULUMI_CONFIG")) == {"app:key": "value"}
    assert variables == {"PULUMI_PROJECT": "app", "PULUMI_STACK": "dev", "PULUMI_DRY_RUN": "true"}


def test_calls_and_errors_pass_through(proxy: tuple[AnalyzerProxy, Any], pack: tuple[Pack, int]) -> None:
    served, client = proxy
    servicer, port = pack
    client.ConfigureStack(STACK)
    served.attach(port)
    assert servicer.stacks == ["dev"]
    assert client.GetPluginInfo(empty_pb2.Empty()).version == "1.2.3"
    with pytest.raises(grpc.RpcError, match="not this one") as failure:
        client.Analyze(analyzer_pb2.AnalyzeRequest())
    assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_call_before_any_stack_starts_the_pack_without_one(
    proxy: tuple[AnalyzerProxy, Any], pack: tuple[Pack, int]
) -> None:
    served, client = proxy
    answer = client.GetPluginInfo.future(empty_pb2.Empty())
    assert served.await_configuration() == {}
    served.attach(pack[1])
    assert answer.result().version == "1.2.3"


def test_a_pack_that_ends_early_fails_the_calls_with_its_output(proxy: tuple[AnalyzerProxy, Any]) -> None:
    served, client = proxy
    answer = client.GetPluginInfo.future(empty_pb2.Empty())
    served.await_configuration()
    served.fail("ImportError: no such module")
    assert "ImportError: no such module" in answer.exception().details()


def test_a_closed_proxy_releases_who_waits(proxy: tuple[AnalyzerProxy, Any]) -> None:
    served, _ = proxy
    served.close()
    assert served.await_configuration() is None

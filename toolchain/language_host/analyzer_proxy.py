"""Stands between the engine and a policy pack, to start the pack with the stack's configuration.

The engine tells a pack its stack by RPC, but packs read it from their environment when they start. The proxy
answers the first calls, hands out that environment, and then forwards every call to the pack.
"""

import contextlib
import functools
import json
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import grpc
from pulumi.runtime.proto import analyzer_pb2

from toolchain.language_host import CHANNEL_OPTIONS

SERVICE = analyzer_pb2.DESCRIPTOR.services_by_name["Analyzer"]
NUM_THREADS = 16


class AnalyzerProxy:
    """A server for one policy pack; messages pass through as bytes, with their status and metadata."""

    def __init__(self) -> None:
        self._stack: Future[bytes | None] = Future()
        self._channel: Future[grpc.Channel] = Future()
        self._server = grpc.server(ThreadPoolExecutor(NUM_THREADS), options=CHANNEL_OPTIONS)
        handlers = {method.name: self._handler(method.name) for method in SERVICE.methods}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE.full_name, handlers),)
        )
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def await_configuration(self) -> dict[str, str] | None:
        """The pack's further environment, once the engine has told it or asked for more; None if closed."""
        try:
            request = self._stack.result()
        except CancelledError:
            return None
        return {} if request is None else stack_environment(request)

    @property
    def attached(self) -> bool:
        """Whether calls reach a pack."""
        return self._channel.done()

    def attach(self, port: int) -> None:
        """Forward calls to the pack at the port it printed."""
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS)
        stack = self._stack.result()
        if stack is not None:
            _configure(channel, stack)
        self._channel.set_result(channel)

    def fail(self, output: str) -> None:
        """The pack has ended: unless it was attached, calls get its output as their error."""
        with contextlib.suppress(InvalidStateError):
            self._channel.set_exception(ConnectionError(f"the policy pack did not start:\n{output}"))

    def close(self) -> None:
        """Stop serving and release whoever waits; harmless when repeated."""
        self._stack.cancel()
        if not self._channel.cancel() and self._channel.exception() is None:
            self._channel.result().close()
        self._server.stop(grace=None)

    def _handler(self, method: str) -> Any:
        own = {"Handshake": self._handshake, "ConfigureStack": self._configure_stack}
        return grpc.unary_unary_rpc_method_handler(own.get(method, functools.partial(self._forward, method)))

    def _handshake(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        return b""

    def _configure_stack(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        with contextlib.suppress(InvalidStateError):
            self._stack.set_result(request)
        return b""

    def _forward(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        with contextlib.suppress(InvalidStateError):
            self._stack.set_result(None)
        try:
            answer: bytes = _call(self._channel.result(), method)(request)
        except (ConnectionError, CancelledError) as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        except grpc.RpcError as error:
            context.set_trailing_metadata(error.trailing_metadata() or ())
            context.abort(error.code(), error.details() or "")
        return answer


def stack_environment(request: bytes) -> dict[str, str]:
    """The variables that describe a stack to a pack, from an `AnalyzerStackConfigureRequest`."""
    stack = analyzer_pb2.AnalyzerStackConfigureRequest.FromString(request)
    environment = {
        "PULUMI_ORGANIZATION": stack.organization,
        "PULUMI_PROJECT": stack.project,
        "PULUMI_STACK": stack.stack,
        "PULUMI_DRY_RUN": str(stack.dry_run).lower(),
        "PULUMI_CONFIG": json.dumps(dict(stack.config)),
    }
    return {name: value for name, value in environment.items() if value}


def _call(channel: grpc.Channel, method: str) -> Any:
    return channel.unary_unary(f"/{SERVICE.full_name}/{method}")


def _configure(channel: grpc.Channel, stack: bytes) -> None:
    try:
        _call(channel, "ConfigureStack")(stack)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNIMPLEMENTED:
            raise

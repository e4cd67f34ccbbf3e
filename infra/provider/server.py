"""The plugin's gRPC server.

`trainyard:index:RunStart` has the inputs kubeconfig, namespace, name and timeoutSeconds. Creating it waits
until the run of that name runs or is queued, and fails with the pod's own event when the pods cannot start.
`trainyard:index:AdmissionReady` has the inputs kubeconfig, path, item and timeoutSeconds. Creating it waits
until the webhooks that judge such an item answer. `trainyard:index:ConditionsReady` has the inputs
kubeconfig, paths, condition and timeoutSeconds. Creating it waits until this condition of all is true.

Previews contact no cluster. The resources own nothing in the cluster, so deleting them does nothing.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.provider.admission import wait_until_admitted
from infra.provider.conditions import wait_until_true
from infra.runs.start import observe, wait_until_started

VERSION = "0.1.0"
PARENT_POLL_SECONDS = 1.0
Pause: TypeAlias = Callable[[float], None]
IDENTITY = ("namespace", "name", "path", "paths")


class WaitingProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves the resources that wait; every message is answered from its own content."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        olds, news = json_format.MessageToDict(request.olds), json_format.MessageToDict(request.news)
        replaced = [key for key in IDENTITY if olds.get(key) != news.get(key)]
        changes = provider_pb2.DiffResponse.DIFF_SOME if replaced else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, replaces=replaced, diffs=replaced)

    def Create(self, request: Any, context: Any) -> Any:
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        wait = WAITS[request.urn.split("::")[2].rpartition("$")[2]]
        try:
            wanted = json_format.MessageToDict(request.properties)
            name, outputs = wait(Cluster(Path(wanted["kubeconfig"])), wanted, self._pause)
        except TrainyardError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        response = provider_pb2.CreateResponse(id=name, properties=request.properties)
        response.properties.update(outputs)
        return response

    def Read(self, request: Any, context: Any) -> Any:
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Delete(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        self._cancelled.set()
        return empty_pb2.Empty()

    def _pause(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            raise TrainyardError("cancelled while it waited for the cluster", next_step="pulumi up")


def _start(cluster: Cluster, wanted: dict[str, Any], pause: Pause) -> tuple[str, dict[str, str]]:
    namespace, name = wanted["namespace"], wanted["name"]
    verdict = wait_until_started(
        lambda: observe(cluster, namespace, name),
        timeout_seconds=float(wanted["timeoutSeconds"]),
        pause=pause,
    )
    return f"{namespace}/{name}", {"state": verdict.state, "reason": verdict.reason}


def _admission(cluster: Cluster, wanted: dict[str, Any], pause: Pause) -> tuple[str, dict[str, str]]:
    timeout_seconds = float(wanted["timeoutSeconds"])
    wait_until_admitted(cluster, wanted["path"], wanted["item"], timeout_seconds=timeout_seconds, pause=pause)
    return str(wanted["path"]), {}


def _conditions(cluster: Cluster, wanted: dict[str, Any], pause: Pause) -> tuple[str, dict[str, str]]:
    timeout_seconds = float(wanted["timeoutSeconds"])
    wait_until_true(
        cluster, wanted["paths"], wanted["condition"], timeout_seconds=timeout_seconds, pause=pause
    )
    return ",".join(wanted["paths"]), {}


WAITS: dict[str, Callable[[Cluster, dict[str, Any], Pause], tuple[str, dict[str, str]]]] = {
    "trainyard:index:RunStart": _start,
    "trainyard:index:AdmissionReady": _admission,
    "trainyard:index:ConditionsReady": _conditions,
}


def main() -> None:
    """Serve on a free loopback port and print it, as the engine expects; ends with the engine."""
    engine = os.getppid()
    server = grpc.server(ThreadPoolExecutor(max_workers=16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(WaitingProvider(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    while server.wait_for_termination(timeout=PARENT_POLL_SECONDS) and os.getppid() == engine:
        pass
    # A thread that still waits for the cluster must not hold up the end.
    os._exit(0)

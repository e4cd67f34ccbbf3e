"""The plugin's gRPC server.

`trainyard:index:RunStart` has the inputs kubeconfig, namespace, name and timeoutSeconds. Creating it waits
until the run of that name runs or is queued, and fails with the pod's own event when the pods cannot start.
Previews contact no cluster. It owns nothing in the cluster, so deleting it does nothing.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.runs.start import observe, wait_until_started

VERSION = "0.1.0"
RUN_START = "trainyard:index:RunStart"


class RunStartProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves the one resource; every message is answered from its own content."""

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
        replaced = [key for key in ("namespace", "name") if request.olds[key] != request.news[key]]
        changes = provider_pb2.DiffResponse.DIFF_SOME if replaced else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, replaces=replaced, diffs=replaced)

    def Create(self, request: Any, context: Any) -> Any:
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        wanted = json_format.MessageToDict(request.properties)
        namespace, name = wanted["namespace"], wanted["name"]
        try:
            cluster = Cluster(Path(wanted["kubeconfig"]))
            verdict = wait_until_started(
                lambda: observe(cluster, namespace, name), timeout_seconds=float(wanted["timeoutSeconds"])
            )
        except TrainyardError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        response = provider_pb2.CreateResponse(id=f"{namespace}/{name}", properties=request.properties)
        response.properties.update({"state": verdict.state, "reason": verdict.reason})
        return response

    def Read(self, request: Any, context: Any) -> Any:
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Delete(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()


def main() -> None:
    """Serve on a free loopback port and print it, as the engine expects."""
    server = grpc.server(ThreadPoolExecutor(max_workers=16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(RunStartProvider(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()

"""The service that the engine calls: one method an RPC of `pulumirpc.LanguageRuntime`."""

import subprocess
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from toolchain.language_host import HOST_VERSION
from toolchain.language_host.errors import HostError
from toolchain.language_host.install import install_dependencies
from toolchain.language_host.interpreter import interpreter
from toolchain.language_host.packages import program_dependencies, required_packages
from toolchain.language_host.plugins import run_plugin
from toolchain.language_host.processes import Processes
from toolchain.language_host.programs import run_program


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Runs Python programs and plugins for one engine; a wrong setup is answered with FAILED_PRECONDITION."""

    def __init__(self, *, engine_address: str, processes: Processes) -> None:
        self._engine_address = engine_address
        self._processes = processes

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Learn the engine's address when the host was started by hand and attached to."""
        self._engine_address = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The host's version."""
        return plugin_pb2.PluginInfo(version=HOST_VERSION)

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The interpreter that would run the program."""
        try:
            python = interpreter(request.info)
            version = _python_version(python.executable)
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        metadata = {"toolchain": python.toolchain or "pip", "typechecker": python.typechecker or "none"}
        return language_pb2.AboutResponse(executable=python.executable, version=version, metadata=metadata)

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The resource plugins that the installed packages stand for."""
        try:
            packages = list(required_packages(interpreter(request.info)))
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return language_pb2.GetRequiredPackagesResponse(packages=packages)

    def GetRequiredPlugins(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The same as plugins, for engines from before `GetRequiredPackages`."""
        packages = self.GetRequiredPackages(request, context).packages
        plugins = [
            plugin_pb2.PluginDependency(name=p.name, kind=p.kind, version=p.version, server=p.server)
            for p in packages
        ]
        return language_pb2.GetRequiredPluginsResponse(plugins=plugins)

    def GetProgramDependencies(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The installed packages."""
        try:
            python = interpreter(request.info)
            found = list(program_dependencies(python, transitive=request.transitiveDependencies))
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return language_pb2.GetProgramDependenciesResponse(dependencies=found)

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Create the virtual environment and install the program's requirements, streaming the output."""
        try:
            yield from install_dependencies(request, processes=self._processes)
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def RuntimeOptionsPrompts(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Nothing to ask: a project without options runs on the Python on PATH."""
        return language_pb2.RuntimeOptionsResponse()

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Run a program to its end."""
        if not self._engine_address:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no engine address: call Handshake before Run")
        try:
            return run_program(
                request, context, engine_address=self._engine_address, processes=self._processes
            )
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Run a policy pack or another plugin, streaming its output and last its exit code."""
        try:
            yield from run_plugin(request, context, processes=self._processes)
        except HostError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Interrupt what runs."""
        self._processes.interrupt()
        return empty_pb2.Empty()

    def _not_offered(self, request: Any, context: grpc.ServicerContext) -> None:
        message = "not offered by Trainyard's language host; install the official pulumi-language-python"
        context.abort(grpc.StatusCode.UNIMPLEMENTED, message)

    Template = Pack = Link = _not_offered
    GenerateProgram = GenerateProject = GeneratePackage = _not_offered


def _python_version(executable: str) -> str:
    result = subprocess.run([executable, "--version"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise HostError(f"{executable} --version failed: {result.stderr.strip()}")
    return result.stdout.strip().removeprefix("Python ")

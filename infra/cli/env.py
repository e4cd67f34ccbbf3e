"""`trainyard env`: the shell variables that make plain `pulumi` and `kubectl` work with the local stack."""

import contextlib
import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from infra import paths
from infra.errors import TrainyardError
from toolchain import layout, plugins, tools

LOCAL_STACK = "local"
LOCAL_PASSPHRASE = "trainyard-local"
PROJECT = "trainyard"
ALWAYS = ("PATH", "TRAINYARD_LANGUAGE_HOST")
OURS = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("env")(env)


def env() -> None:
    """Print shell exports: eval "$(trainyard env)", then plain `pulumi up -s local` works.

    PATH gets the built tools; Pulumi gets a backend in the state directory and its passphrase file; kubectl
    gets the embedded cluster. What you have set yourself stays: with a PULUMI_BACKEND_URL of yours also your
    passphrase, and KUBECONFIG and the others, win over the values here.
    """
    added = additions(os.environ)
    ensure_local_stack({**os.environ, **added})
    for name, value in added.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def environment() -> dict[str, str]:
    """The environment for running pulumi or kubectl in a subprocess; backend and local stack exist then."""
    result = {**os.environ, **additions(os.environ)}
    ensure_local_stack(result)
    return result


def own_environment() -> dict[str, str]:
    """The environment for the local stack in our own backend, whatever backend the user works with."""
    theirs = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")
    present = {name: value for name, value in os.environ.items() if name not in theirs}
    return present | additions(present)


def additions(present: Mapping[str, str]) -> dict[str, str]:
    """The variables that Trainyard adds to an environment; makes the files that they name.

    Raises `TrainyardError` when the state directory cannot be written.
    """
    added = defaults(present)
    overrides = (*ALWAYS, *OURS) if "PULUMI_BACKEND_URL" not in present else ALWAYS
    kept = {name: value for name, value in added.items() if name in overrides or name not in present}
    _prepare({**present, **kept})
    return kept


def defaults(present: Mapping[str, str]) -> dict[str, str]:
    """What the variables would be for someone who has set none of them."""
    official = tools.official_language_host()
    result = {
        "PATH": search_path(present.get("PATH", os.defpath)),
        "PULUMI_BACKEND_URL": backend_directory().as_uri(),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # Creating waits for the cluster, not for this machine's cores: a chart's definitions must not queue
        # behind its slower parts, or its controller starts without them and backs off.
        "PULUMI_PARALLEL": "32",
        "TRAINYARD_LANGUAGE_HOST": str(official or tools.LANGUAGE_HOST_DIRECTORY / tools.LANGUAGE_HOST),
    }
    if official is None:
        result["TRAINYARD_PYTHON"] = sys.executable
    if "PULUMI_CONFIG_PASSPHRASE" not in present:
        result["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(passphrase_file())
    elif "PULUMI_BACKEND_URL" not in present:
        # A passphrase set for other stacks would win over the file; our backend holds the local stack alone.
        result["PULUMI_CONFIG_PASSPHRASE"] = LOCAL_PASSPHRASE
    if paths.kubeconfig_path().exists() or not (Path.home() / ".kube" / "config").exists():
        result["KUBECONFIG"] = str(paths.kubeconfig_path())
    return result


def search_path(present: str) -> str:
    """PATH with the built tools and this interpreter's commands first, however often it is applied."""
    own = [str(entry) for entry in tools.path_entries()]
    if sys.prefix != sys.base_prefix:
        own.append(str(Path(sys.prefix) / "bin"))
    rest = [entry for entry in present.split(os.pathsep) if entry not in own and not _is_built(entry)]
    return os.pathsep.join(own + rest)


def backend_directory() -> Path:
    """Where the local Pulumi backend keeps its stacks."""
    return paths.state_dir() / "pulumi"


def passphrase_file() -> Path:
    """Where the passphrase of the local stack is, for Pulumi to read."""
    return paths.state_dir() / "passphrase"


def ensure_local_stack(variables: Mapping[str, str]) -> None:
    """Create the stack `local` in our own backend the first time, quietly; its stack file stays as it is."""
    record = backend_directory() / ".pulumi" / "stacks" / PROJECT / f"{LOCAL_STACK}.json"
    ours = variables["PULUMI_BACKEND_URL"] == backend_directory().as_uri()
    if not ours or record.exists() or tools.inspect("pulumi").path is None:
        return
    command = [str(tools.find("pulumi")), "stack", "init", LOCAL_STACK, "--no-select", "--non-interactive"]
    result = subprocess.run(
        command, cwd=paths.REPOSITORY, env=dict(variables), capture_output=True, text=True, check=False
    )
    if result.returncode and not record.exists():
        raise TrainyardError(
            f"the stack {LOCAL_STACK} could not be created: {result.stderr.strip()}",
            next_step=f"run `{' '.join(['pulumi', *command[1:]])}` in {paths.REPOSITORY}",
        )


def _prepare(variables: Mapping[str, str]) -> None:
    plugins.register()
    try:
        if variables["PULUMI_BACKEND_URL"] == backend_directory().as_uri():
            backend_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_access(backend_directory(), os.W_OK)
        if variables.get("PULUMI_CONFIG_PASSPHRASE_FILE") == str(passphrase_file()):
            _write_passphrase(passphrase_file())
            _check_access(passphrase_file(), os.R_OK)
    except OSError as error:
        raise TrainyardError(
            f"the state directory {paths.state_dir()} cannot be used: {error.strerror}",
            next_step="run as root, or set TRAINYARD_STATE to a directory of yours",
        ) from error


def _check_access(path: Path, mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _write_passphrase(path: Path) -> None:
    """The local stack holds no secret, so its passphrase is no secret; the file keeps Pulumi from asking."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{LOCAL_PASSPHRASE}\n")


def _is_built(entry: str) -> bool:
    return Path(entry).is_relative_to(layout.root())

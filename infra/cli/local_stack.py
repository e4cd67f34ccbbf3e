"""The local stack's state is void once its cluster is gone: everything that it describes was in there."""

import json
import subprocess

from infra import paths
from infra.bootstrap.progress import Progress
from infra.cli.env import LOCAL_STACK, PROJECT, backend_directory, own_environment
from infra.errors import TrainyardError
from toolchain import tools


def forget_local_stack(*, progress: Progress) -> None:
    """Remove the stack's state where it still names resources; its stack file stays as it is."""
    if not _names_resources():
        return
    progress.say(f"the cluster that the stack {LOCAL_STACK} describes is gone: forgetting the stack's state")
    command = [str(tools.find("pulumi")), "stack", "rm", LOCAL_STACK, "--force", "--yes", "--preserve-config"]
    done = subprocess.run(
        command, cwd=paths.REPOSITORY, env=own_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise TrainyardError(
            f"the state of stack {LOCAL_STACK} could not be removed: {done.stderr.strip()}",
            next_step=f"pulumi stack rm {LOCAL_STACK} --force --preserve-config",
        )


def _names_resources() -> bool:
    record = backend_directory() / ".pulumi" / "stacks" / PROJECT / f"{LOCAL_STACK}.json"
    if not record.exists():
        return False
    latest = json.loads(record.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}
    return bool(latest.get("resources"))

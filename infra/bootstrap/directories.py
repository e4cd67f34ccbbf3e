"""Directories that pods mount: the vault, and the site's volumes."""

from infra.bootstrap.host import Host
from infra.bootstrap.plan import POD_USER, Plan

READ_ONLY = ("vault", "vault/data", "site")
WRITABLE = ("vault/checkpoints", "vault/records", "site/output", "site/cache")


def ensure(host: Host, plan: Plan) -> None:
    """Make them; pods own what they write to, and cannot write to the data sets."""
    for name in READ_ONLY:
        host.make_directory(plan.directories.state / name)
    for name in WRITABLE:
        host.make_directory(plan.directories.state / name, mode=0o750, owner=POD_USER)

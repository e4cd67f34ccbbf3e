"""Which cluster a local site means; plain paths, for the commands as well as for the program."""

from pathlib import Path

from infra import paths
from infra.settings.places import LocalSite


def kubeconfig(site: LocalSite) -> Path:
    """The kubeconfig that the stack file names, else that of the embedded cluster."""
    return Path(site.kubeconfig).expanduser() if site.kubeconfig else paths.kubeconfig_path()

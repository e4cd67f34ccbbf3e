"""The local site: nothing is bought, so it only says where things are."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

from infra import paths
from infra.errors import TrainyardError
from infra.settings.places import LocalSite
from infra.sites.local import place
from infra.sites.site import ClusterAccess, Site, Volume

REQUESTS_PER_SECOND = 500


def local_site(settings: LocalSite, *, opts: pulumi.ResourceOptions | None = None) -> Site:
    """This machine's cluster as a site."""
    kubeconfig = place.kubeconfig(settings)
    provider = _provider(settings, kubeconfig, opts=opts)
    access = ClusterAccess(kubeconfig, provider, embedded=settings.kubeconfig is None)
    return Site(settings.name, access, _volumes(paths.vault_dir(), paths.state_dir()))


def _provider(settings: LocalSite, kubeconfig: Path, *, opts: pulumi.ResourceOptions | None) -> k8s.Provider:
    name = settings.name
    if not kubeconfig.exists():
        if settings.kubeconfig:
            raise TrainyardError(
                f"site {name}: no kubeconfig at {kubeconfig}", next_step="correct sites[0].kubeconfig"
            )
        if not pulumi.runtime.is_dry_run():
            raise TrainyardError("this machine's cluster is not up", next_step="trainyard cluster up")
        # A preview before the cluster exists: charts are rendered, nothing is contacted. Without the empty
        # kubeconfig the provider would take the one that KUBECONFIG names, and refuse both together.
        rendered = str(paths.state_dir() / "rendered")
        return k8s.Provider(name, kubeconfig="", render_yaml_to_directory=rendered, opts=opts)
    # The path, not the text: an edit of the file must not replace everything that the provider made.
    return k8s.Provider(
        name,
        kubeconfig=str(kubeconfig),
        cluster_identifier=f"trainyard-{name}",
        delete_unreachable=True,
        # It asks which APIs there are after each new definition: at 50 requests a second, half a minute.
        kube_client_settings=k8s.KubeClientSettingsArgs(
            qps=REQUESTS_PER_SECOND, burst=2 * REQUESTS_PER_SECOND
        ),
        opts=opts,
    )


def _volumes(vault: Path, state: Path) -> tuple[Volume, ...]:
    site = state / "site"
    return (
        Volume("data", vault / "data", read_only=True, results=True),
        Volume("checkpoints", vault / "checkpoints", read_only=False, results=True),
        Volume("output", site / "output", read_only=False, results=False),
        Volume("cache", site / "cache", read_only=False, results=False),
    )

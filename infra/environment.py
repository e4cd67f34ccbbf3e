"""Wires the layers of an environment: site, addons, runs."""

from dataclasses import dataclass

import pulumi

from infra import naming
from infra.addons.queueing import Queueing, QueueingArgs, TeamQueue
from infra.addons.tenancy import Tenancy, TenancyArgs
from infra.images.tags import trainer_image
from infra.runs.component import TrainingRun, TrainingRunArgs
from infra.runs.resolve import resolve
from infra.settings.places import Team
from infra.settings.stack import StackSettings
from infra.sites.local.site import local_site
from infra.sites.site import Site


@dataclass(frozen=True)
class Environment:
    """What `up` made: the states of the declared runs by their ids."""

    runs: dict[str, pulumi.Output[str]]


def deploy(settings: StackSettings, *, stack: str) -> Environment:
    """Declare everything that the stack holds; contacts nothing."""
    site = local_site(settings.sites[0])
    in_cluster = pulumi.ResourceOptions(providers=[site.access.provider])
    queueing = Queueing(
        "queueing",
        QueueingArgs(settings.teams, site.access.kubeconfig, embedded=site.access.embedded),
        opts=in_cluster,
    )
    queues = {team.name: _tenant(team, stack, site, queueing) for team in settings.teams}
    image = trainer_image(base=settings.sites[0].base_image or "")
    runs = {}
    for spec in settings.runs:
        run = resolve(spec, stack=stack, settings=settings, trainer_image=image)
        after = pulumi.ResourceOptions(
            providers=[site.access.provider], depends_on=[queueing, queues[run.team]]
        )
        runs[run.id] = TrainingRun(spec.name, TrainingRunArgs(run, site.access.kubeconfig), opts=after).state
    return Environment(runs)


def _tenant(team: Team, stack: str, site: Site, queueing: Queueing) -> TeamQueue:
    providers: list[pulumi.ProviderResource] = [site.access.provider]
    tenancy = Tenancy(
        naming.namespace(team.name),
        TenancyArgs(stack, team.name, site.volumes),
        opts=pulumi.ResourceOptions(providers=providers),
    )
    after = pulumi.ResourceOptions(providers=providers, depends_on=[tenancy, queueing])
    return TeamQueue(f"queue-{team.name}", team, opts=after)

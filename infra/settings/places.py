"""Sites, pools, teams and data sets: what a stack file says besides its runs."""

from typing import Annotated, Literal

from pydantic import Field

from infra.settings.quantity import Quantity
from infra.settings.section import Section

Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]


class Pool(Section):
    """Machines of one kind; `placement: shared` lets several workers of a run share a node."""

    name: Name
    accelerator: Literal["cpu"] = "cpu"
    placement: Literal["shared", "exclusive"] = "exclusive"
    num_nodes: Annotated[int, Field(ge=1)] = 1


class LocalSite(Section):
    """The on-prem site on one machine: a cluster that Trainyard starts itself."""

    kind: Literal["local"]
    name: Name
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]


class Quota(Section):
    """What a team's queue may hold at once."""

    cpu: Quantity
    memory: Quantity


class Team(Section):
    """A group of people with a namespace and a queue of their own, both named after it."""

    name: Name
    quota: Quota


class Dataset(Section):
    """A prepared data set in the vault; without `version`, the one there is used and recorded."""

    name: Name
    version: Annotated[str, Field(pattern=r"^[0-9a-f]{12,64}$")] | None = None

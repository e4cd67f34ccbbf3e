"""Sites, pools, teams and data sets: what a stack file says besides its runs."""

from typing import Annotated, Literal

from pydantic import Field

from infra.settings.quantity import Quantity
from infra.settings.section import Section

Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]


PinnedImage = Annotated[str, Field(pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$")]


class Pool(Section):
    """Machines of one kind; `placement: shared` lets several workers of a run share a node."""

    name: Name
    accelerator: Literal["cpu"] = "cpu"
    placement: Literal["shared", "exclusive"] = "exclusive"
    num_nodes: Annotated[int, Field(ge=1)] = 1


class LocalSite(Section):
    """The on-prem site on one machine: a cluster that Trainyard starts itself, or one that is there.

    `kubeconfig` names the file of a cluster that exists; it is used and never taken down, and its queue
    controllers come from their official charts and images, so nothing is built for it. `base_image`, an
    official Python image by digest, is what the trainer's image stands on; without one, a Debian root is
    made, which needs no container registry.
    """

    kind: Literal["local"]
    name: Name
    kubeconfig: Annotated[str, Field(pattern=r"^[/~]")] | None = None
    base_image: PinnedImage | None = None
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

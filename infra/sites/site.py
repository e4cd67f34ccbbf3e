"""What every site gives to the layers above it, whatever it is made of."""

from dataclasses import dataclass
from pathlib import Path

import pulumi


@dataclass(frozen=True)
class ClusterAccess:
    """How the layers above reach the site's cluster; `embedded` is one that Trainyard made itself."""

    kubeconfig: Path
    provider: pulumi.ProviderResource
    embedded: bool = False


@dataclass(frozen=True)
class Volume:
    """A directory of the site that becomes a volume of each team.

    `kind` names the claim (data, checkpoints, output, cache); `results` is what outlives the environment.
    """

    kind: str
    path: Path
    read_only: bool
    results: bool


@dataclass(frozen=True)
class Site:
    """A place that runs things: its cluster and its storage."""

    name: str
    access: ClusterAccess
    volumes: tuple[Volume, ...]

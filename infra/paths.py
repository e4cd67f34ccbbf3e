"""Where Trainyard keeps what does not belong in a checkout: tools and caches, state, the vault."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def cache_dir() -> Path:
    """Rebuildable files (compiled tools, downloads, wheels); `TRAINYARD_CACHE` overrides it."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trainyard"
    return Path(os.environ.get("TRAINYARD_CACHE") or default)


def state_dir() -> Path:
    """What must survive a checkout: vault, cluster, Pulumi state; `TRAINYARD_STATE` overrides it."""
    return Path(os.environ.get("TRAINYARD_STATE") or "/var/lib/trainyard")


def store_dir() -> Path:
    """Container images: rebuildable, and shared by states where `TRAINYARD_STORE` says so."""
    return Path(os.environ.get("TRAINYARD_STORE") or state_dir())


def vault_dir() -> Path:
    """The local vault: data sets, checkpoints and records that outlive every environment."""
    return state_dir() / "vault"


def kubeconfig_path() -> Path:
    """The administrator's kubeconfig of the embedded cluster."""
    return state_dir() / "cluster" / "admin.kubeconfig"

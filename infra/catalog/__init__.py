"""Facts about accelerators: the one source for resource names, backends and mounts."""

from infra.catalog.accelerators import Accelerator, accelerator

__all__ = ["Accelerator", "accelerator"]

"""What this container may use; plain files, no torch."""

import os
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")


def available_cpus(root: Path = CGROUP_ROOT) -> int:
    """Whole CPUs this process may use: its affinity, cut to the container's quota (cgroup v2 or v1)."""
    affinity = len(os.sched_getaffinity(0))
    quota = _cpu_quota(root)
    return affinity if quota is None else max(1, min(affinity, int(quota)))


def memory_limit_bytes(root: Path = CGROUP_ROOT) -> int:
    """The container's memory limit, or the machine's memory where there is none."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _read(root / name)
        if text.isdigit():
            return min(total, int(text))
    return total


def _cpu_quota(root: Path) -> float | None:
    fields = _read(root / "cpu.max").split()
    if not fields:
        fields = [_read(root / "cpu/cpu.cfs_quota_us"), _read(root / "cpu/cpu.cfs_period_us")]
    if not all(field.isdigit() and int(field) > 0 for field in fields):
        return None
    return int(fields[0]) / int(fields[1])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""

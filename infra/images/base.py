"""The base image: a Debian root that is made here, or an official Python image by digest."""

import tarfile
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError
from infra.images.archive import Image
from infra.images.tags import DEBIAN_PACKAGES, DEBIAN_RELEASE, base_image
from infra.images.workspace import Workspace, buildah
from infra.paths import cache_dir

CHECK_MIRROR = "see whether apt-get update reaches this machine's Debian mirror, then run the command again"
LEFT_OUT = (
    "./proc/*",
    "./sys/*",
    "./dev/*",
    "./run/*",
    "./tmp/*",
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
)


def ensure(host: Host, space: Workspace, *, base: str, progress: Progress) -> Image:
    """The base image, built if it is not there; it lies in the layout and in buildah's store."""
    reference = base_image(base=base)
    found = space.layout.image(reference)
    if found is not None and _in_store(host, space, reference):
        return found
    context = space.work / "base"
    host.remove(context)
    host.make_directory(context)
    if base:
        tarfile.open(context / "rootfs.tar", "w").close()
    else:
        progress.say(f"base image: Debian {DEBIAN_RELEASE} with {', '.join(DEBIAN_PACKAGES)}")
        make_root(host, context)
    _build(host, space, reference=reference, base=base, context=context)
    host.remove(context)
    image = space.layout.image(reference)
    if image is None:
        raise TrainyardError(
            f"{reference} was built but is not in {space.layout.root}",
            next_step=f"remove {space.root} and run the command again",
        )
    return image


def make_root(host: Host, context: Path) -> None:
    """Write rootfs.tar: a minimal Debian from the machine's own mirror."""
    root = context / "rootfs"
    debs = cache_dir() / "debs"
    host.make_directory(debs)
    packages = f"--include={','.join(DEBIAN_PACKAGES)}"
    options = ["--variant=minbase", f"--cache-dir={debs}", packages]
    host.run(["debootstrap", *options, DEBIAN_RELEASE, root, *mirror(host)], next_step=CHECK_MIRROR)
    exclusions = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    host.run(["tar", "--create", "--file", context / "rootfs.tar", *exclusions, "--directory", root, "."])
    host.remove(root)


def mirror(host: Host) -> list[str]:
    """The Debian mirror of this machine's apt; nothing where apt names none: debootstrap knows one."""
    listing = host.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)", "Created-By: Packages"],
        check=False,
    )
    return parse_mirrors(listing.output)[:1]


def parse_mirrors(listing: str) -> list[str]:
    """The sites that offer the release's main component, from lines of site, release and component."""
    rows = [line.split() for line in listing.splitlines()]
    return [row[0] for row in rows if row[1:] == [DEBIAN_RELEASE, "main"]]


def _build(host: Host, space: Workspace, *, reference: str, base: str, context: Path) -> None:
    recipe = space.checkout / "images" / "base" / "Containerfile"
    options = ["--isolation", "chroot", "--quiet", "--build-arg", f"BASE={base or 'scratch'}"]
    buildah(host, space, "bud", *options, "--tag", reference, "--file", recipe, context)
    buildah(host, space, "push", "--quiet", reference, f"oci:{space.layout.root}:{reference}")


def _in_store(host: Host, space: Workspace, reference: str) -> bool:
    names = buildah(host, space, "images", "--format", "{{.Name}}:{{.Tag}}").output.split()
    return reference in names

"""Which images the control plane is made of."""

from pathlib import Path

import pytest

from infra import versions
from infra.bootstrap import libraries, system_images
from infra.bootstrap.plan import Plan


def test_each_component_has_its_image_and_version(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_images.tools, "find", lambda name: Path("/tools") / name)
    monkeypatch.setattr(libraries, "needed_by", lambda binary: {})
    found = {one.reference: one for one in system_images.programs(plan)}
    expected = {f"localhost/k8s/{name}:{versions.KUBERNETES}" for name in system_images.KUBERNETES}
    expected |= {f"localhost/k8s/etcd:{versions.ETCD}", f"localhost/k8s/coredns:{versions.COREDNS}"}
    expected |= {f"localhost/k8s/pause:{versions.PAUSE}"}
    assert set(found) == expected
    proxy = found[f"localhost/k8s/kube-proxy:{versions.KUBERNETES}"]
    assert {"/usr/local/bin/kube-proxy", "/usr/sbin/nft"} <= set(proxy.files)
    assert found[f"localhost/k8s/pause:{versions.PAUSE}"].entrypoint == ("/usr/local/bin/pause", "infinity")

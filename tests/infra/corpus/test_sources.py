import pytest

from infra.corpus.sources import SOURCES, Source

MANUAL = Source(package="manual", root="usr/share/manual", exclude=("translations/*", "genindex*"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("usr/share/manual/admin/users.html", "admin/users.html"),
        ("usr/share/manual/logo.png", None),
        ("usr/share/manual/translations/it/users.html", None),
        ("usr/share/manual/genindex-A.html", None),
        ("usr/share/manual2/users.html", None),
    ],
)
def test_patterns_choose_the_pages(path: str, name: str | None) -> None:
    assert MANUAL.document_name(path) == name


def test_each_package_is_declared_once() -> None:
    assert len({source.package for source in SOURCES}) == len(SOURCES)

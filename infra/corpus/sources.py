"""Which documentation packages the corpus is made of, and which of their files."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

DATASET: Final = "debian-docs"
VOCAB_SIZE: Final = 512
MINIMUM_CLEAN_BYTES: Final = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Source:
    """A Debian package and its useful pages: below `root`, matching `include`, not matching `exclude`.

    Patterns are shell patterns over the path below `root`; `*` crosses directories.
    """

    package: str
    root: str
    include: tuple[str, ...] = ("*.html",)
    exclude: tuple[str, ...] = ()

    def document_name(self, path: str) -> str | None:
        """Return the path below `root` of the package's file `path`, or None when it is not wanted."""
        if not path.startswith(f"{self.root}/"):
            return None
        name = path.removeprefix(f"{self.root}/")
        if not _matches(name, self.include) or _matches(name, self.exclude):
            return None
        return name


SOURCES: Final = (
    Source(
        package="linux-doc-6.1",
        root="usr/share/doc/linux-doc-6.1/html",
        exclude=("translations/*", "genindex*", "search.html", "process/maintainers.html"),
    ),
    Source(
        package="python3.11-doc",
        root="usr/share/doc/python3.11/html",
        exclude=("genindex*", "*modindex.html", "search.html", "download.html", "contents.html"),
    ),
    Source(
        package="postgresql-doc-15",
        root="usr/share/doc/postgresql-doc-15/html",
        exclude=("bookindex.html", "biblio.html"),
    ),
    Source(package="git-doc", root="usr/share/doc/git-doc"),
    Source(package="debian-handbook", root="usr/share/doc/debian-handbook/html/en-US"),
    Source(package="debian-reference-en", root="usr/share/debian-reference"),
    Source(package="debian-policy", root="usr/share/doc/debian-policy"),
    Source(package="developers-reference", root="usr/share/developers-reference"),
    Source(package="installation-guide-amd64", root="usr/share/doc/installation-guide-amd64/en"),
)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

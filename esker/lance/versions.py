"""Which manifests does a table have, and of which versions?  (Lance table format, "Directory layout", "Manifest names")

Pure: decides on names, reads nothing. A version is named by its number, or by what is left of it to 2^64 - 1, so that the newest
comes first; a detached version is part of no history.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from esker.errors import NotFound
from esker.storage.port import FileInfo

VERSIONS_FOLDER = "_versions"
TRANSACTIONS_FOLDER = "_transactions"
DELETIONS_FOLDER = "_deletions"
INDICES_FOLDER = "_indices"
DATA_FOLDER = "data"
BRANCHES_FOLDER = "tree"
GREATEST = 2**64 - 1


class Naming(Enum):
    """How the manifests of a history are named."""

    V1 = "V1"
    V2 = "V2"
    DETACHED = "detached"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest as a listing shows it."""

    version: int
    naming: Naming
    file: FileInfo


@dataclass(frozen=True)
class VersionListing:
    """The manifests of one history. `odd` are names that no rule explains."""

    manifests: Mapping[int, ManifestFile]
    detached: Mapping[int, ManifestFile]
    twice: tuple[ManifestFile, ...] = ()
    """Manifests of versions that the other scheme names too."""
    odd: tuple[str, ...] = ()

    @property
    def namings(self) -> frozenset[Naming]:
        return frozenset(manifest.naming for manifest in (*self.manifests.values(), *self.twice))

    def find(self, version: int | None, where: str) -> ManifestFile:
        """The manifest of a version, by default of the newest."""
        if version is None:
            if not self.manifests:
                raise NotFound("there is no Lance table here: it has no version", where=where)
            return self.manifests[max(self.manifests)]
        found = self.manifests.get(version) or self.detached.get(version)
        if found is None:
            raise NotFound(f"the table has no version {version}", where=where, hint=_kept(self.manifests))
        return found


def manifest_name(version: int, naming: Naming) -> str:
    """The name of a version's manifest."""
    match naming:
        case Naming.V1:
            return f"{version}.manifest"
        case Naming.V2:
            return f"{GREATEST - version:020}.manifest"
        case Naming.DETACHED:
            return f"d{version}.manifest"


def manifest_file(file: FileInfo) -> ManifestFile | None:
    """What a file in the folder of versions is the manifest of; None where it is none."""
    name = file.path.rpartition("/")[2]
    if form := _NAME.fullmatch(name):
        detached, digits = form.groups()
        number = int(digits)
        if number > GREATEST:
            return None
        if detached:
            return ManifestFile(number, Naming.DETACHED, file)
        if len(digits) == _V2_DIGITS:
            return ManifestFile(GREATEST - number, Naming.V2, file)
        return ManifestFile(number, Naming.V1, file)
    return None


def sort_out(files: Iterable[FileInfo]) -> VersionListing:
    """The manifests among the files of the folder of versions."""
    manifests: dict[int, ManifestFile] = {}
    detached: dict[int, ManifestFile] = {}
    twice: list[ManifestFile] = []
    odd: list[str] = []
    for file in files:
        found = manifest_file(file)
        if found is None:
            name = file.path.rpartition("/")[2]
            if not _EXPECTED.fullmatch(name):
                odd.append(name)
        elif found.naming is Naming.DETACHED:
            detached[found.version] = found
        elif found.version in manifests:
            twice.append(found)
        else:
            manifests[found.version] = found
    return VersionListing(manifests, detached, tuple(twice), tuple(odd))


_V2_DIGITS = 20
_NAME = re.compile(r"(d?)(\d{1,20})\.manifest")
# What a writer leaves when it is cut short, or stages for a store of manifests; and a hint that nothing rests on.
_EXPECTED = re.compile(r"\.tmp_.*|.*\.manifest-[0-9a-fA-F-]+|latest_version_hint\.json")


def _kept(manifests: Mapping[int, ManifestFile]) -> str:
    return f"It has versions from {min(manifests)} to {max(manifests)}." if manifests else "It has none."

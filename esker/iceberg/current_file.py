"""Which metadata file is a table's newest?  (spec, "File System Tables", "Metastore Tables")

A table in a catalog has its newest file named there, and is opened by that file. In a folder alone the file system's own scheme
tells: `version-hint.text`, which is a hint, or the highest version that there is.
"""

import re
from collections.abc import Iterable, Iterator

from esker.errors import InvalidRequest, NotFound
from esker.iceberg.place import METADATA
from esker.storage.port import Storage

HINT = f"{METADATA}/version-hint.text"
_NAME = re.compile(r"(?:v(\d+)|(\d+)-[^/]+?)(?:\.gz)?\.metadata\.json(?:\.gz)?")


def is_metadata_file(path: str) -> bool:
    """Whether a path is that of a metadata file and not of a folder."""
    return path.endswith((".metadata.json", ".metadata.json.gz"))


def current_file(storage: Storage) -> str:
    """The path of the newest metadata file in a table's folder; `NotFound` where there is none."""
    hinted = _hinted(storage)
    return hinted if hinted is not None else newest((file.path for file in storage.list(METADATA)), storage.url)


def newest(paths: Iterable[str], where: str) -> str:
    """The file with the highest version. Two with the same were written by rivals, and only a catalog knows who won."""
    by_version: dict[int, list[str]] = {}
    for path in paths:
        if match := _NAME.fullmatch(path.removeprefix(f"{METADATA}/")):
            by_version.setdefault(int(match[1] or match[2]), []).append(path)
    if not by_version:
        raise NotFound("there is no metadata file of an Iceberg table here", where=where)
    candidates = by_version[max(by_version)]
    if len(candidates) > 1:
        raise InvalidRequest(
            "only the table's catalog knows which of these metadata files is its newest",
            where=where,
            problems=candidates,
            hint="Open the table through its catalog, or pass the metadata file in the place of the folder.",
        )
    return candidates[0]


def _hinted(storage: Storage) -> str | None:
    """The file that the hint leads to; None where it leads nowhere, as a hint may be old, torn or not there."""
    try:
        hint = storage.read(HINT, 0, 200).decode("ascii").strip()
    except (NotFound, UnicodeDecodeError):
        return None
    if re.fullmatch(r"[0-9]{1,18}", hint):
        return _last_from(storage, int(hint))
    if re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z_-]*", hint):  # some writers put the name there
        return _existing(storage, (f"{METADATA}/{hint}.metadata.json",))
    return None


def _last_from(storage: Storage, version: int) -> str | None:
    """The file of this version, or of the last of those that follow it: the hint is written after them."""
    found = None
    while (following := _existing(storage, _spellings(version))) is not None:
        found = following
        version += 1
    return found


def _spellings(version: int) -> Iterator[str]:
    for ending in (".metadata.json", ".gz.metadata.json", ".metadata.json.gz"):
        yield f"{METADATA}/v{version}{ending}"


def _existing(storage: Storage, paths: Iterable[str]) -> str | None:
    for path in paths:
        try:
            return storage.head(path).path
        except NotFound:
            continue
    return None

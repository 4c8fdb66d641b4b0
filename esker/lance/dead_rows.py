"""What becomes of fragments of which rows are deleted?  (Lance table format, "Deletion files")"""

from collections.abc import Mapping
from dataclasses import dataclass
from secrets import randbits

from esker.core.bitmap import Bitmap
from esker.core.change import RowPositions
from esker.errors import InvalidTable
from esker.lance.deletions import deletion_bytes
from esker.lance.manifest import DeletionFile, Fragment
from esker.lance.snapshot import Snapshot
from esker.lance.versions import DELETIONS_FOLDER


@dataclass(frozen=True)
class Deaths:
    """The deletion files that fragments get, and the fragments of which no row is left."""

    deletions: Mapping[int, DeletionFile]
    removed: tuple[int, ...]


def bury(snapshot: Snapshot, rows: RowPositions) -> Deaths:
    """Write the deletion files for these rows and those that were deleted before. No version names them yet."""
    fragments = {fragment.id: fragment for fragment in snapshot.fragments}
    deletions: dict[int, DeletionFile] = {}
    removed: list[int] = []
    for number, fresh in sorted(rows.items()):
        fragment = fragments[number]
        before = snapshot.dead_rows(fragment)
        dead = fresh if before is None else before.union(fresh)
        # "A fragment with all rows deleted is removed instead."
        if len(dead) >= _physical_rows(fragment, snapshot):
            removed.append(number)
        else:
            deletions[number] = _written(snapshot, number, dead)
    return Deaths(deletions, tuple(removed))


def _physical_rows(fragment: Fragment, snapshot: Snapshot) -> int:
    if fragment.physical_rows is None:
        raise InvalidTable(f"the manifest does not say how many rows fragment {fragment.id} has", where=snapshot.location)
    return fragment.physical_rows


def _written(snapshot: Snapshot, fragment: int, dead: Bitmap) -> DeletionFile:
    kind, data = deletion_bytes(dead)
    file = DeletionFile(kind, snapshot.version, randbits(64), len(dead))
    snapshot.place.storage.put_if_absent(snapshot.place.path(f"{DELETIONS_FOLDER}/{file.name(fragment)}"), data)
    return file

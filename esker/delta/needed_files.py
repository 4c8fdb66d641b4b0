"""Which files in a table's storage are still needed?  (PROTOCOL.md, "Add File and Remove File", "Deletion Vector Files")

Given a cutoff, a file is needed when a version names it that can be rebuilt and was current at the cutoff or later, or a
tombstone names it that is no older than the cutoff. The answer may hold too much, and never too little.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from esker.core.features import Operation
from esker.delta import checkpoint as checkpoints
from esker.delta import json_log
from esker.delta.checkpoint import LastCheckpoint
from esker.delta.deletion_vectors import DeletionVector, file_uri
from esker.delta.history import first_version_since
from esker.delta.log import Commit, Compaction, LogListing
from esker.delta.snapshot import Place, Snapshot, absolute_paths, at_version, list_log
from esker.errors import InvalidRequest, InvalidTable
from esker.storage.paths import url_parts


def needed_files(newest: Snapshot, cutoff: int) -> frozenset[str]:
    """The paths in the table's storage that must stay. `cutoff` is in milliseconds since the epoch."""
    place, listing = newest.place, list_log(newest.place.storage)
    first = current_at(newest, cutoff)
    uris = [*_live(newest), *_unexpired(newest, cutoff)]
    for version in _bases(listing, first):
        if version == newest.version:
            continue
        base = at_version(place, listing, version, LastCheckpoint(None))
        base.gate(Operation.READ)
        uris += _live(base)
    later = [commit for version, commit in listing.commits.items() if version > first]
    for actions in named_in(place, later, ("add", "cdc")):
        uris += file_uris(actions)
    return frozenset(_paths(place, uris))


def current_at(newest: Snapshot, cutoff: int) -> int:
    """The version that was the newest right before the cutoff. It is -1, or gone from the log, where that is long ago."""
    try:
        return first_version_since(newest, _EPOCH + timedelta(milliseconds=cutoff)) - 1
    except (InvalidRequest, OverflowError):  # all commits are older, or none is left
        return newest.version


def named_in(place: Place, entries: Iterable[Commit | Compaction], kinds: Sequence[str]) -> Iterator[pa.Table]:
    """The file actions of these kinds: path, deletionTimestamp and deletionVector of each, a table for each entry."""
    wanted = pa.schema([(kind, pa.struct(list(_ACTION))) for kind in kinds])

    def read(entry: Commit | Compaction) -> pa.Table:
        where = f"{place.url}/{entry.file.path}"
        actions = json_log.file_actions(place.storage.read(entry.file.path), wanted, where)
        return pa.concat_tables([_columns(actions.column(kind), where) for kind in kinds])

    with ThreadPoolExecutor(8) as pool:
        yield from pool.map(read, entries)


def file_uris(actions: pa.Table) -> Iterator[str]:
    """The URIs of the files, and of the files in which their deletion vectors are kept."""
    yield from actions.column("path").to_pylist()
    vectors = actions.column("deletionVector").drop_null().combine_chunks()
    kept_in = pa.table([pc.struct_field(vectors, name) for name in _VECTOR], list(_VECTOR))
    for kind, text in zip(*kept_in.group_by(list(_VECTOR)).aggregate([]).to_pydict().values(), strict=True):
        match kind:
            case "u" | "p":
                yield file_uri(DeletionVector(kind, text, 0, 0))
            case "i" | None:
                pass
            case _:
                raise InvalidTable(f"a deletion vector has the storage type {kind!r}")


def inside(place: Place, uris: Sequence[str]) -> Iterator[str]:
    """The paths of those files that lie in the table's own storage."""
    root = f"{place.url}/"
    return (url.removeprefix(root) for url in _urls(place, uris) if url.startswith(root))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VECTOR = ("storageType", "pathOrInlineDv")
_ACTION = pa.schema(
    [
        ("path", pa.string()), ("deletionTimestamp", pa.int64()),
        ("deletionVector", pa.struct([(name, pa.string()) for name in _VECTOR])),
    ]
)  # fmt: skip


def _live(snapshot: Snapshot) -> Iterator[str]:
    return file_uris(snapshot.bare_files.table)


def _unexpired(newest: Snapshot, cutoff: int) -> Iterator[str]:
    """What the tombstones name that the newest version keeps.

    "A tombstone expires when *current time* [...] exceeds the expiration threshold added to the `remove` action timestamp."
    """
    for removes in (*_checkpointed_removes(newest), *named_in(newest.place, newest.log.entries, ("remove",))):
        is_young = pc.fill_null(pc.greater_equal(removes.column("deletionTimestamp"), cutoff), False)
        yield from file_uris(removes.filter(is_young))


def _checkpointed_removes(newest: Snapshot) -> Iterator[pa.Table]:
    checkpoint = newest.log.checkpoint
    if checkpoint is not None:
        wanted = {"remove": _ACTION.names}
        for file, table in checkpoints.file_columns(newest.place.storage, checkpoint, newest.sidecars, wanted):
            if "remove" in table.column_names:
                yield _columns(table.column("remove"), f"{newest.location}/{file.path}")


def _columns(actions: pa.ChunkedArray, where: str) -> pa.Table:
    """The fields of `_ACTION`, null where the log's own form of the action lacks them."""
    found = pa.Table.from_struct_array(actions.combine_chunks().drop_null())
    if "path" not in found.column_names or found.column("path").null_count:
        raise InvalidTable("a file action has no path", where=where)
    columns = {name: found.column(name) for name in found.column_names}
    try:
        return pa.table([_as(columns.get(f.name), f.type, found.num_rows) for f in _ACTION], schema=_ACTION)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidTable(f"a file action is malformed: {error}", where=where) from error


def _as(column: pa.ChunkedArray | None, target: pa.DataType, length: int) -> pa.Array | pa.ChunkedArray:
    if column is None:
        return pa.nulls(length, target)
    if not pa.types.is_struct(target):
        return column.cast(target)
    whole = column.combine_chunks()
    return pa.StructArray.from_arrays(
        [pc.struct_field(whole, f.name).cast(f.type) for f in target], fields=list(target)
    )


def _bases(listing: LogListing, first: int) -> Iterator[int]:
    """The versions whose files, with what the commits after `first` add, are all files of all versions since `first`."""
    rebuilt = -1
    for version in sorted({*listing.commits, *listing.checkpoints}):
        follows = version in listing.commits and rebuilt == version - 1
        if follows or version in listing.checkpoints:
            rebuilt = version
            if version >= first and not (follows and version > first):
                yield version


def _paths(place: Place, uris: Sequence[str]) -> Iterator[str]:
    """The paths that the URIs name in the table's storage, or may name there."""
    root = f"{place.url}/"
    for uri, url in zip(uris, _urls(place, uris), strict=True):
        if url.startswith(root):
            yield url.removeprefix(root)
            if "%" in uri:  # some writers forget to encode
                yield uri
        else:
            # The table's own place has other spellings: s3a for s3, a link, where it was before it moved.
            segments = url_parts(url)[2].split("/")
            yield from ("/".join(segments[at:]) for at in range(len(segments)))


def _urls(place: Place, uris: Sequence[str]) -> list[str]:
    urls: list[str] = absolute_paths(pa.array(uris, pa.string()), place).to_pylist()
    return urls

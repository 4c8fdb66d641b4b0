"""Which rows changed between two versions?  (PROTOCOL.md, "Add CDC File", "Reader Requirements for AddCDCFile")

A version with `cdc` actions is read from them alone. Any other is inferred: files added are inserts, files removed are
deletes, and where only the deletion vector of a file changed, the rows by which the vectors differ. All versions together
make two scans: the change files, which store the kind of change, and the data files, for which it is a constant. Where the
partitioning changed on the way, each makes two: what was a partition column then is not in the files, whatever it is now.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.bitmap import Bitmap
from esker.core.scan import Deletes, FromConstant, FromFile, Positions, ScanColumn, ScanPlan
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta import column_mapping, deletion_vectors, json_log, properties, type_widening
from esker.delta.actions import Metadata, parse_metadata
from esker.delta.deletion_vectors import DeletionVector, parse_descriptor
from esker.delta.history import commits
from esker.delta.log import Commit
from esker.delta.partitions import parse_values
from esker.delta.plan import METADATA_COLUMNS, check, resolve_columns
from esker.delta.snapshot import Place, Snapshot, list_log, load
from esker.errors import EskerError, InvalidRequest, InvalidTable, Unsupported

CHANGE_TYPE = Field("_change_type", t.STRING)
COMMIT_VERSION = Field("_commit_version", t.LONG)
COMMIT_TIMESTAMP = Field("_commit_timestamp", t.TIMESTAMP)
CHANGE_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that holds changes: of kind `change`, or of the kinds it stores where that is None.

    `vector` hides rows as usual. With `against`, the two differ in the rows that changed: those that `vector` has and
    `against` has not.
    """

    version: int
    path: str
    size: int
    values: Mapping[str, str | None] | None = field(hash=False)
    change: str | None = None
    vector: DeletionVector | None = None
    against: "DeletionVector | None" = None
    is_difference: bool = False
    records: int | None = None

    @property
    def is_removed(self) -> bool:
        """Whether all of the file's rows went, and the file with them."""
        return self.change == "delete" and not self.is_difference


def plans(snapshot: Snapshot, first: int, columns: Sequence[str] | None = None) -> tuple[ScanPlan, ...]:
    """How to read the changes of the versions from `first` up to the snapshot's own, in the snapshot's schema."""
    check(snapshot)
    if first > snapshot.version or first < 0:
        raise InvalidRequest(f"there are no changes from version {first} to {snapshot.version}", where=snapshot.location)
    # "Readers cannot read Row IDs and Row Commit Versions while reading change data files"  Row Tracking
    if hidden := [name for name in columns or () if name in METADATA_COLUMNS and snapshot.schema.find(name) is None]:
        raise InvalidRequest(f"rows of the change feed have no {', '.join(hidden)}", where=snapshot.location)
    history = _recorded(snapshot, first)
    listing = list_log(snapshot.place.storage)
    wanted = sorted(v for v in listing.commits if first <= v <= snapshot.version)
    if len(wanted) <= snapshot.version - first:
        missing = next(v for v in range(first, snapshot.version + 1) if v not in listing.commits)
        raise InvalidRequest(
            f"the changes of version {missing} are no longer in the log; the oldest kept is "
            f"{min(listing.commits, default=snapshot.version + 1)}",
            where=snapshot.location,
        )
    files = [f for v in wanted for f in _changed_files(snapshot, listing.commits[v])]
    times = {c.version: c.timestamp for c in commits(snapshot, wanted)}
    asked = [c for c in CHANGE_COLUMNS if columns is None or c.name in columns]
    made: list[ScanPlan] = []
    for then, those in _by_partitioning(snapshot, files, history):
        own = resolve_columns(then, None if columns is None else [c for c in columns if c not in _NAMES])
        made.append(_plan(then, [f for f in those if f.change is None], own, asked, times))
        made.append(_plan(then, [f for f in those if f.change is not None], own, asked, times))
    return tuple(made)


_NAMES = tuple(c.name for c in CHANGE_COLUMNS)


def _by_partitioning(
    snapshot: Snapshot, files: Sequence[ChangedFile], history: Sequence[tuple[int, Metadata]]
) -> Iterator[tuple[Snapshot, Sequence[ChangedFile]]]:
    """The files by what the table was partitioned by when they came in, each with the snapshot as if it still were."""
    came = [max(file.version - file.is_removed, 0) for file in files]  # what goes came in before
    columns = {version: _in_force(snapshot, version, history).partition_columns for version in set(came)}
    found: dict[tuple[str, ...], list[ChangedFile]] = {snapshot.metadata.partition_columns: []}
    for version, file in zip(came, files, strict=True):
        found.setdefault(columns[version], []).append(file)
    for names, those in found.items():
        then = snapshot.as_if(snapshot.protocol, replace(snapshot.metadata, partition_columns=names))
        for file in those:
            _require_values(file, then)
        yield then, those


def _in_force(snapshot: Snapshot, version: int, history: Sequence[tuple[int, Metadata]]) -> Metadata:
    """The metadata at a version of the range, or at the one before it, whose files the newest schema has to read as well."""
    known = next((metadata for since, metadata in reversed(history) if since <= version), None)
    if known is not None:
        return known
    later = f"Read the changes from version {version + 2} on."
    try:
        earlier = load(snapshot.place, version).metadata
    except EskerError as error:
        what = f"version {version + 1} removes rows, and the log no longer tells what schema they were written under"
        raise InvalidRequest(what, where=snapshot.location, hint=later) from error
    kept = Struct(tuple(f for f in earlier.schema if snapshot.schema.find(f.name) is not None))
    if problems := list(_incompatible(kept, snapshot.schema, snapshot.mapping)):
        raise InvalidRequest(
            f"version {version + 1} removes rows that were written under another schema",
            where=snapshot.location,
            problems=[f"version {version}: {problem}" for problem in problems],
            hint=later,
        )
    return earlier


def _plan(
    snapshot: Snapshot,
    files: Sequence[ChangedFile],
    own: Sequence[ScanColumn],
    asked: Sequence[Field],
    times: Mapping[int, int],
) -> ScanPlan:
    partitions = {f.name: f for f in snapshot.partition_fields}
    constants: dict[str, pa.Array] = {}
    kinds: list[Field] = []
    for column in own:
        if isinstance(column.source, FromConstant):
            kind = partitions[column.source.name]
            name = column_mapping.physical_name(kind, snapshot.mapping)
            texts = pa.array([(f.values or {}).get(name) for f in files], pa.string())
            constants[kind.name] = parse_values(texts, kind.type, kind.name, snapshot.location)
            kinds.append(kind)
    extra: list[ScanColumn] = []
    for wanted in asked:
        if wanted is CHANGE_TYPE and (not files or files[0].change is None):
            extra.append(ScanColumn(wanted, FromFile(wanted)))
            continue
        constants[wanted.name] = pa.array([_constant(f, wanted, times) for f in files], to_arrow(wanted.type))
        kinds.append(wanted)
        extra.append(ScanColumn(wanted, FromConstant(wanted.name)))
    return ScanPlan(
        location=snapshot.location,
        columns=(*own, *extra),
        resolution=snapshot.mapping.resolution,
        paths=pa.array([snapshot.place.absolute(f.path) for f in files], pa.string()),
        sizes=pa.array([f.size for f in files], pa.int64()),
        constants=pa.table(constants),
        constant_fields=Struct(tuple(kinds)),
        has_deletes=np.array([f.vector is not None or f.is_difference for f in files], dtype=bool),
        load_deletes=_deletes(snapshot.place, files),
        may_be_narrower=type_widening.is_recorded(snapshot.schema),
        storage_options=snapshot.place.options,
    )


def _constant(file: ChangedFile, column: Field, times: Mapping[int, int]) -> str | int | None:
    if column is CHANGE_TYPE:
        return file.change
    return file.version if column is COMMIT_VERSION else times[file.version] * 1000


def _deletes(place: Place, files: Sequence[ChangedFile]) -> Callable[[Sequence[int]], Mapping[int, Deletes]]:
    def load_deletes(ordinals: Sequence[int]) -> Mapping[int, Deletes]:
        vectors = {2 * i: v for i in ordinals if (v := files[i].vector) is not None}
        vectors |= {2 * i + 1: v for i in ordinals if (v := files[i].against) is not None}
        loaded = deletion_vectors.load(vectors, place.locate, place.url)
        nothing = Bitmap.of(())
        found: dict[int, Deletes] = {}
        for i in ordinals:
            dead = loaded.get(2 * i, nothing)
            if files[i].is_difference:
                changed = dead.minus(loaded.get(2 * i + 1, nothing))
                dead = Bitmap.of(range(_records(files[i], place.url))).minus(changed)
            found[i] = Positions(dead)
        return found

    return load_deletes


def _records(file: ChangedFile, where: str) -> int:
    if file.records is None:
        # "For any logical file where `deletionVector` is not `null`, the `numRecords` statistic *must* be present"
        raise InvalidTable(f"the file {file.path} has a deletion vector and no numRecords", where=where)
    return file.records


def _changed_files(snapshot: Snapshot, commit: Commit) -> Iterator[ChangedFile]:
    where = f"{snapshot.location}/{commit.file.path}"
    actions = json_log.actions(snapshot.place.storage.read(commit.file.path), where)
    found = [(kind, action[kind]) for action in actions for kind in _KINDS if action.get(kind) is not None]
    stored = [_file(body, commit.version, None, where) for kind, body in found if kind == "cdc"]
    if stored:
        yield from stored
        return
    changed = [(kind, body) for kind, body in found if not isinstance(body, dict) or body.get("dataChange") is not False]
    files = {kind: [_file(body, commit.version, _KINDS[kind], where) for k, body in changed if k == kind] for kind in _KINDS}
    adds, removes = ({file.path: file for file in files[kind]} for kind in ("add", "remove"))
    for path in {**removes, **adds}:
        if path in adds and path in removes:
            yield from _difference(adds[path], removes[path])
        elif path in adds:
            yield adds[path]
        else:
            yield removes[path]


_KINDS: Mapping[str, str | None] = {"cdc": None, "add": "insert", "remove": "delete"}


def _difference(new: ChangedFile, old: ChangedFile) -> Iterator[ChangedFile]:
    """The same file with another deletion vector: what only the new one hides was deleted, the reverse inserted."""
    records = new.records if new.records is not None else old.records
    for kind, vector, against in (("delete", new.vector, old.vector), ("insert", old.vector, new.vector)):
        if vector is not None:
            yield replace(new, change=kind, vector=vector, against=against, is_difference=True, records=records)


def _file(body: object, version: int, change: str | None, where: str) -> ChangedFile:
    match body:
        case {"path": str(path), **rest}:
            values, vector, size = rest.get("partitionValues"), rest.get("deletionVector"), rest.get("size")
        case _:
            raise InvalidTable("a file action is not an object with a path", where=where)
    if values is not None and not (isinstance(values, dict) and all(isinstance(v, str | None) for v in values.values())):
        raise InvalidTable(f"the partition values of {path} are not a map of texts", where=where)
    if vector is not None and not isinstance(vector, dict):
        raise InvalidTable(f"the deletion vector of {path} is not an object", where=where)
    return ChangedFile(
        version,
        path,
        size if type(size) is int and 0 <= size < 2**63 else 0,
        values,
        change,
        None if vector is None else parse_descriptor(vector, where),
        records=_num_records(rest.get("stats")),
    )


def _require_values(file: ChangedFile, snapshot: Snapshot) -> None:
    """A `remove` without extended metadata does not repeat its partition values, and the path is not to be trusted."""
    if file.is_removed and file.values is None and snapshot.partition_fields:
        raise Unsupported(
            f"the changes of {file.path}: its remove action does not record partition values",
            where=snapshot.location,
            hint="Read the changes from a later version on.",
        )


_MOST_RECORDS = 1 << 36  # a greater number of rows in one file is nonsense, and would be made a bitmap


def _num_records(stats: object) -> int | None:
    if not isinstance(stats, str):
        return None
    try:
        found = json_log.actions(stats.encode(), "stats")
    except InvalidTable:
        return None
    records = found[0].get("numRecords") if found else None
    return records if type(records) is int and 0 <= records <= _MOST_RECORDS else None


def _recorded(snapshot: Snapshot, first: int) -> Sequence[tuple[int, Metadata]]:
    """The metadata of the range, each with the first version that it is known to be in force at.

    Change data must have been on in the whole range, under schemas that the last one can read.
    """
    start = load(snapshot.place, first).metadata
    listing = list_log(snapshot.place.storage)
    brought: list[tuple[int, Metadata]] = []
    for version in sorted(v for v in listing.commits if first <= v <= snapshot.version):
        file = listing.commits[version].file.path
        where = f"{snapshot.location}/{file}"
        found = json_log.find(snapshot.place.storage.read(file), ["metaData"], where)
        brought += [(version, parse_metadata(body, where)) for _, body in found]
    is_older = not brought or brought[0][0] > first
    history = [(first - 1, start), *brought] if is_older else brought
    problems = []
    for since, metadata in history:
        version = max(since, first)
        if not properties.change_data_feed_enabled(metadata.configuration):
            problems.append(f"version {version}: {properties.CHANGE_DATA_FEED.name} is not true")
        problems += [f"version {version}: {p}" for p in _incompatible(metadata.schema, snapshot.schema, snapshot.mapping)]
    if problems:
        raise InvalidRequest(
            f"the changes from version {first} to {snapshot.version} were not recorded in a form that can be read",
            where=snapshot.location,
            problems=problems,
            hint="Choose a range in which the change data feed is on and no column was dropped, renamed or retyped.",
        )
    return history


def _incompatible(old: Struct, new: Struct, mapping: column_mapping.Mode, path: str = "") -> Iterator[str]:
    """What the newest schema would lose of an older one."""
    for member in old:
        here = f"{path}.{member.name}" if path else member.name
        now = new.find(member.name)
        if now is None:
            yield f"the column {here} is no longer there"
        elif column_mapping.physical_name(now, mapping) != column_mapping.physical_name(member, mapping):
            yield f"the column {here} is another one now"
        else:
            yield from _retyped(member.type, now.type, mapping, here)


def _retyped(old: Type, new: Type, mapping: column_mapping.Mode, here: str) -> Iterator[str]:
    match old, new:
        case Struct(), Struct():
            yield from _incompatible(old, new, mapping, here)
        case Array(), Array():
            yield from _retyped(old.element, new.element, mapping, f"{here}.element")
        case Map(), Map():
            yield from _retyped(old.key, new.key, mapping, f"{here}.key")
            yield from _retyped(old.value, new.value, mapping, f"{here}.value")
        case _ if str(old) != str(new) and not type_widening.is_widening(str(old), str(new)):
            yield f"the column {here} was of type {old} and is of type {new}"

"""Do checkpoints and checksum files say what the log says?  (PROTOCOL.md, "Checkpoints", "Version Checksum File")"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from esker.check.delta.evidence import Evidence, logical_file
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core.columns import Rows, int64, mask_of
from esker.core.types import leaves
from esker.delta import checkpoint as checkpoints
from esker.delta import checksum
from esker.delta.actions import Add, Sidecar
from esker.delta.checkpoint import LastCheckpoint, sidecar_file
from esker.delta.column_mapping import physical_path
from esker.delta.live_adds import live_adds
from esker.delta.log import LOG_FOLDER, Checkpoint, LogListing
from esker.delta.properties import TRANSACTION_RETENTION, deleted_file_retention
from esker.delta.protocol import is_supported
from esker.delta.reconciliation import reconciled
from esker.delta.snapshot import Snapshot, at_version
from esker.errors import EskerError, NotFound

_UUID_NAMED = re.compile(r"\d{20}\.checkpoint\.[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\.(json|parquet)")


def _newest(evidence: Evidence) -> Checkpoint | None:
    """The checkpoint that the snapshot rests on."""
    return None if evidence.snapshot is None else evidence.snapshot.log.checkpoint


def _hint(evidence: Evidence) -> Iterator[Sighting]:
    hint = evidence.hint
    if hint.problem is not None:
        yield Sighting("_last_checkpoint", hint.problem)
    elif hint.version is not None and hint.version not in evidence.listing.checkpoints:
        yield Sighting("_last_checkpoint", f"it names version {hint.version}, which has no whole checkpoint")


def _stale_hint(evidence: Evidence) -> Iterator[Sighting]:
    newest = max(evidence.listing.checkpoints, default=None)
    known = evidence.hint.version
    if newest is not None and evidence.hint.problem is None and (known is None or known < newest):
        yield Sighting("_last_checkpoint", f"it names {known if known is not None else 'nothing'}, and there is a checkpoint of version {newest}")


def _single(evidence: Evidence) -> Iterator[Sighting]:
    checkpoint = _newest(evidence)
    if checkpoint is not None:
        counted = Counter(kind for kind, _ in checkpoints.table_actions(evidence.place.storage, checkpoint))
        for kind in ("protocol", "metaData"):
            if counted[kind] != 1:
                yield Sighting(f"checkpoint {checkpoint.version}", f"it holds {counted[kind]} {kind} actions, not one")
        if counted["checkpointMetadata"] > 1:
            yield Sighting(f"checkpoint {checkpoint.version}", f"it holds {counted['checkpointMetadata']} checkpointMetadata actions")


def _repeated(evidence: Evidence) -> Iterator[Sighting]:
    """What a checkpoint holds more than once for one key, which reconciled actions are not."""
    snapshot, checkpoint = evidence.readable, _newest(evidence)
    if snapshot is None or checkpoint is None:
        return
    where = f"checkpoint {checkpoint.version}"
    told = list(checkpoints.table_actions(evidence.place.storage, checkpoint))
    for kind, key in _KEYS.items():
        counted = Counter(str(body.get(key)) for own, body in told if own == kind)
        yield from (Sighting(where, f"it holds {count} {kind} actions for {name}") for name, count in counted.items() if count > 1)
    wanted = {"add": ["path"], "remove": ["path", "deletionVector"]}
    tables = [table for _, table in checkpoints.file_columns(evidence.place.storage, checkpoint, snapshot.sidecars, wanted)]
    for kind in wanted:
        bodies = (body for table in tables if kind in table.column_names for body in table.column(kind).to_pylist() if body)
        files = Counter(logical_file(body) for body in bodies if body.get("path"))
        yield from (Sighting(where, f"it holds {count} {kind} actions for {path}") for (path, _), count in files.items() if count > 1)


_KEYS = {"txn": "appId", "domainMetadata": "domain", "sidecar": "path"}


def _v2_metadata(evidence: Evidence) -> Iterator[Sighting]:
    checkpoint = _newest(evidence)
    if checkpoint is None or not _is_uuid_named(checkpoint):
        return
    kinds = {kind for kind, _ in checkpoints.table_actions(evidence.place.storage, checkpoint)}
    if "checkpointMetadata" not in kinds:
        yield Sighting(f"checkpoint {checkpoint.version}", "it has a unique name, and no checkpointMetadata")


def _v2_feature(evidence: Evidence) -> Iterator[Sighting]:
    snapshot, checkpoint = evidence.snapshot, _newest(evidence)
    if snapshot is None or checkpoint is None or is_supported(snapshot.protocol, "v2Checkpoint"):
        return
    if _is_uuid_named(checkpoint) or snapshot.checkpoint_is_v2:
        yield Sighting(f"checkpoint {checkpoint.version}", "it is of the V2 spec, and the table does not support v2Checkpoint")


def _is_uuid_named(checkpoint: Checkpoint) -> bool:
    return any(_UUID_NAMED.fullmatch(file.path.removeprefix(f"{LOG_FOLDER}/")) for file in checkpoint.files)


def _sidecars(evidence: Evidence) -> Iterator[Sighting]:
    for sidecar in () if evidence.snapshot is None else evidence.snapshot.sidecars:
        if _sidecar_size(evidence, sidecar) is None:
            yield Sighting(sidecar.path, "the sidecar is missing")


def _sidecar_sizes(evidence: Evidence) -> Iterator[Sighting]:
    for sidecar in () if evidence.snapshot is None else evidence.snapshot.sidecars:
        size = _sidecar_size(evidence, sidecar)
        if size not in (None, sidecar.size):
            yield Sighting(sidecar.path, f"the sidecar has {size} bytes, and the checkpoint says {sidecar.size}")


def _sidecar_size(evidence: Evidence, sidecar: Sidecar) -> int | None:
    try:
        return evidence.place.storage.head(sidecar_file(sidecar, evidence.place.url).path).size
    except NotFound:
        return None


def _replayed(evidence: Evidence) -> Iterator[Sighting]:
    """The state of a checkpoint's version, rebuilt from the commits before it where the log has them."""
    snapshot, checkpoint = evidence.readable, _newest(evidence)
    if snapshot is None or checkpoint is None:
        return
    if (both := _both(evidence, checkpoint)) is None:
        return
    rebuilt, written = both
    where = f"checkpoint {checkpoint.version}"
    ours, theirs = ({add.identity for add in live_adds(one)} for one in (rebuilt, written))
    if missing := ours - theirs:
        yield Sighting(where, f"{len(missing)} live files are missing, such as {min(missing)[0]}")
    if extra := theirs - ours:
        yield Sighting(where, f"{len(extra)} files are live that are not, such as {min(extra)[0]}")
    if rebuilt.protocol != written.protocol:
        yield Sighting(where, f"the protocol is {written.protocol}, the commits give {rebuilt.protocol}")
    if (rebuilt.metadata.schema, rebuilt.metadata.configuration) != (written.metadata.schema, written.metadata.configuration):
        yield Sighting(where, "schema or properties are others than the commits give")
    if dict(rebuilt.domains) != dict(written.domains):
        yield Sighting(where, "the domain metadata is another than the commits give")
    if {a: t.version for a, t in written.txns.items()}.items() - {a: t.version for a, t in rebuilt.txns.items()}.items():
        yield Sighting(where, "the transaction identifiers are others than the commits give")


def _contents(evidence: Evidence) -> Iterator[Sighting]:
    """What a checkpoint says of each live file, and of the table, against what the commits say."""
    snapshot, checkpoint = evidence.readable, _newest(evidence)
    both = None if snapshot is None or checkpoint is None else _both(evidence, checkpoint)
    if both is None or checkpoint is None:
        return
    rebuilt, written = both
    ours, theirs = ({add.identity: (row, add) for row, add in enumerate(live_adds(one))} for one in both)
    common = sorted(ours.keys() & theirs.keys(), key=str)
    rows = [(ours[identity][0], theirs[identity][0]) for identity in common]
    for identity, has_other_stats in zip(common, _other_stats(rebuilt, written, rows), strict=True):
        different = _different(ours[identity][1], theirs[identity][1])
        if different := [*different, *(["stats"] if has_other_stats else [])]:
            yield Sighting(f"checkpoint {checkpoint.version}", f"{', '.join(different)} of {identity[0]}: other than in the commits")
    if replace(rebuilt.metadata, schema=written.metadata.schema) != written.metadata:
        yield Sighting(f"checkpoint {checkpoint.version}", "the metadata is another than the commits give")
    expires = TRANSACTION_RETENTION.name in rebuilt.metadata.configuration
    if missing := () if expires else sorted(rebuilt.txns.keys() - written.txns.keys()):
        yield Sighting(f"checkpoint {checkpoint.version}", f"{len(missing)} transaction identifiers are missing, such as of {missing[0]}")


def _different(ours: Add, theirs: Add) -> list[str]:
    return [name for name in _COMPARED if getattr(ours, name) != getattr(theirs, name)]


_COMPARED = (
    "size", "modification_time", "partition_values", "deletion_vector", "base_row_id", "default_row_commit_version",
    "clustering_provider",
)  # fmt: skip


def _other_stats(rebuilt: Snapshot, written: Snapshot, rows: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether the statistics of files, each at one place in the one and at another in the other, are told otherwise.

    A checkpoint may leave them out. What it holds as JSON says just what the commits say; a struct has other members and types.
    """
    ours, theirs = (np.array(places, dtype=np.int64) for places in (zip(*rows, strict=True) if rows else ((), ())))
    texts = zip(*(_texts(one, at) for one, at in ((rebuilt, ours), (written, theirs))), strict=True)
    wrong = np.array([None not in both and _parsed(both[0]) != _parsed(both[1]) for both in texts], dtype=bool)
    is_struct = mask_of(pc.is_null(written.files.table.column("stats")))[theirs]
    if is_struct.any():
        for one, other in zip(_recorded(rebuilt, ours), _recorded(written, theirs), strict=True):
            wrong |= is_struct & mask_of(pc.fill_null(pc.not_equal(one, other), False))
    found: list[bool] = wrong.tolist()
    return found


def _texts(snapshot: Snapshot, rows: Rows) -> list[str | None]:
    found: list[str | None] = snapshot.files.table.column("stats").take(int64(rows)).to_pylist()
    return [text or None for text in found]


def _recorded(snapshot: Snapshot, rows: Rows) -> Iterator[pa.Array]:
    """What both forms of statistics tell, column by column. "Timestamp columns are truncated down to milliseconds", as texts."""
    statistics = snapshot.statistics
    columns = [(physical_path(snapshot.schema, path, snapshot.mapping), leaf.type) for path, leaf in leaves(snapshot.schema)]
    told = [statistics.num_records(), *(found for stored, kind in columns for found in statistics.bounds(stored, kind))]
    for found in told:
        values = found.take(int64(rows))
        if pa.types.is_timestamp(values.type):
            yield pc.floor_temporal(values, unit="millisecond")
        elif not pa.types.is_nested(values.type) and not pa.types.is_null(values.type):
            yield values


def _parsed(text: str | None) -> object:
    """Statistics, however they are spelled; the text itself where it is no JSON."""
    try:
        return orjson.loads(text or "null")
    except orjson.JSONDecodeError:
        return text


def _both(evidence: Evidence, checkpoint: Checkpoint) -> tuple[Snapshot, Snapshot] | None:
    """The state of the checkpoint's version as the commits give it and as the checkpoint does; None where commits are gone."""
    older = {v: found for v, found in evidence.listing.checkpoints.items() if v < checkpoint.version}
    first = max(older, default=-1) + 1
    if any(version not in evidence.listing.commits for version in range(first, checkpoint.version + 1)):
        return None
    bare = replace(evidence.listing, checkpoints=older, compactions=())
    alone = replace(evidence.listing, checkpoints={checkpoint.version: [checkpoint]}, compactions=())
    return _at(evidence, bare, checkpoint.version), _at(evidence, alone, checkpoint.version)


def _at(evidence: Evidence, listing: LogListing, version: int) -> Snapshot:
    return at_version(evidence.place, listing, version, LastCheckpoint(None))


def _checksum(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.readable is not None and not list(_unreadable_checksum(evidence)):
        yield from (Sighting("checksum", found) for found in checksum.differences(evidence.readable))


def _unreadable_checksum(evidence: Evidence) -> Iterator[Sighting]:
    file = None if evidence.snapshot is None else evidence.snapshot.checksum_file
    if file is None:
        return
    try:
        said = orjson.loads(evidence.place.storage.read(file.path))
    except orjson.JSONDecodeError as error:
        yield Sighting("checksum", f"{file.path} is not JSON: {error}")
        return
    if not isinstance(said, dict):
        yield Sighting("checksum", f"{file.path} is not a JSON object")


def _fields(evidence: Evidence) -> Iterator[Sighting]:
    """What the actions of a checkpoint lack of what they need, be they read from it or from the commits."""
    snapshot, checkpoint = evidence.readable, _newest(evidence)
    if snapshot is None or checkpoint is None:
        return
    where = f"checkpoint {checkpoint.version}"
    for kind, body in checkpoints.table_actions(evidence.place.storage, checkpoint):
        if missing := [name for name in _NEEDED.get(kind, ()) if body.get(name) is None]:
            yield Sighting(where, f"a {kind} lacks {', '.join(missing)}")
    wanted = {kind: _NEEDED[kind] for kind in ("add", "remove")}
    lacking = Counter[str]()
    for _, table in checkpoints.file_columns(evidence.place.storage, checkpoint, snapshot.sidecars, wanted):
        for kind in (kind for kind in wanted if kind in table.column_names):
            bodies = table.column(kind).combine_chunks().filter(pc.is_valid(table.column(kind).combine_chunks()))
            for name in wanted[kind]:
                is_there = bodies.type.get_field_index(name) >= 0
                lacking[f"{kind}.{name}"] += bodies.field(name).null_count if is_there else len(bodies)
    yield from (Sighting(where, f"{count} actions lack {name}") for name, count in lacking.items() if count)


_NEEDED = {
    "protocol": ("minReaderVersion", "minWriterVersion"), "txn": ("appId", "version"),
    "metaData": ("id", "format", "schemaString", "partitionColumns", "configuration"),
    "domainMetadata": ("domain", "configuration", "removed"), "sidecar": ("path", "sizeInBytes", "modificationTime"),
    "checkpointMetadata": ("version",),
    "add": ("path", "partitionValues", "size", "modificationTime", "dataChange"), "remove": ("path", "dataChange"),
}  # fmt: skip


def _tombstones(evidence: Evidence) -> Iterator[Sighting]:
    """The tombstones of the commits that had not expired when the checkpoint was written."""
    snapshot, checkpoint = evidence.readable, _newest(evidence)
    both = None if snapshot is None or checkpoint is None else _both(evidence, checkpoint)
    if both is None or checkpoint is None:
        return
    kept = deleted_file_retention(both[0].metadata.configuration) // timedelta(milliseconds=1)
    # What had expired by the time of the file may be missing, and a copy of the file is younger than that.
    oldest = min(file.modified for file in checkpoint.files) - kept
    ours, theirs = (reconciled(one).tombstones.select(["path", "deletionVector", "deletionTimestamp"]).to_pylist() for one in both)
    there = {logical_file(tombstone) for tombstone in theirs}
    young = (tombstone for tombstone in ours if (tombstone["deletionTimestamp"] or 0) > oldest)
    if missing := [tombstone["path"] for tombstone in young if logical_file(tombstone) not in there]:
        yield Sighting(f"checkpoint {checkpoint.version}", f"{len(missing)} tombstones are missing, such as of {missing[0]}")


def _checksum_fields(evidence: Evidence) -> Iterator[Sighting]:
    for version, file in evidence.listing.checksums.items():
        try:
            said = orjson.loads(evidence.place.storage.read(file.path))
        except (orjson.JSONDecodeError, EskerError):
            continue  # checksum.readable and checksum.history tell of it
        for name, kind in _REQUIRED.items() if isinstance(said, dict) else ():
            if not isinstance(said.get(name), kind) or isinstance(said.get(name), bool):
                yield Sighting("checksum", f"{version:020}.crc: {name} is {'missing' if said.get(name) is None else 'of another type'}")
        if isinstance(said, dict) and isinstance(said.get("metadata"), dict):
            told = said["metadata"].get("format")
            if not isinstance(told, dict) or not isinstance(told.get("provider"), str):
                yield Sighting("checksum", f"{version:020}.crc: metadata.format names no provider")


_REQUIRED: Mapping[str, type] = {
    "tableSizeBytes": int, "numFiles": int, "numMetadata": int, "numProtocol": int, "metadata": dict, "protocol": dict,
}  # fmt: skip


def _older_checksums(evidence: Evidence) -> Iterator[Sighting]:
    """The states of all older versions that have a checksum file and can still be rebuilt."""
    newest = None if evidence.readable is None else evidence.readable.version
    for version in sorted(evidence.listing.checksums) if newest is not None else ():
        if newest is None or version >= newest:
            continue
        try:
            state = _at(evidence, evidence.listing, version)
        except NotFound:
            continue  # the log was cleaned up
        try:
            yield from (Sighting("checksum", found) for found in checksum.differences(state))
        except EskerError as error:
            yield Sighting("checksum", f"{version:020}.crc cannot be compared: {error.what}")


_WRITE = "Write a checkpoint."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("checkpoint.hint", Severity.WARNING, protocol("#last-checkpoint-file"), "_last_checkpoint names a checkpoint that is there.", _WRITE, _hint),
    Rule("checkpoint.stale-hint", Severity.NOTICE, protocol("#last-checkpoint-file"), "_last_checkpoint names the newest checkpoint.", _WRITE, _stale_hint),
    Rule("checkpoint.one-of-each", Severity.ERROR, protocol("#checkpoints"), "A checkpoint holds one protocol and one metaData.", _WRITE, _single),
    Rule("checkpoint.reconciled", Severity.ERROR, protocol("#action-reconciliation"), "A checkpoint holds one action for each file, application and domain.", _WRITE, _repeated),
    Rule("checkpoint.v2-metadata", Severity.ERROR, protocol("#v2-spec"), "A V2 checkpoint has checkpointMetadata.", _WRITE, _v2_metadata),
    Rule("checkpoint.v2-feature", Severity.ERROR, protocol("#v2-checkpoint-table-feature"), "Only a table that supports them has V2 checkpoints.", "Enable v2Checkpoint, or write a classic checkpoint.", _v2_feature),
    Rule("checkpoint.sidecars", Severity.ERROR, protocol("#sidecar-files"), "The sidecars of a checkpoint are there.", "Write a checkpoint from the commits, if the log still has them.", _sidecars),
    Rule("checkpoint.sidecar-size", Severity.WARNING, protocol("#sidecar-files"), "A sidecar is as large as its checkpoint says.", _WRITE, _sidecar_sizes),
    Rule("checkpoint.replay", Severity.ERROR, protocol("#action-reconciliation"), "A checkpoint holds what the commits give.", "Delete the checkpoint if the commits are all there, and write another.", _replayed),
    Rule("checkpoint.contents", Severity.WARNING, protocol("#action-reconciliation"), "A checkpoint says of files and table what the commits say.", "Delete the checkpoint if the commits are all there, and write another.", _contents),
    Rule("checkpoint.fields", Severity.WARNING, protocol("#actions"), "Actions in a checkpoint have their required fields.", _WRITE, _fields),
    Rule("checkpoint.tombstones", Severity.WARNING, protocol("#action-reconciliation"), "A checkpoint holds the tombstones that have not expired.", _WRITE, _tombstones),
    Rule("checksum.readable", Severity.WARNING, protocol("#version-checksum-file"), "A checksum file is a JSON object.", "Delete the checksum file.", _unreadable_checksum),
    Rule("checksum.state", Severity.ERROR, protocol("#version-checksum-file"), "A checksum file agrees with the state.", "Find out which of the two is wrong; a checksum file may be deleted.", _checksum),
    Rule("checksum.fields", Severity.WARNING, protocol("#version-checksum-file-schema"), "A checksum file has all required fields.", "Delete the checksum file; writers go on without it.", _checksum_fields),
    Rule("checksum.history", Severity.ERROR, protocol("#version-checksum-file"), "Checksum files of older versions agree with their states.", "Find out which of the two is wrong; a checksum file may be deleted.", _older_checksums, is_deep=True),
)  # fmt: skip

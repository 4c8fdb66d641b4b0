"""Does the state match what its writer said of it?  (PROTOCOL.md, "Version Checksum File")"""

from collections.abc import Callable, Iterator, Mapping

import orjson
import pyarrow.compute as pc

from esker.delta.actions import JsonObject, parse_metadata
from esker.delta.protocol import parse_protocol
from esker.delta.snapshot import Snapshot
from esker.errors import EskerError


def differences(snapshot: Snapshot) -> tuple[str, ...]:
    """Each field of the version's checksum file that the replayed state contradicts; none where there is no file."""
    file = snapshot.checksum_file
    if file is None:
        return ()  # "Readers MUST continue functioning if Version Checksum files are missing"
    try:
        recorded = orjson.loads(snapshot.place.storage.read(file.path))
    except (orjson.JSONDecodeError, EskerError) as error:
        return (f"{file.path} cannot be read: {error}",)
    if not isinstance(recorded, dict):
        return (f"{file.path} is not a JSON object",)
    return tuple(f"{file.path}: {found}" for found in _differences(snapshot, recorded))


def _differences(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    files = snapshot.bare_files.table
    cardinalities = pc.struct_field(files.column("deletionVector"), "cardinality")
    computed: dict[str, Callable[[], object]] = {
        "tableSizeBytes": lambda: pc.sum(files.column("size")).as_py() or 0,
        "numFiles": lambda: files.num_rows,
        "numMetadata": lambda: 1,
        "numProtocol": lambda: 1,
        "numDeletionVectorsOpt": lambda: len(files) - files.column("deletionVector").null_count,
        "numDeletedRecordsOpt": lambda: pc.sum(cardinalities).as_py() or 0,
    }
    for name, compute in computed.items():
        if isinstance(value := recorded.get(name), int) and value != (ours := compute()):
            yield f"{name} is {value}, the log gives {ours}"
    yield from _metadata_difference(snapshot, recorded)
    yield from _named(recorded, "setTransactions", "appId", {t.app_id: t.version for t in snapshot.txns.values()}, "version")
    domains = {d.domain: d.configuration for d in snapshot.domains.values()}
    yield from _named(recorded, "domainMetadata", "domain", domains, "configuration")
    if isinstance(listed := recorded.get("allFiles"), list):
        ours = sorted(files.column("path").to_pylist())
        theirs = sorted(str(f.get("path")) for f in listed if isinstance(f, dict))
        if ours != theirs:
            yield f"allFiles lists {len(theirs)} files that are not the {len(ours)} of the log"


def _metadata_difference(snapshot: Snapshot, recorded: JsonObject) -> Iterator[str]:
    try:
        if isinstance(body := recorded.get("protocol"), dict):
            protocol = parse_protocol(body)
            if protocol != snapshot.protocol:
                yield f"protocol is {protocol}, the log gives {snapshot.protocol}"
        if isinstance(body := recorded.get("metadata"), dict):
            metadata = parse_metadata(body, snapshot.location)
            if (metadata.schema, metadata.id) != (snapshot.schema, snapshot.metadata.id):
                yield "metadata has another id or schema than the log"
            if dict(metadata.configuration) != dict(snapshot.metadata.configuration):
                yield "metadata has other properties than the log"
    except EskerError as error:
        yield str(error)


def _named(recorded: JsonObject, field: str, key: str, ours: Mapping[str, object], value: str) -> Iterator[str]:
    listed = recorded.get(field)
    if not isinstance(listed, list):
        return
    theirs = {
        str(e.get(key)): e.get(value) for e in listed if isinstance(e, dict) and not e.get("removed", False)
    }
    if theirs != ours:
        different = sorted(k for k in {*theirs, *ours} if theirs.get(k) != ours.get(k))
        yield f"{field} differs from the log for {', '.join(different)}"

"""Small tables that are right, one for each way in which a log can be written, to be broken by the fuzzer."""

import json
import struct
import zlib
from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pyarrow as pa

from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.types import Array, Field, Map, Struct
from tests.delta.tables import Log, add, checkpoint_rows, inline, lines, metadata, parquet, remove, rows

SCHEMA = Struct(
    (
        Field("id", t.LONG), Field("day", t.DATE), Field("name", t.STRING), Field("at", t.TIMESTAMP), Field("x", t.DOUBLE),
        Field("d", t.Decimal(10, 2)), Field("s", Struct((Field("a", t.INTEGER), Field("b", t.STRING)))),
        Field("l", Array(t.INTEGER)), Field("m", Map(t.STRING, t.LONG)),
    )
)  # fmt: skip
SETTINGS = {"partition_by": ["day"], "delta__enableChangeDataFeed": "true", "delta__enableRowTracking": "true"}
FEATURES = ("deletionVectors", "changeDataFeed", "rowTracking", "domainMetadata", "v2Checkpoint")


def _rows(*ids: int) -> pa.Table:
    stored = Struct(tuple(f for f in SCHEMA if f.name != "day"))
    return rows(
        stored,
        id=ids, name=[f"n{i}" for i in ids], at=list(ids), x=[i / 2 for i in ids], d=[Decimal(i) for i in ids],
        s=[{"a": i, "b": None} for i in ids], l=[[i, None] for i in ids], m=[[("k", i)] for i in ids],
    )  # fmt: skip


def _stats(*ids: int) -> dict[str, object]:
    def values(i: int) -> dict[str, object]:
        return {"id": i, "name": f"n{i}", "at": f"1970-01-01T00:00:00.00{i % 10}Z", "x": i / 2, "d": i, "s": {"a": i}}

    return {"numRecords": len(ids), "minValues": values(min(ids)), "maxValues": values(max(ids)), "tightBounds": True,
            "nullCount": {"id": 0, "name": 0, "s": {"a": 0, "b": len(ids)}}}  # fmt: skip


def _commits(log: Log) -> Log:
    """Three versions: two files; one of them with a vector in a file, the other with one inline; a third file."""
    day = {"day": date(2026, 1, 2).isoformat()}
    first = log.data("a b.parquet", _rows(1, 2, 3), stats=_stats(1, 2, 3), partition=day, baseRowId=0)
    first["add"]["path"] = "a%20b.parquet"
    second = log.data("day=x/b.parquet", _rows(4, 5), stats=_stats(4, 5), partition={"day": None}, baseRowId=3)
    log.start(SCHEMA, first, second, {"txn": {"appId": "app", "version": 1}}, features=FEATURES, **SETTINGS)
    body = Bitmap.of([0, 2]).serialize()
    name = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    log.storage.put(f"ab/{name}", b"\x01" + struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body)))
    stored = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": len(body),
              "cardinality": 2}  # fmt: skip
    log.commit(
        {"commitInfo": {"timestamp": 1, "operation": "DELETE", "operationParameters": {"p": "[]"}, "inCommitTimestamp": 2}},
        remove("a%20b.parquet", partitionValues=day, size=1, stats=json.dumps(_stats(1, 2, 3))),
        {"add": first["add"] | {"deletionVector": stored}},
        remove("day=x/b.parquet", partitionValues={"day": None}),
        {"add": second["add"] | {"deletionVector": inline(1)}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    )
    log.commit(log.data("c.parquet", _rows(6), stats=_stats(6), partition=day, baseRowId=5))
    log.put(f"{2:020}.crc", {"tableSizeBytes": 1, "numFiles": 3, "numMetadata": 1, "numProtocol": 1,
                             "setTransactions": [{"appId": "app", "version": 1}],
                             "metadata": metadata(SCHEMA)["metaData"]})  # fmt: skip
    return log


def _state(log: Log) -> list[dict[str, object]]:
    """The actions of a checkpoint of version 1."""
    actions = [json.loads(line) for v in (0, 1) for line in log.storage.read(f"_delta_log/{v:020}.json").splitlines()]
    kept = [a for a in actions if not {"commitInfo", "add", "remove"} & set(a)]
    return [*kept, *[a for a in actions if "deletionVector" in a.get("add", {})]]


def commits() -> Log:
    return _commits(Log())


def classic() -> Log:
    log = _commits(Log())
    log.checkpoint(1, _state(log))
    log.put("_last_checkpoint", {"version": 1, "size": 6})
    return log


def multi_part() -> Log:
    log = _commits(Log())
    state = _state(log)
    log.checkpoint(1, state[:3], "checkpoint.0000000001.0000000002.parquet")
    log.checkpoint(1, state[3:], "checkpoint.0000000002.0000000002.parquet")
    return log


def struct_stats() -> Log:
    """Statistics as a struct only, behind a version 2 checkpoint in Parquet with a sidecar."""
    log = _commits(Log())
    state = _state(log)
    values = pa.struct([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("ms", "UTC")), ("x", pa.float64())])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", values), ("maxValues", values),
                        ("nullCount", pa.struct([("id", pa.int64())]))])  # fmt: skip
    files = []
    for action in state:
        if "add" in action:
            body = dict(action["add"])  # type: ignore[call-overload]
            found = json.loads(body.pop("stats"))
            bounds = {k: {"id": found[k]["id"], "name": found[k]["name"], "x": found[k]["x"]} for k in _BOUNDS}
            files.append({"add": body | {"stats_parsed": {"numRecords": found["numRecords"], "nullCount": {"id": 0}} | bounds}})
    sidecar = parquet(checkpoint_rows(files, parsed))
    log.put("_sidecars/side.parquet", sidecar)
    named = {"sidecar": {"path": "side.parquet", "sizeInBytes": len(sidecar), "modificationTime": 1}}
    top = [a for a in state if "add" not in a]
    log.checkpoint(1, [*top, {"checkpointMetadata": {"version": 1}}, named], "checkpoint.aaaa-bbbb.parquet")
    return log


def json_checkpoint() -> Log:
    log = _commits(Log())
    state = _state(log)
    sidecar = parquet(checkpoint_rows([a for a in state if "add" in a]))
    log.put("_sidecars/side.parquet", sidecar)
    named = {"sidecar": {"path": "side.parquet", "sizeInBytes": len(sidecar), "modificationTime": 1}}
    top = [a for a in state if "add" not in a]
    log.put(f"{1:020}.checkpoint.aaaa-bbbb.json", lines([*top, {"checkpointMetadata": {"version": 1}}, named]))
    log.put("_last_checkpoint", {"version": 1, "size": 6})
    return log


def embedded() -> Log:
    """A version 2 checkpoint in JSON that holds its file actions itself."""
    log = _commits(Log())
    log.put(f"{1:020}.checkpoint.aaaa-bbbb.json", lines([*_state(log), {"checkpointMetadata": {"version": 1}}]))
    return log


def compacted() -> Log:
    log = _commits(Log())
    log.put(f"{0:020}.{1:020}.compacted.json", lines(_state(log)))
    return log


def mapped() -> Log:
    """Column mapping by id, type changes, and change files."""
    schema = Struct(
        (
            Field("id", t.LONG, metadata={"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1",
                                          "delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),
            Field("p", t.INTEGER, metadata={"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "c2"}),
        )
    )  # fmt: skip
    log = Log()
    stored = pa.schema([pa.field("c1", pa.int32(), metadata={b"PARQUET:field_id": b"1"})])
    file = log.data("a.parquet", pa.table([[1, 2]], schema=stored), partition={"c2": "7"})
    log.start(schema, file, features=("columnMapping", "typeWidening", "changeDataFeed", "inCommitTimestamp"),
              partition_by=["p"], delta__columnMapping__mode="id", delta__enableChangeDataFeed="true")  # fmt: skip
    with_change = pa.schema([*stored, pa.field("_change_type", pa.string())])
    changed = log.data("cdc.parquet", pa.table([[1], ["delete"]], schema=with_change), partition={"c2": "7"})
    log.commit({"cdc": changed["add"]}, remove("a.parquet", partitionValues={"c2": "7"}), add("a.parquet", partition={"c2": "7"}))
    return log


_BOUNDS = ("minValues", "maxValues")
SEEDS: dict[str, Callable[[], Log]] = {
    made.__name__: made for made in (commits, classic, multi_part, struct_stats, json_checkpoint, embedded, compacted, mapped)
}

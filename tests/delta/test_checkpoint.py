"""What a checkpoint holds, in each of its forms, and what is no checkpoint.  (PROTOCOL.md, "Checkpoints")"""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import esker
from esker.errors import InvalidTable
from esker.storage.local import LocalStorage
from tests.delta.tables import (
    ID,
    Action,
    Log,
    add,
    checkpoint_rows,
    ids,
    inline,
    lines,
    metadata,
    parquet,
    protocol,
    remove,
)

UUID = "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11"
TOP: list[Action] = [
    protocol("v2Checkpoint", "deletionVectors", "domainMetadata"), metadata(ID, id="kept"),
    {"txn": {"appId": "app", "version": 7, "lastUpdated": 1}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
]  # fmt: skip
FILES: list[Action] = [
    add("a", stats={"numRecords": 3}), add("b%20c", dv=inline(0)), add("d", partition={"unused": "x"}), remove("gone")
]  # fmt: skip


def classic(log: Log) -> None:
    log.checkpoint(1, [*TOP, *FILES])


def classic_v2(log: Log) -> None:
    log.checkpoint(1, [*TOP, {"checkpointMetadata": {"version": 1}}, *sidecars(log, FILES)])


def multi_part(log: Log) -> None:
    log.checkpoint(1, [*TOP[:2], *FILES[:1]], "checkpoint.0000000001.0000000003.parquet")
    log.checkpoint(1, FILES[1:], "checkpoint.0000000002.0000000003.parquet")
    log.checkpoint(1, TOP[2:], "checkpoint.0000000003.0000000003.parquet")


def v2_parquet(log: Log) -> None:
    log.checkpoint(1, [*TOP, {"checkpointMetadata": {"version": 1}}, *sidecars(log, FILES)], f"{UUID}.parquet")


def v2_json(log: Log) -> None:
    actions = [*TOP, {"checkpointMetadata": {"version": 1}}, *sidecars(log, FILES[:2], FILES[2:])]
    log.put(f"{1:020}.{UUID}.json", lines(actions))


def v2_json_embedded(log: Log) -> None:
    log.put(f"{1:020}.{UUID}.json", lines([*TOP, {"checkpointMetadata": {"version": 1}}, *FILES]))


def v2_parquet_embedded(log: Log) -> None:
    log.checkpoint(1, [*TOP, {"checkpointMetadata": {"version": 1}}, *FILES], f"{UUID}.parquet")


def sidecars(log: Log, *parts: list[Action], prefix: str = "") -> list[Action]:
    named = []
    for i, part in enumerate(parts):
        data = parquet(checkpoint_rows(part))
        log.put(f"_sidecars/side {i}.parquet", data)
        named.append({"sidecar": {"path": f"{prefix}side%20{i}.parquet", "sizeInBytes": len(data), "modificationTime": 1}})
    return named


FORMS = [classic, classic_v2, multi_part, v2_parquet, v2_json, v2_json_embedded, v2_parquet_embedded]


@pytest.mark.parametrize("write", FORMS, ids=lambda form: form.__name__)
def test_every_form_of_a_checkpoint_holds_the_same_state(write: Callable[[Log], None]) -> None:
    """PROTOCOL.md, "Checkpoint Specs", "Allowed combinations for checkpoint spec <-> checkpoint file naming" """
    log = Log()
    write(log)
    log.commit(add("after"), remove("d"), version=2)
    snapshot = log.snapshot()
    assert log.paths() == ["a", "after", "b%20c"]
    assert snapshot.metadata.id == "kept"
    assert snapshot.txns["app"].version == 7
    assert set(snapshot.domains) == {"d"}
    assert snapshot.checkpoint_is_v2 is (write not in (classic, multi_part))
    vectors = dict(zip(*(snapshot.files.table.column(c).to_pylist() for c in ("path", "deletionVector")), strict=True))
    assert {path for path, vector in vectors.items() if vector} == {"b%20c"}


@pytest.mark.parametrize("prefix", ["", "file:///other/_delta_log/_sidecars/", "a/b/", "../../", "%2e%2e/"])
def test_a_sidecar_is_looked_for_in_the_folder_of_sidecars_wherever_its_uri_says_it_is(prefix: str) -> None:
    """ "sidecar files must always reside in the table's own _delta_log/_sidecars directory"  (Sidecar File Information)"""
    log = Log()
    actions = [*TOP, {"checkpointMetadata": {"version": 1}}, *sidecars(log, FILES, prefix=prefix)]
    log.put(f"{1:020}.{UUID}.json", lines(actions))
    assert log.paths() == ["a", "b%20c", "d"]


BAD_SIDECARS = ["..", ".", "%2e%2e", "a/..", "", "a/", "x%00y", "missing.parquet", "..%5cx"]


@pytest.mark.parametrize("path", BAD_SIDECARS)
def test_a_sidecar_that_is_not_a_file_of_the_folder_is_an_invalid_table(path: str) -> None:
    log = Log()
    named = {"sidecar": {"path": path, "sizeInBytes": 10, "modificationTime": 1}}
    log.put(f"{1:020}.{UUID}.json", lines([*TOP, {"checkpointMetadata": {"version": 1}}, named]))
    assert log.snapshot().version == 1
    with pytest.raises(InvalidTable):
        log.paths()


@pytest.mark.parametrize("body", [{"path": "x", "sizeInBytes": -1}, {"path": "x"}, {"sizeInBytes": 1}, {"path": 1}])
def test_a_malformed_sidecar_is_an_invalid_table(body: Action) -> None:
    log = Log()
    log.put(f"{1:020}.{UUID}.json", lines([*TOP, {"checkpointMetadata": {"version": 1}}, {"sidecar": body}]))
    with pytest.raises(InvalidTable):
        log.paths()


def test_a_sidecar_does_not_lead_out_of_the_table(tmp_path: Path) -> None:
    outside = parquet(checkpoint_rows([add("stolen")]))
    (tmp_path / "outside.parquet").write_bytes(outside)
    log = Log(LocalStorage(str(tmp_path / "table")))
    for path in ("../../../outside.parquet", f"file://{tmp_path}/outside.parquet", "..%2f..%2f..%2foutside.parquet"):
        named = {"sidecar": {"path": path, "sizeInBytes": len(outside), "modificationTime": 1}}
        log.put(f"{1:020}.{UUID}.json", lines([*TOP, {"checkpointMetadata": {"version": 1}}, named]))
        with pytest.raises(InvalidTable):
            log.paths()


GOOD = parquet(checkpoint_rows([*TOP, *FILES]))
CORRUPT = [
    ("empty", b""), ("a few bytes", b"PAR1"), ("not Parquet", b"x" * 100), ("cut off", GOOD[:-20]),
    ("without its head", GOOD[200:]), ("a footer that lies", GOOD[:-8] + b"\xff\xff\xff\x7fPAR1"),
    ("a text that is not UTF-8", GOOD.replace(b'"numRecords"', b'"numRec\xffrds"')),
    ("add as a text", parquet(pa.table({"add": ["x"]}))),
    ("add without a path", parquet(pa.table({"add": [{"size": 1}]}))),
    ("a path that is a number", parquet(pa.table({"add": [{"path": {"x": 1}}]}))),
    ("a path that is null", parquet(checkpoint_rows([add("x"), {"add": {"path": None}}]))),
    ("partition values as a text", parquet(pa.table({"add": [{"path": "x", "partitionValues": "x"}]}))),
    ("a size that is a text", parquet(pa.table({"add": [{"path": "x", "size": "big"}]}))),
]  # fmt: skip


@pytest.mark.parametrize("data", [case[1] for case in CORRUPT], ids=[case[0] for case in CORRUPT])
def test_a_corrupt_checkpoint_is_an_invalid_table(data: bytes) -> None:
    log = Log().start()
    log.commit(protocol(), metadata())
    log.put(f"{0:020}.checkpoint.parquet", data)
    with pytest.raises(InvalidTable):
        log.paths()


def test_a_checkpoint_without_protocol_or_metadata_is_an_invalid_table() -> None:
    for actions in ([protocol()], [metadata()], [add("a")]):
        log = Log()
        log.checkpoint(0, actions)
        with pytest.raises(InvalidTable, match=r"no (protocol|metaData) action"):
            log.snapshot()


def test_statistics_kept_as_a_struct_alone_prune_files() -> None:
    """PROTOCOL.md, "Checkpoint Schema": `stats_parsed`, with `nullCount` (C4)."""
    log = Log().start()
    values = pa.struct([("id", pa.int64())])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", values), ("maxValues", values), ("nullCount", values)])
    actions: list[Action] = [protocol(), metadata()]
    for low in (1, 10):
        action = log.data(f"f{low}.parquet", ids(low, low + 1))
        del action["add"]["stats"]
        bounds = {"numRecords": 2, "minValues": {"id": low}, "maxValues": {"id": low + 1}, "nullCount": {"id": 0}}
        actions.append({"add": action["add"] | {"stats_parsed": bounds}})
    log.put(f"{0:020}.checkpoint.parquet", parquet(checkpoint_rows(actions, parsed)))
    log.commit(log.data("tail.parquet", ids(20), stats={"numRecords": 1, "minValues": {"id": 20}, "maxValues": {"id": 20}}))
    table = log.open()
    assert table.files().select(["path", "records", "min", "max"]).to_pylist() == [
        {"path": "f1.parquet", "records": 2, "min": {"id": 1}, "max": {"id": 2}},
        {"path": "f10.parquet", "records": 2, "min": {"id": 10}, "max": {"id": 11}},
        {"path": "tail.parquet", "records": 1, "min": {"id": 20}, "max": {"id": 20}},
    ]
    assert table.to_arrow(where="id = 10")["id"].to_pylist() == [10]
    log.storage.delete("f1.parquet")
    assert log.open().to_arrow(where="id > 9")["id"].to_pylist() == [10, 11, 20]


def test_a_vector_of_nothing_but_null_in_a_checkpoint_is_no_vector() -> None:
    log = Log()
    nothing = {"storageType": None, "pathOrInlineDv": None, "offset": None, "sizeInBytes": None, "cardinality": None}
    log.checkpoint(0, [protocol("deletionVectors"), metadata(), add("a", dv=nothing)])
    assert log.snapshot().files.table.column("deletionVector").null_count == 1
    log.commit(remove("a"), version=1)
    assert log.paths() == []


def test_actions_of_a_checkpoint_in_a_commit_take_no_part() -> None:
    """ "v2 checkpoint spec actions are not allowed in normal commit files, and do not participate in log replay"."""
    log = Log().start(ID, add("a"))
    log.commit({"sidecar": {"path": "x", "sizeInBytes": 1}}, {"checkpointMetadata": {"version": 1}})
    assert log.paths() == ["a"]


def test_a_domain_of_a_checkpoint_is_taken_out_by_a_later_tombstone() -> None:
    """ "Snapshot reads do _not_ return removed `domainMetadata` actions"  (PROTOCOL.md, "Action Reconciliation")"""
    log = Log()
    classic(log)
    log.commit({"domainMetadata": {"domain": "d", "configuration": "", "removed": True}}, version=2)
    log.commit({"txn": {"appId": "app", "version": 9}}, {"txn": {"appId": "other", "version": 1}}, version=3)
    assert log.snapshot().domains == {}
    assert {name: txn.version for name, txn in log.snapshot().txns.items()} == {"app": 9, "other": 1}
    assert isinstance(log.open(), esker.Table)

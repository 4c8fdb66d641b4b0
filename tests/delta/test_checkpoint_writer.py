"""Checkpoints as they are written.  (PROTOCOL.md, "Checkpoints", "Checkpoint Schema", "Last Checkpoint File")"""

from contextlib import suppress
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Decimal, Field, Struct
from esker.delta import checkpoint_writer
from esker.delta.actions import DomainMetadata, Txn
from esker.delta.checkpoint import json_checksum, parse_last_checkpoint
from esker.delta.checkpoint_writer import write_checkpoint
from esker.delta.checksum import differences
from esker.delta.log import Checkpoint
from esker.delta.snapshot import Place, Snapshot, list_log, load
from esker.errors import EskerError, Unsupported
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from esker.testing.faults import Died, Dying, LostReply, Rival, Wrapping
from tests.delta.clocked import DAY
from tests.delta.committed import a_file, a_vector, appended, changed, created, gone, reopened, unsound
from tests.delta.histories import FEATURES, STEPS, live_files, state
from tests.delta.tables import ID, Log, add

NOW = 1_800_000_000_000
NEVER = {"delta__checkpointInterval": "1000"}
V2: dict[str, Any] = {"features": ["v2Checkpoint"], "delta__checkpointPolicy": "v2"}
HINT = "_delta_log/_last_checkpoint"


def checkpointed(table: Snapshot, now: int = NOW) -> Snapshot:
    """The same version read from a checkpoint alone: all commits are gone."""
    write_checkpoint(table, now)
    for commit in list_log(table.place.storage).commits.values():
        table.place.storage.delete(commit.file.path)
    alone = reopened(table)
    assert (alone.log.checkpoint is not None, alone.log.entries) == (True, ())
    return alone


def columns(storage: Storage, checkpoint: Checkpoint) -> pa.Table:
    (file,) = checkpoint.files
    return pq.read_table(pa.BufferReader(storage.read(file.path)))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), max_size=12),
    st.sampled_from(["classic", "v2"]),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["true", "false"]),
    st.sampled_from([1, 3, 50_000]),
)
def test_a_table_read_from_a_checkpoint_alone_is_the_one_read_from_its_commits(
    steps: list[tuple[Any, int]], policy: str, as_json: str, as_struct: str, together: int
) -> None:
    """ "A checkpoint contains the complete replay of all actions, up to and including the checkpointed table version" """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_writer, "ROWS_TOGETHER", together)
        table = created(features=FEATURES, delta__checkpointPolicy=policy, delta__checkpoint__writeStatsAsJson=as_json,
                        delta__checkpoint__writeStatsAsStruct=as_struct, **NEVER)  # fmt: skip
        for step, pick in steps:
            table = step(table, live_files(table), pick)
        alone = _same_alone(table, has_stats="true" in (as_json, as_struct))
        # and once more, from a checkpoint to a checkpoint
        _same_alone(reopened(appended(alone, "z")), has_stats="true" in (as_json, as_struct))


def _same_alone(table: Snapshot, has_stats: bool) -> Snapshot:
    before = state(table)
    alone = checkpointed(table)
    assert differences(alone) == ()
    # "For any logical file where `deletionVector` is not `null`, the `numRecords` statistic *must* be present"
    kept = {path: told if has_stats or before["adds"][path].deletion_vector else None for path, told in before["stats"].items()}
    assert state(alone) == before | {"stats": kept}
    return alone


MANY = Struct(
    (
        Field("b", t.BYTE), Field("l", t.LONG), Field("f", t.DOUBLE), Field("s", t.STRING), Field("bin", t.BINARY),
        Field("d", t.DATE), Field("ts", t.TIMESTAMP), Field("ntz", t.TIMESTAMP_NTZ), Field("dec", Decimal(10, 2)),
        Field("bool", t.BOOLEAN), Field("in", Struct((Field("x", t.INTEGER),))), Field("p", t.INTEGER), Field("q", t.DATE),
    )
)  # fmt: skip
STATS = {
    "numRecords": 3, "tightBounds": True,
    "minValues": {"b": -1, "l": -(2**62), "f": -0.5, "s": "a", "d": "2020-01-01", "ts": "2020-01-01T00:00:00.000Z",
                  "ntz": "2020-01-01T00:00:00.000", "dec": 1.25, "in": {"x": 1}},
    "maxValues": {"b": 1, "l": 2**62, "f": 0.5, "s": "z", "d": "2021-01-01", "ts": "2021-01-01T00:00:00.000Z",
                  "ntz": "2021-01-01T00:00:00.000", "dec": 99.5, "in": {"x": 2}},
    "nullCount": {"b": 0, "l": 1, "f": 0, "s": 0, "bin": 2, "d": 0, "ts": 0, "ntz": 0, "dec": 0, "bool": 1, "in": {"x": 0}},
}  # fmt: skip


def wide(**settings: Any) -> Snapshot:
    """A table of many types, partitioned by two columns."""
    table = created(None, MANY, features=["timestampNtz"], partition_by=["p", "q"], **NEVER, **settings)
    fields: dict[str, Any] = {"stats": orjson.dumps(STATS).decode(), "tags": {"k": "v", "n": None}}
    return changed(table, adds=(
        a_file("a", partition_values={"p": "7", "q": "2020-02-02"}, clustering_provider="liquid", **fields),
        a_file("b", partition_values={"p": None, "q": None}, stats=None),
    ))  # fmt: skip


def test_statistics_and_partition_values_are_kept_as_columns_of_their_own_types() -> None:
    """ "partitionValues_parsed: In this struct, the column names correspond to the partition columns and the values are stored
    in their corresponding data type"; `stats_parsed` with `nullCount` (C4)."""
    table = wide()
    adds = columns(table.place.storage, write_checkpoint(table, NOW)).column("add").combine_chunks().drop_null()
    kept = adds.type.field("partitionValues_parsed").type
    assert kept == pa.struct([("p", pa.int32()), ("q", pa.date32())])
    parsed = adds.type.field("stats_parsed").type
    low = parsed.field("minValues").type
    assert {f.name: f.type for f in low} == {
        "b": pa.int8(), "l": pa.int64(), "f": pa.float64(), "s": pa.string(), "d": pa.date32(), "dec": pa.decimal128(10, 2),
        "ts": pa.timestamp("us", "UTC"), "ntz": pa.timestamp("us"), "in": pa.struct([("x", pa.int32())]),
    }  # fmt: skip
    assert parsed.field("nullCount").type.get_field_index("bin") >= 0
    first, second = adds.to_pylist()
    assert first["stats_parsed"]["maxValues"]["l"] == 2**62
    assert first["stats_parsed"]["numRecords"] == 3
    assert str(first["partitionValues_parsed"]["q"]) == "2020-02-02"
    assert second["stats_parsed"] is None
    assert second["partitionValues_parsed"] == {"p": None, "q": None}
    assert dict(first["tags"]) == {"k": "v", "n": None}
    assert dict(first["partitionValues"]) == {"p": "7", "q": "2020-02-02"}
    assert (first["clusteringProvider"], first["dataChange"]) == ("liquid", False)


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("as_struct", [True, False])
def test_each_form_of_statistics_is_there_where_the_table_asks_for_it(as_json: bool, as_struct: bool) -> None:
    """ "When this property is set to `false`, this field should be omitted from the checkpoint." """
    table = wide(delta__checkpoint__writeStatsAsJson=str(as_json), delta__checkpoint__writeStatsAsStruct=str(as_struct))
    add_type = columns(table.place.storage, write_checkpoint(table, NOW)).schema.field("add").type
    found = [add_type.get_field_index(name) >= 0 for name in ("stats", "stats_parsed", "partitionValues_parsed")]
    assert found == [as_json, as_struct, as_struct]


def test_statistics_survive_as_columns_alone() -> None:
    table = wide(delta__checkpoint__writeStatsAsJson="false")
    before = state(table)["stats"]["a"]
    after = state(checkpointed(table))["stats"]["a"]
    assert {**before, "minValues": None, "maxValues": None} == {**after, "minValues": None, "maxValues": None}
    for bounds in ("minValues", "maxValues"):
        assert after[bounds].keys() == before[bounds].keys()
        assert after[bounds]["l"] == before[bounds]["l"]


def test_every_action_has_a_column_and_every_row_is_one_action() -> None:
    """ "Each row in the checkpoint corresponds to a single action"; "Checkpoints must not preserve commit provenance information nor
    change data actions."  (Checkpoints)"""
    table = changed(appended(created(features=FEATURES, **NEVER), "a", "b"), "DELETE", removes=gone([a_file("a")]),
                    txns=(Txn("app", 1, 5),), domains=(DomainMetadata("d", "{}"),))  # fmt: skip
    rows = columns(table.place.storage, write_checkpoint(table, NOW))
    assert rows.column_names == ["protocol", "metaData", "txn", "domainMetadata", "add", "remove"]
    for row in rows.to_pylist():
        assert sum(value is not None for value in row.values()) == 1
    assert [rows.num_rows - column.null_count for column in rows.columns] == [1] * 6
    removed = rows.column("remove").drop_null().combine_chunks()
    # "the `remove` struct does not contain the `stats` and `tags` fields"
    assert {f.name for f in removed.type} & {"stats", "tags"} == set()
    assert removed.to_pylist()[0]["deletionTimestamp"] == NOW
    assert removed.to_pylist()[0]["extendedFileMetadata"] is True


@pytest.mark.parametrize("age, is_kept", [(0, True), (6, True), (8, False)])
def test_a_tombstone_is_kept_until_it_expires(age: int, is_kept: bool) -> None:
    """ "Files that were recently removed and have not yet expired" """
    table = changed(appended(created(**NEVER), "a"), "DELETE", removes=gone([a_file("a")]))
    write_checkpoint(table, NOW + age * DAY)
    assert bool(state(reopened(table))["removes"]) is is_kept
    assert live_files(table) == []


def test_an_application_is_forgotten_when_the_table_says_so() -> None:
    expiring = {"delta__setTransactionRetentionDuration": "interval 1 days"}
    progress = (Txn("old", 1, NOW - 2 * DAY), Txn("young", 2, NOW), Txn("timeless", 3))
    for settings_, kept in (({}, {"old", "young", "timeless"}), (expiring, {"young", "timeless"})):
        table = changed(created(**NEVER, **settings_), txns=progress)
        assert set(checkpointed(table).txns) == kept


def test_a_domain_that_was_removed_is_not_in_a_checkpoint() -> None:
    """ "checkpoints must not contain them"  (C9)"""
    table = changed(created(features=FEATURES, **NEVER), domains=(DomainMetadata("a", "1"), DomainMetadata("b", "2")))
    table = changed(table, domains=(DomainMetadata("a", "", removed=True),))
    domains = columns(table.place.storage, write_checkpoint(table, NOW)).column("domainMetadata").drop_null()
    assert domains.to_pylist() == [{"domain": "b", "configuration": "2", "removed": False}]


def test_a_v2_checkpoint_names_its_sidecars_and_says_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Each v2 spec checkpoint includes exactly one Checkpoint Metadata action."; its tags (2.4)."""
    monkeypatch.setattr(checkpoint_writer, "ROWS_TOGETHER", 2)
    table = appended(created(**V2, **NEVER), "a", "b", "c")
    checkpoint = write_checkpoint(table, NOW)
    rows = columns(table.place.storage, checkpoint)
    assert checkpoint.files[0].path.startswith(f"_delta_log/{1:020}.checkpoint.")
    # "Having partial add and remove file actions in V2 Checkpoint and partial entries in sidecar files is not allowed."
    assert all(rows.column(kind).null_count == rows.num_rows for kind in ("add", "remove"))
    # "all actions except add and remove file must be part of the v2 spec checkpoint itself"
    assert all(rows.num_rows - rows.column(kind).null_count == 1 for kind in ("protocol", "metaData"))
    (about,) = rows.column("checkpointMetadata").drop_null().to_pylist()
    sidecars = rows.column("sidecar").drop_null().to_pylist()
    sizes = {file.path: file.size for file in table.place.storage.list("_delta_log/_sidecars")}
    assert {f"_delta_log/_sidecars/{s['path']}": s["sizeInBytes"] for s in sidecars} == sizes
    assert about["version"] == 1
    assert dict(about["tags"]) == {
        "sidecarNumActions": "3", "sidecarSizeInBytes": str(sum(sizes.values())), "numOfAddFiles": "3",
    }  # fmt: skip
    hint = orjson.loads(table.place.storage.read(HINT))
    assert [s["path"] for s in hint["v2Checkpoint"]["sidecarFiles"]] == [s["path"] for s in sidecars]
    assert reopened(table).checkpoint_is_v2


def test_without_the_feature_the_policy_alone_makes_no_v2_checkpoint() -> None:
    """ "A UUID-named v2 Checkpoint should only be created by clients if the v2 checkpoint table feature is enabled." """
    table = appended(created(delta__checkpointPolicy="v2", **NEVER), "a")
    assert write_checkpoint(table, NOW).files[0].path == f"_delta_log/{1:020}.checkpoint.parquet"


@pytest.mark.parametrize("settings_", [{}, V2], ids=["classic", "v2"])
def test_the_hint_says_what_the_checkpoint_holds_and_its_checksum_is_confirmed(settings_: dict[str, Any]) -> None:
    """PROTOCOL.md, "Last Checkpoint File Schema", "JSON checksum"."""
    table = appended(created(**settings_, **NEVER), "a", "b")
    checkpoint = write_checkpoint(table, NOW)
    data = table.place.storage.read(HINT)
    hint = orjson.loads(data)
    extra = 2 if settings_ else 0  # the checkpoint's own metadata, and a sidecar
    assert (hint["version"], hint["size"], hint["numOfAddFiles"]) == (1, 4 + extra, 2)
    assert hint["sizeInBytes"] == sum(f.size for f in table.place.storage.list("_delta_log") if "checkpoint." in f.path or "_sidecars" in f.path)
    assert hint["checksum"] == json_checksum(hint)
    assert parse_last_checkpoint(data).version == 1
    assert reopened(table).hint.problem is None
    assert reopened(table).log.checkpoint == load(table.place).log.checkpoint
    assert checkpoint.version == 1


def test_the_hint_never_moves_back() -> None:
    table = appended(appended(created(**NEVER), "a"), "b")
    write_checkpoint(table, NOW)
    write_checkpoint(reopened(table, 1), NOW)
    assert orjson.loads(table.place.storage.read(HINT))["version"] == 2
    table.place.storage.put(HINT, b"rubbish")
    write_checkpoint(reopened(table, 0), NOW)
    assert orjson.loads(table.place.storage.read(HINT))["version"] == 0
    assert reopened(table).version == 2


def test_a_checkpoint_that_is_there_is_never_replaced() -> None:
    table = appended(created(**NEVER), "a")
    first = write_checkpoint(table, NOW)
    assert write_checkpoint(reopened(table), NOW) == reopened(table).log.checkpoint
    before = table.place.storage.read(first.files[0].path)
    # a handle that knows nothing of it meets it when it writes
    assert write_checkpoint(table, NOW + 100 * DAY).files[0].path == first.files[0].path
    assert table.place.storage.read(first.files[0].path) == before


@pytest.mark.parametrize("settings_", [{}, V2], ids=["classic", "v2"])
def test_of_two_writers_of_a_checkpoint_both_are_content(settings_: dict[str, Any]) -> None:
    inner = MemoryStorage(f"memory://rival-checkpoint-{len(settings_)}/table")
    table = appended(created(inner, **settings_, **NEVER), "a")
    rival = Rival(inner, lambda: write_checkpoint(table, NOW), "_delta_log/*checkpoint*.parquet")
    mine = write_checkpoint(load(Place(rival)), NOW)
    assert rival.acted
    assert mine.version == 1
    assert inner.head(mine.files[0].path).size == mine.files[0].size
    assert state(reopened(table)) == state(table)
    assert len(list_log(inner).checkpoints[1]) == (2 if settings_ else 1)


@pytest.mark.parametrize("settings_", [{}, V2], ids=["classic", "v2"])
def test_a_reply_that_was_lost_spoils_no_checkpoint(settings_: dict[str, Any]) -> None:
    inner = MemoryStorage(f"memory://lost-checkpoint-{len(settings_)}/table")
    table = appended(created(inner, **settings_, **NEVER), "a")
    for nth in (1, 2):
        storage = LostReply(inner, "_delta_log/*.parquet", nth)
        try:
            write_checkpoint(load(Place(storage)), NOW)
        except EskerError:
            assert state(reopened(table)) == state(table)
    write_checkpoint(table, NOW)
    assert state(reopened(table)) == state(table)


def test_a_table_that_cannot_be_written_gets_no_checkpoint() -> None:
    """ "do not create a checkpoint for a version < V unless all features of the protocol *at that version* are supported" """
    log = Log().start(ID, add("a"), features=["unheardOf"])
    with pytest.raises(Unsupported):
        write_checkpoint(log.snapshot(), NOW)


def test_files_with_vectors_and_row_ids_keep_them() -> None:
    table = created(features=["deletionVectors", "rowTracking", "domainMetadata"], **NEVER)
    table = changed(table, adds=(a_file("a", deletion_vector=a_vector(1, 3)), a_file("b")))
    before = state(table)
    assert (before["adds"]["b"].base_row_id, before["adds"]["a"].deletion_vector.cardinality) == (5, 2)
    assert state(checkpointed(table)) == before


def test_the_handle_writes_a_checkpoint_and_reads_from_it() -> None:
    log = Log().start(ID, add("a"))
    log.commit(add("b"))
    table = log.open()
    assert table.checkpoint() is table
    for version in (0, 1):
        log.storage.delete(f"_delta_log/{version:020}.json")
    assert table.files().column("path").to_pylist() == log.paths() == ["a", "b"]


# When checkpoints are due.


@pytest.mark.parametrize("interval, expected", [(None, [10, 20]), ("4", [4, 8, 12, 16, 20]), ("1", [*range(1, 22)])])
def test_a_checkpoint_is_written_as_often_as_the_table_says(interval: str | None, expected: list[int]) -> None:
    table = created(**({} if interval is None else {"delta__checkpointInterval": interval}))
    for _ in range(21):
        table = appended(table, f"f{table.version}")
    assert sorted(list_log(table.place.storage).checkpoints) == expected
    assert len(table.log.entries) == len(reopened(table).log.entries)
    assert state(table) == state(reopened(table))
    assert unsound(table) == []


class Failing(Wrapping):
    """Refuses whatever is not about commits."""

    def around(self, verb: str, path: str, call: Any) -> Any:
        if not path.endswith(".json") and verb != "list":
            raise EskerError("no", where=path)
        return call()


def test_what_follows_a_commit_may_fail_without_failing_it(caplog: pytest.LogCaptureFixture) -> None:
    inner = MemoryStorage("memory://failing/table")
    table = created(Failing(inner), delta__checkpointInterval="2")
    for _ in range(5):
        table = appended(table, f"f{table.version}")
    assert table.version == 5
    assert [file.path for file in inner.list("_delta_log") if not file.path.endswith(".json")] == []
    assert "version 2 was committed, but its checkpoint failed" in caplog.text
    assert "version 1 was committed, but its checksum file failed" in caplog.text
    later = appended(load(Place(inner)), "later")
    assert len(live_files(later)) == 6
    assert later.log.checkpoint is not None


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("settings_", [{}, V2], ids=["classic", "v2"])
def test_a_writer_that_dies_at_any_call_leaves_a_table_that_reads_and_goes_on(settings_: dict[str, Any], after: bool) -> None:
    call = 0
    while True:
        call += 1
        inner = MemoryStorage(f"memory://dying-{len(settings_)}-{after}-{call}/table")
        table = appended(created(inner, **settings_, delta__checkpointInterval="2"), "a")
        storage = Dying(inner, call, after=after)
        with suppress(Died):
            appended(load(Place(storage)), "b")
        if not storage.has_died:
            break
        left = load(Place(inner))
        assert {add.path for add in live_files(left)} == ({"a", "b"} if left.version == 2 else {"a"})
        table = appended(appended(left, "c"), "d")
        assert {add.path for add in live_files(table)} >= {"a", "c", "d"}
        assert [found for found in unsound(table) if found != "there is none"] == []
    assert call > 5


def test_the_number_of_rows_stays_beside_a_vector_where_no_statistics_are_asked_for() -> None:
    """Per-file Statistics: "For any logical file where `deletionVector` is not `null`, the `numRecords` statistic *must* be present"."""
    silent = {"delta__checkpoint__writeStatsAsJson": "false", "delta__checkpoint__writeStatsAsStruct": "false"}
    table = created(features=["deletionVectors"], **silent, **NEVER)
    told = '{"numRecords":3}'
    table = changed(table, adds=(a_file("a", stats=told, deletion_vector=a_vector(1)), a_file("b", stats=told)))
    adds = columns(table.place.storage, write_checkpoint(table, NOW)).column("add").combine_chunks().drop_null().to_pylist()
    assert {body["path"]: body["stats"] for body in adds} == {"a": told, "b": None}

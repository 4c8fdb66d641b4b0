"""What takes a table back to an earlier version.  (PROTOCOL.md, "Add File and Remove File", "Protocol Evolution")"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta.actions import action_json, parse_metadata
from esker.delta.live_adds import live_adds
from esker.delta.protocol import is_upgrade
from esker.delta.restore import Restoration, restoring
from esker.errors import InvalidRequest, Unsupported
from tests.delta.tables import ID, Action, Log, add, ids, inline, metadata, protocol, remove
from tests.delta.test_vacuum import vector

NOW = 1_700_000_000_000


def restored(log: Log, version: int, **options: Any) -> Restoration:
    return restoring(log.snapshot(), log.snapshot(version), NOW, **options)


def commit(log: Log, found: Restoration) -> None:
    log.commit(
        *(
            dict(action_json(action))
            for action in (found.protocol, found.metadata, *found.domains, *found.removes, *found.adds)
        )
    )


def paths(actions: tuple[Any, ...]) -> list[str]:
    return sorted(action.path for action in actions)


def three_files() -> Log:
    log = Log().start()
    log.commit(log.data("a", ids(1)), log.data("b", ids(2, 3)))
    log.commit(remove("a"), log.data("c", ids(4, 5, 6)))
    return log


def test_files_come_back_and_go_and_those_that_both_have_are_not_named() -> None:
    log = three_files()
    found = restored(log, 1)
    assert paths(found.adds) == ["a"]
    assert paths(found.removes) == ["c"]
    assert all(action.data_change for action in (*found.adds, *found.removes))
    assert [action.deletion_timestamp for action in found.removes] == [NOW]
    commit(log, found)
    assert sorted(log.open().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_what_comes_back_says_all_that_it_said() -> None:
    log = Log().start(features=["deletionVectors"])
    log.storage.put("a", b"x")
    body = add("a", stats={"numRecords": 5}, dv=inline(1), dataChange=False, size=9, clusteringProvider="liquid", baseRowId=7,
               defaultRowCommitVersion=1)  # fmt: skip
    log.commit(body)
    log.commit(remove("a", dv=inline(1)))
    (came,) = restored(log, 1).adds
    assert action_json(came) == {"add": body["add"] | {"dataChange": True}}


def test_what_goes_is_buried_with_all_that_it_said() -> None:
    log = Log().start()
    log.commit(add("a", stats={"numRecords": 5}, size=9, baseRowId=7, defaultRowCommitVersion=1))
    (gone,) = restored(log, 0).removes
    assert action_json(gone)["remove"] == {
        "path": "a", "deletionTimestamp": NOW, "dataChange": True, "extendedFileMetadata": True, "partitionValues": {},
        "size": 9, "stats": '{"numRecords": 5}', "baseRowId": 7, "defaultRowCommitVersion": 1,
    }  # fmt: skip


def test_a_file_with_another_vector_is_another_file() -> None:
    """ "The primary key for the entry of a logical file in the set of files is a tuple of the data file's `path` and a unique id
    describing the DV."  (Add File and Remove File)"""
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a", ids(1, 2, 3)))
    log.commit(remove("a"), add("a", dv=inline(0), stats={"numRecords": 3}))
    log.commit(remove("a", dv=inline(0)), add("a", dv=inline(0, 1), stats={"numRecords": 3}))
    found = restored(log, 2)
    assert [action.identity[0] for action in (*found.adds, *found.removes)] == ["a", "a"]
    assert [v.cardinality for v in (found.adds[0].deletion_vector, found.removes[0].deletion_vector) if v] == [1, 2]
    commit(log, found)
    assert log.open().to_arrow()["id"].to_pylist() == [2, 3]
    commit(log, restored(log, 1))
    assert log.open().to_arrow()["id"].to_pylist() == [1, 2, 3]


def test_the_history_is_told_what_happened() -> None:
    log = three_files()
    sizes = {a.path: a.size for version in (1, 2) for a in live_adds(log.snapshot(version))}
    assert restored(log, 1).metrics == {
        "tableSizeAfterRestore": sizes["a"] + sizes["b"], "numOfFilesAfterRestore": 2, "numRemovedFiles": 1,
        "numRestoredFiles": 1, "removedFilesSize": sizes["c"], "restoredFilesSize": sizes["a"],
    }  # fmt: skip


@pytest.mark.parametrize("lost", ["data", "vector"])
def test_files_that_are_no_longer_there_are_refused_by_name_or_left_out(lost: str) -> None:
    log = Log().start(features=["deletionVectors"])
    (kept, kept_dv), (gone, gone_dv) = vector(1), vector(2, "ab")
    for path in ("x%20y", "b", kept, gone):
        log.storage.put(path, b"x")
    log.commit(add("x%2520y", dv=gone_dv, size=5), add("b", dv=kept_dv, size=7), add("c", dv=inline(1), size=1))
    log.commit(remove("x%2520y", dv=gone_dv), remove("b", dv=kept_dv))
    log.storage.delete("x%20y" if lost == "data" else gone)
    with pytest.raises(InvalidRequest, match="1 of its files") as refused:
        restored(log, 1)
    assert refused.value.problems == (f"{log.url}/{'x%20y' if lost == 'data' else gone}",)
    found = restored(log, 1, ignore_missing=True)
    assert paths(found.adds) == ["b"]
    assert found.metrics["numOfFilesAfterRestore"] == 2
    assert found.metrics["tableSizeAfterRestore"] == 8
    assert found.metrics["restoredFilesSize"] == 7


def test_files_that_stay_are_not_looked_for() -> None:
    log = Log().start()
    log.commit(add("nowhere"))
    log.commit(add("elsewhere"))
    assert paths(restored(log, 1).removes) == ["elsewhere"]


@pytest.mark.parametrize("version", [1, 2])
def test_only_an_earlier_version_can_be_restored(version: int) -> None:
    log = three_files()
    with pytest.raises(InvalidRequest, match="no earlier version"):
        restoring(log.snapshot(1), log.snapshot(version), NOW)
    with pytest.raises(InvalidRequest, match="no earlier version"):
        restoring(log.snapshot(2), three_files().snapshot(1), NOW)


def test_the_metadata_is_that_of_the_earlier_version() -> None:
    wide = Struct((*ID.fields, Field("name", t.STRING)))
    log = Log().start(ID, delta__appendOnly="false", other="x")
    log.commit(metadata(wide, delta__enableChangeDataFeed="true"))
    found = restored(log, 0).metadata
    assert found == log.snapshot(0).metadata


LISTED = protocol("appendOnly", "invariants", "deletionVectors", "columnMapping")


@pytest.mark.parametrize(
    "before, after",
    [
        (protocol(), protocol("deletionVectors")), (protocol("deletionVectors", "changeDataFeed"), protocol("columnMapping")),
        (protocol(writer=4), protocol()), (protocol(), protocol(writer=4)), (protocol(reader=2, writer=5), LISTED),
    ],
)  # fmt: skip
def test_the_protocol_is_never_lowered(before: Action, after: Action) -> None:
    """Readers of the versions in between need what they needed."""
    log = Log()
    log.commit(before, metadata())
    log.commit(after)
    found = restored(log, 0).protocol
    assert is_upgrade(log.snapshot(0).protocol, found)
    assert is_upgrade(log.snapshot(1).protocol, found)


@pytest.mark.parametrize("before, after", [(protocol(), protocol()), (protocol(), LISTED), (LISTED, LISTED)])
def test_a_protocol_that_is_enough_stays_as_it_is_written(before: Action, after: Action) -> None:
    log = Log()
    log.commit(before, metadata())
    log.commit(after)
    assert restored(log, 0).protocol == log.snapshot().protocol


def test_a_table_that_may_not_be_written_or_a_version_that_may_not_be_read_is_refused() -> None:
    log = Log().start()
    log.commit(protocol("fromTheFuture"))
    with pytest.raises(Unsupported, match="fromTheFuture"):
        restored(log, 0)
    log = Log().start(features=["unheardOf"])
    log.commit(protocol())
    with pytest.raises(Unsupported, match="unheardOf"):
        restored(log, 0)


def test_properties_that_speak_of_the_log_are_not_taken_back() -> None:
    log = Log()
    stamp = {"commitInfo": {"inCommitTimestamp": 5}}
    log.commit(
        protocol("inCommitTimestamp", "checkpointProtection"),
        metadata(x="1", delta__requireCheckpointProtectionBeforeVersion="1"),
    )
    now = {"delta__enableInCommitTimestamps": "true", "delta__inCommitTimestampEnablementVersion": "1",
           "delta__inCommitTimestampEnablementTimestamp": "5"}  # fmt: skip
    log.commit(stamp, metadata(x="2", **now))
    configuration = restored(log, 0).metadata.configuration
    assert configuration == {"x": "1"} | {key.replace("__", "."): value for key, value in now.items()}


def identity(mark: int | None, step: int = 1) -> Struct:
    about: Any = {"delta.identity.start": 1, "delta.identity.step": step, "delta.identity.allowExplicitInsert": False}
    return Struct(
        (Field("id", t.LONG, metadata=about if mark is None else about | {"delta.identity.highWaterMark": mark}),)
    )


@pytest.mark.parametrize(
    "before, after, step, expected", [(5, 9, 1, 9), (9, 5, 1, 9), (None, 9, 1, 9), (5, None, 1, 5), (-5, -9, -1, -9)]
)
def test_numbers_that_were_given_out_are_not_given_out_again(
    before: int | None, after: int | None, step: int, expected: int
) -> None:
    """ "delta.identity.highWaterMark [...] the highest value generated for this identity column" (Identity Columns)"""
    log = Log().start(identity(before, step), features=["identityColumns"])
    log.commit(metadata(identity(after, step)))
    found = restored(log, 0).metadata
    assert found.schema.fields[0].metadata["delta.identity.highWaterMark"] == expected
    assert parse_metadata(dict(action_json(found))["metaData"], "x").schema == found.schema  # type: ignore[arg-type]


def test_column_ids_that_were_given_out_are_not_given_out_again() -> None:
    """ "`delta.columnMapping.maxColumnId` only grows" """
    names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-id"}
    schema = Struct((Field("id", t.LONG, metadata=names),))
    mapped = {"delta__columnMapping__mode": "name", "delta__columnMapping__maxColumnId": "1"}
    log = Log().start(schema, features=["columnMapping"], **mapped)
    log.commit(metadata(schema, **mapped | {"delta__columnMapping__maxColumnId": "7"}))
    assert restored(log, 0).metadata.configuration["delta.columnMapping.maxColumnId"] == "7"


def domain(columns: str) -> Action:
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": columns, "removed": False}}


BY_ID, BY_DAY, BY_NOTHING = (f'{{"clusteringColumns":{columns}}}' for columns in ('[["id"]]', '[["day"]]', "[]"))


@pytest.mark.parametrize(
    "before, after, expected",
    [
        (None, None, None), (BY_ID, None, None), (BY_ID, BY_ID, None), (BY_ID, BY_DAY, BY_ID), (None, BY_DAY, BY_NOTHING),
    ],
)  # fmt: skip
def test_clustering_goes_back_and_other_domains_stay(
    before: str | None, after: str | None, expected: str | None
) -> None:
    log = Log().start(features=["domainMetadata", "clustering"])
    log.commit(
        *([] if before is None else [domain(before)]), {"domainMetadata": {"domain": "mine", "configuration": "1"}}
    )
    log.commit(
        *([] if after is None else [domain(after)]), {"domainMetadata": {"domain": "mine", "configuration": "2"}}
    )
    assert [d.configuration for d in restored(log, 1).domains] == ([] if expected is None else [expected])


def test_files_that_lost_their_row_ids_are_not_restored_into_a_table_that_tracks_rows() -> None:
    tracked = {"delta__enableRowTracking": "true"}
    log = Log().start(features=["rowTracking", "domainMetadata"], **tracked)
    log.storage.put("b", b"x")
    log.commit(add("a", baseRowId=0, defaultRowCommitVersion=1), add("b", baseRowId=1, defaultRowCommitVersion=1))
    log.commit(remove("b"))
    assert [a.base_row_id for a in restored(log, 1).adds] == [1]
    log.commit(metadata(), add("a"))
    with pytest.raises(Unsupported, match="row ids"):
        restored(log, 1)


STEPS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from([None, 1, 2, 3])), max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 12))
def test_whatever_happened_in_between_the_files_are_those_of_the_earlier_version(
    steps: list[tuple[str, int | None]], pick: int
) -> None:
    """Each step adds a file, gives it another vector, or takes it out; afterwards one of the versions is restored."""
    log = Log().start(features=["deletionVectors"])
    live: dict[str, Action | None] = {}
    for name, rows in steps:
        log.storage.put(name, b"x")
        gone = [remove(name, dv=live.pop(name))] if name in live else []
        dv = None if rows is None else inline(*range(rows))
        if not gone or rows is not None:
            live[name] = dv
            came = [add(name, dv=dv, stats={"numRecords": 9})]
        else:
            came = []
        same = bool(gone and came) and gone[0]["remove"].get("deletionVector") == dv
        log.commit(*([] if same else gone), *came)
    log.commit()
    version = pick % log.version
    wanted = {a.identity for a in live_adds(log.snapshot(version))}
    commit(log, restored(log, version))
    assert {a.identity for a in live_adds(log.snapshot())} == wanted

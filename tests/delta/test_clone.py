"""Tables that begin with the files of another.  (PROTOCOL.md, "Add File and Remove File")"""

from pathlib import Path
from typing import Any

import pytest

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta.actions import action_json
from esker.delta.clone import Clone, cloning
from esker.delta.snapshot import Place, load
from esker.errors import InvalidRequest, Unsupported
from esker.storage.local import LocalStorage
from tests.delta.tables import ID, Action, Log, add, ids, inline, metadata, protocol, remove
from tests.delta.test_deletion_vectors import BODY, GOOD, NAME

NOW = 1_700_000_000_000
ELSEWHERE = "memory://elsewhere/clone"
NAMES = ["a b.parquet", "a%20b.parquet", "ü😀.parquet", "p=x%2Fy/f.parquet", "a+b&c.parquet", "a:b.parquet", "a:/b.parquet",
         "a#b?c.parquet", "[x]{y}*.parquet"]  # fmt: skip


def cloned(log: Log, target: str = ELSEWHERE, **place: Any) -> Clone:
    return cloning(load(Place(log.storage, **place)), target, NOW)


def committed(found: Clone, log: Log) -> Log:
    log.commit(*(dict(action_json(action)) for action in (found.protocol, found.metadata, *found.domains, *found.adds)))
    return log


@pytest.mark.parametrize("name", NAMES)
def test_the_clone_reads_the_sources_files_whatever_they_are_called(name: str, tmp_path: Path) -> None:
    """ "an absolute path to a file that should be added to the table. The path is a URI as specified by RFC 2396" """
    for source in (Log(), Log(LocalStorage(str(tmp_path / "my #1 table%20")))):
        source.start()
        action = source.data(name, ids(1, 2))
        uri = name.replace("%", "%25").replace(" ", "%20").replace("#", "%23").replace("?", "%3F")
        action["add"]["path"] = uri.replace("a:/", "a%3A/")
        source.commit(action)
        clone = committed(cloned(source), Log())
        assert clone.open().to_arrow()["id"].to_pylist() == [1, 2]
        (path,) = clone.paths()
        assert path.startswith(("memory://", "file:///"))
        assert path.isascii()
        assert " " not in path


def test_files_that_the_source_names_by_absolute_uris_keep_their_place(tmp_path: Path) -> None:
    first = Log(LocalStorage(str(tmp_path / "first"))).start()
    first.commit(first.data("a%20b.parquet", ids(1)))
    second = Log().start()
    second.commit(add(f"file:{tmp_path}/first/a%2520b.parquet"))
    assert [a.path for a in cloned(second).adds] == [f"file://{tmp_path}/first/a%2520b.parquet"]


def test_files_that_have_moved_are_named_where_they_are() -> None:
    log = Log().start()
    log.commit(add("s3://bucket/lake/a%20b.parquet"))
    (found,) = cloned(log, moves={"s3://bucket/lake": "memory://there/x y"}).adds
    assert found.path == "memory://there/x%20y/a%20b.parquet"


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_vectors_in_files_are_named_by_absolute_paths_and_inline_ones_stay(prefix: str) -> None:
    """ "If `storageType = 'p'` then `<absolute path>`"  (Deletion Vector Descriptor Schema)"""
    source = Log().start(features=["deletionVectors"])
    path = f"{prefix}/{NAME}" if prefix else NAME
    source.storage.put(path, BODY)
    dv = GOOD | {"pathOrInlineDv": prefix + GOOD["pathOrInlineDv"]}
    source.commit(
        source.data("a.parquet", ids(1, 2, 3), dv=dv), source.data("b.parquet", ids(4, 5), dv=inline(1)),
        source.data("c.parquet", ids(6)),
    )  # fmt: skip
    found = cloned(source)
    first, second, third = (a.deletion_vector for a in found.adds)
    assert first is not None
    assert (first.storage_type, first.path_or_inline) == ("p", f"{source.url}/{path}")
    assert (first.offset, first.size, first.cardinality) == (dv["offset"], dv["sizeInBytes"], dv["cardinality"])
    assert second is not None
    assert second.storage_type == "i"
    assert third is None
    kept = source.open().to_arrow()["id"].to_pylist()
    assert committed(found, Log()).open().to_arrow()["id"].to_pylist() == kept == [2, 4, 6]


def test_a_clone_of_a_clone_names_the_vectors_of_the_first() -> None:
    source = Log().start(features=["deletionVectors"])
    source.storage.put(NAME, BODY)
    source.commit(source.data("a.parquet", ids(1, 2, 3), dv=GOOD))
    first = committed(cloned(source), Log())
    second = committed(cloned(first), Log())
    assert second.paths() == first.paths()
    assert second.open().to_arrow()["id"].to_pylist() == [2]


def test_what_is_known_of_the_files_is_copied_but_for_their_row_ids() -> None:
    schema = Struct((Field("id", t.LONG), Field("p", t.STRING)))
    source = Log().start(schema, partition_by=["p"])
    body = add("p=x/a", partition={"p": "x"}, stats={"numRecords": 3}, size=9, modificationTime=8, dataChange=False, baseRowId=5,
               defaultRowCommitVersion=1, clusteringProvider="liquid")  # fmt: skip
    source.commit(body)
    (found,) = cloned(source).adds
    expected = body["add"] | {"path": f"{source.url}/p=x/a", "dataChange": True}
    del expected["baseRowId"], expected["defaultRowCommitVersion"]
    assert action_json(found) == {"add": expected}


def test_the_clone_is_another_table_with_the_same_schema_and_properties() -> None:
    source = Log().start(ID, id="the-source", delta__appendOnly="true", mine="x")
    found = cloned(source).metadata
    assert found.id not in ("the-source", cloned(source).metadata.id)
    assert (found.schema, dict(found.configuration)) == (ID, {"delta.appendOnly": "true", "mine": "x"})
    assert (found.name, found.description, found.created_time) == (None, None, NOW)


def test_properties_that_speak_of_the_sources_own_commits_are_left_out() -> None:
    """ "If the table has commits from a period when this feature was not enabled" a clone has none.  (In-Commit Timestamps)"""
    since = {"delta__enableInCommitTimestamps": "true", "delta__inCommitTimestampEnablementVersion": "3",
             "delta__inCommitTimestampEnablementTimestamp": "5",
             "delta__requireCheckpointProtectionBeforeVersion": "2"}  # fmt: skip
    source = Log().start(ID, features=["inCommitTimestamp", "checkpointProtection"], **since)
    assert dict(cloned(source).metadata.configuration) == {"delta.enableInCommitTimestamps": "true"}


def test_the_columns_that_keep_row_ids_are_called_otherwise_in_the_clone() -> None:
    names = {"delta__rowTracking__materializedRowIdColumnName": "_row-id-col-1",
             "delta__rowTracking__materializedRowCommitVersionColumnName": "_row-commit-version-col-1"}  # fmt: skip
    source = Log().start(ID, features=["rowTracking", "domainMetadata"], delta__enableRowTracking="true", **names)
    found = cloned(source).metadata.configuration
    for key, old in names.items():
        fresh = found[key.replace("__", ".")]
        assert fresh != old
        assert fresh.startswith(old[:-1])


def test_the_protocol_is_the_sources() -> None:
    source = Log().start(features=["deletionVectors", "changeDataFeed"])
    assert cloned(source).protocol == source.snapshot().protocol


def test_clustering_is_copied_and_other_domains_are_not() -> None:
    source = Log().start(features=["domainMetadata", "clustering"])
    by_id: Action = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    source.commit({"domainMetadata": by_id}, {"domainMetadata": {"domain": "mine", "configuration": "1"}},
                  {"domainMetadata": {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":7}'}})  # fmt: skip
    assert [action_json(d) for d in cloned(source).domains] == [{"domainMetadata": by_id}]


def test_the_history_is_told_what_was_cloned() -> None:
    source = Log().start()
    source.commit(add("a", size=5), add("b", size=7), add("c", size=9))
    source.commit(remove("c"))
    assert cloned(source).metrics == {
        "sourceTableSize": 12, "sourceNumOfFiles": 2, "numRemovedFiles": 0, "numCopiedFiles": 0, "removedFilesSize": 0,
        "copiedFilesSize": 0,
    }  # fmt: skip


@pytest.mark.parametrize("target", ["{}", "{}/", "{}/clone", "{}/../"])
def test_a_clone_does_not_lie_in_its_source_nor_around_it(target: str) -> None:
    log = Log().start()
    place = log.url.rsplit("/", 1)[0] if target == "{}/../" else target.format(log.url)
    with pytest.raises(InvalidRequest):
        cloned(log, place)
    assert cloned(log, f"{log.url}2").adds == ()


@pytest.mark.parametrize("feature", ["unheardOf", "fromTheFuture"])
def test_a_source_that_may_not_be_read_or_a_clone_that_may_not_be_written_is_refused(feature: str) -> None:
    log = Log()
    log.commit(protocol(feature), metadata())
    with pytest.raises(Unsupported, match=feature):
        cloned(log)

"""What does OPTIMIZE make of a table, and what does it leave alone?  (PROTOCOL.md, "Add File and Remove File", "Clustered Table")"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

import esker
from esker.core.arrange import Curved, Layout, Packed
from esker.core.curve import CurveKind
from esker.delta.cluster_by import cluster_by
from esker.delta.clustering import PROVIDER
from esker.delta.rearrange import optimize, plan_optimize, purge
from esker.delta.reclustering import CLUSTER, COLUMNS
from esker.delta.snapshot import Place, Snapshot, load
from esker.errors import Conflict, InvalidRequest, InvalidTable
from esker.storage import open_storage
from esker.testing.builders import DeltaTableBuilder, column, metadata, protocol
from esker.testing.faults import Rival
from tests.delta.arranging import ArrowArranger, LosingArranger

SCHEMA = "id bigint, v double, p string"


def rows(*ids: int, p: str = "x") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([i / 2 for i in ids]), "p": [p] * len(ids)})


def table(path: Path, *parts: pa.Table, **options: Any) -> esker.Table:
    made = esker.create(path, SCHEMA, **options)
    for part in parts or (rows(1, 2), rows(3), rows(4, 5, 6)):
        made.append(part)
    return made


def snapshot(path: Path, version: int | None = None) -> Snapshot:
    return load(Place(open_storage(path)), version)


def commit_of(path: Path, version: int) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in (path / "_delta_log" / f"{version:020}.json").read_bytes().splitlines():
        for kind, body in orjson.loads(line).items():
            found.setdefault(kind, []).append(body)
    return found


def test_small_files_become_one_and_no_row_changes(tmp_path):
    before = table(tmp_path).to_arrow().sort_by("id")
    done = optimize(snapshot(tmp_path), Layout(), ArrowArranger())
    assert done.version == 4
    assert len(done.files) == 1
    assert esker.open(tmp_path).to_arrow().sort_by("id").equals(before)


def test_whatever_is_rearranged_is_marked_as_no_change_of_data(tmp_path):
    """ "The `dataChange` flag on either an `add` or a `remove` can be set to `false` to indicate that an action when combined with
    other actions in the same atomic version only rearranges existing data"  (Add File and Remove File)"""
    table(tmp_path, properties={"delta.enableChangeDataFeed": "true"})
    optimize(snapshot(tmp_path), Layout(), ArrowArranger())
    actions = commit_of(tmp_path, 4)
    assert {action["dataChange"] for kind in ("add", "remove") for action in actions[kind]} == {False}
    assert len(actions["remove"]) == 3
    assert "cdc" not in actions
    assert esker.open(tmp_path).changes(from_version=4).to_arrow().num_rows == 0


def test_new_statistics_are_exact(tmp_path):
    made = table(tmp_path, properties={"delta.enableDeletionVectors": "true"})
    del made
    optimize(snapshot(tmp_path), Layout(), ArrowArranger())
    stats = orjson.loads(commit_of(tmp_path, 4)["add"][0]["stats"])
    assert stats["numRecords"] == 6
    assert (stats["minValues"]["id"], stats["maxValues"]["id"]) == (1, 6)
    assert stats["tightBounds"] is True


def test_the_history_speaks_as_other_writers_do(tmp_path):
    table(tmp_path, rows(1, p="x"), rows(2, p="x"), rows(3, p="y"), partition_by=["p"])
    optimize(snapshot(tmp_path), Layout("p = 'x'"), ArrowArranger())
    info = commit_of(tmp_path, 4)["commitInfo"][0]
    assert info["operation"] == "OPTIMIZE"
    assert info["operationParameters"] == {
        "predicate": '["p = \'x\'"]', "zOrderBy": "[]", "clusterBy": "[]", "auto": "false",
    }  # fmt: skip
    added, removed = commit_of(tmp_path, 4)["add"], commit_of(tmp_path, 4)["remove"]
    size = str(added[0]["size"])
    assert info["operationMetrics"] == {
        "numAddedFiles": "1", "numRemovedFiles": "2", "numAddedBytes": size,
        "numRemovedBytes": str(sum(file["size"] for file in removed)), "minFileSize": size, "p25FileSize": size,
        "p50FileSize": size, "p75FileSize": size, "maxFileSize": size, "numDeletionVectorsRemoved": "0",
    }  # fmt: skip
    assert info["isolationLevel"] == "SnapshotIsolation"


def test_where_there_is_nothing_to_gain_no_version_is_made(tmp_path):
    table(tmp_path, rows(1), rows(2, p="y"), partition_by=["p"])
    arranger = ArrowArranger()
    for done in (
        optimize(snapshot(tmp_path), Layout(), arranger),
        optimize(snapshot(tmp_path), Layout("p = 'z'", z_order_by=("id",)), arranger),
        purge(snapshot(tmp_path), None, arranger),
    ):
        assert done.version == 2
    assert not arranger.asked


def test_a_plan_tells_the_files_and_does_nothing(tmp_path):
    made = table(tmp_path, rows(1, p="x"), rows(2, p="x"), rows(3, p="y"), partition_by=["p"])
    plan = made.optimize(dry_run=True)
    files = [file for file in made.files().to_pylist() if file["partition"]["p"] == "x"]
    assert sorted(plan.files) == sorted(file["path"] for file in files)
    assert (plan.size, plan.pieces, plan.version) == (sum(file["size"] for file in files), 1, 3)
    assert esker.open(tmp_path).version == 3


@pytest.mark.parametrize(
    "target, pieces", [(None, 1), (1, 0), (2_500, 1), (1 << 30, 1)]
)  # the files have about 1,000 bytes each
def test_files_are_packed_to_the_target(tmp_path, target, pieces):
    made = table(tmp_path)
    assert made.optimize(target_size=target, dry_run=True).pieces == pieces


def test_the_table_itself_may_say_how_large_files_should_be(tmp_path):
    made = table(tmp_path, properties={"delta.targetFileSize": "1b"})
    assert made.optimize(dry_run=True).files == ()


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"partition_by": ["p"]}, {"where": "id = 1"}, "id is no partition column"),
    ({"partition_by": ["p"]}, {"where": "p = 'x' and v > 1"}, "v is no partition column"),
    ({"partition_by": ["p"]}, {"where": "upper(p) = 'X'"}, "cannot be told of a partition's values"),
    ({}, {"where": "p = 'x'"}, "p is no partition column"),
    ({"partition_by": ["p"]}, {"z_order_by": ["p"]}, "p is a partition column"),
    ({}, {"z_order_by": ["nothing"]}, "nothing is no simple column of the table"),
    ({}, {"z_order_by": ["id", "ID"]}, "id is named twice"),
    ({"properties": {"delta.dataSkippingStatsColumns": "v"}}, {"z_order_by": ["id"]}, "id has no statistics"),
    ({}, {"full": True}, "full is for clustered tables"),
    ({"cluster_by": ["id"]}, {"z_order_by": ["v"]}, "the table is clustered"),
    ({"cluster_by": ["id"]}, {"where": "id = 1"}, "id is no partition column"),
    ({}, {"target_size": 0}, "files of 0 bytes"),
]


@pytest.mark.parametrize("options, wish, told", REFUSED)
def test_what_cannot_be_asked_is_refused(tmp_path, options, wish, told):
    table(tmp_path, **options)
    layout = Layout(wish.get("where"), tuple(wish.get("z_order_by", ())), wish.get("full", False), wish.get("target_size"))
    with pytest.raises(InvalidRequest, match=told):
        optimize(snapshot(tmp_path), layout, ArrowArranger())


def test_rows_that_got_lost_on_the_way_are_noticed_and_nothing_is_left(tmp_path):
    table(tmp_path)
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidTable, match="6 rows had to be written, and 5 were"):
        optimize(snapshot(tmp_path), Layout(), LosingArranger())
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert esker.open(tmp_path).version == 3


def test_a_table_to_which_rows_can_only_be_added_is_optimized_too(tmp_path):
    """ "New log entries may rearrange data (i.e. `add` and `remove` actions where `dataChange=false`)."  (Append-only Tables)"""
    table(tmp_path, properties={"delta.appendOnly": "true"})
    assert optimize(snapshot(tmp_path), Layout(), ArrowArranger()).version == 4


def with_vectors(path: Path) -> Snapshot:
    """A table of two files with deletion vectors, one of which leaves no row, and one without."""
    made = DeltaTableBuilder(path)
    made.commit(
        {"protocol": protocol(3, 7, readers=["deletionVectors"])},
        {"metaData": metadata([column("id", "long")])},
        *({"add": made.write_data(pa.table({"id": pa.array(ids, pa.int64())})) | vector} for ids, vector in (
            (range(10), {"deletionVector": made.write_deletion_vector([3])}),
            (range(10, 12), {"deletionVector": made.write_deletion_vector([0, 1])}),
            (range(12, 20), {}),
        )),
    )  # fmt: skip
    return snapshot(path)


def test_a_purge_leaves_no_deletion_vector_and_touches_no_other_file(tmp_path):
    before = with_vectors(tmp_path)
    done = purge(before, None, ArrowArranger())
    files = done.files.table
    assert files.column("deletionVector").null_count == len(done.files) == 2
    assert set(files.column("path").to_pylist()) & set(before.files.table.column("path").to_pylist())
    assert sorted(esker.open(tmp_path).to_arrow()["id"].to_pylist()) == [0, 1, 2, *range(4, 10), *range(12, 20)]
    info = commit_of(tmp_path, 1)["commitInfo"][0]
    assert (info["operation"], info["operationParameters"]) == ("REORG", {"predicate": "[]", "applyPurge": "true"})
    assert info["operationMetrics"]["numDeletionVectorsRemoved"] == "2"


Act = Callable[[Path], object]
RIVALS: list[tuple[str, Act, str | None]] = [
    ("an append", lambda path: esker.open(path).append(rows(9)), None),
    ("an append elsewhere that is clustered later", lambda path: esker.open(path).append(rows(9, p="y")), None),
    ("an overwrite", lambda path: esker.open(path).overwrite(rows(9)), "removed or changed files"),
    ("another optimize", lambda path: optimize(snapshot(path), Layout(), ArrowArranger()), "removed or changed files"),
    ("other columns", lambda path: cluster_by(snapshot(path), ["id"]), "changed the protocol"),
]


@pytest.mark.parametrize("isolation", ["Serializable", "WriteSerializable"])
@pytest.mark.parametrize("act, told", [rival[1:] for rival in RIVALS], ids=[rival[0] for rival in RIVALS])
def test_only_a_rival_that_touches_the_same_files_conflicts(tmp_path, act, told, isolation):
    table(tmp_path, properties={"delta.isolationLevel": isolation})
    storage = Rival(open_storage(tmp_path), lambda: act(tmp_path), "_delta_log/*.json")
    read_at = load(Place(storage))
    files = set(tmp_path.rglob("*.parquet"))
    if told is None:
        done = optimize(read_at, Layout(), ArrowArranger())
        assert done.version == 5
        assert sorted(esker.open(tmp_path).to_arrow()["id"].to_pylist()) == [1, 2, 3, 4, 5, 6, 9]
    else:
        with pytest.raises(Conflict, match=told):
            optimize(read_at, Layout(), ArrowArranger())
        assert load(Place(open_storage(tmp_path))).version == 4
        live = {tmp_path / path for path in snapshot(tmp_path).files.table.column("path").to_pylist()}
        assert set(tmp_path.rglob("*.parquet")) == files | live
    assert storage.acted


def test_a_deletion_by_vector_of_a_row_that_is_being_moved_conflicts(tmp_path):
    made = with_vectors(tmp_path)

    def rival() -> None:
        file = next(iter(commit_of(tmp_path, 0)["add"]))
        builder = DeltaTableBuilder(tmp_path)
        builder.version = 0
        old = {name: file[name] for name in ("path", "deletionVector", "partitionValues", "size")}
        fresh = {**file, "deletionVector": builder.write_deletion_vector([3, 4])}
        builder.commit({"remove": {**old, "deletionTimestamp": 1, "dataChange": True}}, {"add": fresh})

    storage = Rival(open_storage(tmp_path), rival, "_delta_log/*.json")
    with pytest.raises(Conflict, match="removed or changed files"):
        purge(load(Place(storage)), None, ArrowArranger())
    assert made.version == 0


def clustered(path: Path, *parts: pa.Table, **options: Any) -> esker.Table:
    return table(path, *parts, cluster_by=["id", "v"], **options)


def test_a_clustered_table_is_laid_along_a_hilbert_curve_and_its_files_say_who_did_it(tmp_path):
    """ "When a clustering implementation clusters files, writers must set the name of the clustering implementation in the
    `clusteringProvider` field when adding `add` actions for clustered files."  (Clustered Table)"""
    clustered(tmp_path)
    arranger = ArrowArranger()
    optimize(snapshot(tmp_path), Layout(), arranger)
    assert arranger.asked[0].order == Curved(CurveKind.HILBERT, (("id",), ("v",)))
    actions = commit_of(tmp_path, 4)
    assert {add["clusteringProvider"] for add in actions["add"]} == {PROVIDER}
    assert {add["tags"][COLUMNS] for add in actions["add"]} == {'[["id"],["v"]]'}
    assert actions["commitInfo"][0]["operationParameters"]["clusterBy"] == '["id","v"]'


def test_clustering_goes_on_where_it_ended(tmp_path):
    made = clustered(tmp_path)
    arranger = ArrowArranger()
    first = optimize(snapshot(tmp_path), Layout(), arranger)
    assert optimize(first, Layout(), arranger).version == 4
    made.at().append(rows(7))
    large = next(iter(commit_of(tmp_path, 4)["add"]))["path"]
    optimize(snapshot(tmp_path), Layout(), arranger)
    assert [len(what.plan) for what in arranger.asked] == [3, 1]
    assert large in snapshot(tmp_path).files.table.column("path").to_pylist()
    optimize(snapshot(tmp_path), Layout(is_full=True), arranger)
    assert [len(what.plan) for what in arranger.asked] == [3, 1, 2]
    parameters = commit_of(tmp_path, 7)["commitInfo"][0]["operationParameters"]
    assert parameters["isFull"] == "true"
    assert len({add["tags"][CLUSTER] for add in commit_of(tmp_path, 7)["add"]}) == 1


def test_a_table_clustered_by_nothing_is_packed(tmp_path):
    clustered(tmp_path)
    cluster_by(snapshot(tmp_path), [])
    arranger = ArrowArranger()
    optimize(snapshot(tmp_path), Layout(), arranger)
    assert isinstance(arranger.asked[0].order, Packed)
    assert "clusteringProvider" not in commit_of(tmp_path, 5)["add"][0]


def test_the_clustering_columns_of_a_table_can_be_changed_and_given_up(tmp_path):
    """ "Writers must track clustering column names in a `domainMetadata` action with `delta.clustering` as the `domain`" """
    made = table(tmp_path)
    assert made.cluster_by("v", "ID").version == 4
    actions = commit_of(tmp_path, 4)
    assert set(actions["protocol"][0]["writerFeatures"]) >= {"clustering", "domainMetadata"}
    assert orjson.loads(actions["domainMetadata"][0]["configuration"]) == {"clusteringColumns": [["v"], ["id"]]}
    assert actions["commitInfo"][0]["operation"] == "CLUSTER BY"
    assert actions["commitInfo"][0]["operationParameters"] == {"oldClusteringColumns": "", "newClusteringColumns": "v,id"}
    assert made.cluster_by("v", "id").version == 4
    assert made.cluster_by().version == 5
    assert orjson.loads(commit_of(tmp_path, 5)["domainMetadata"][0]["configuration"]) == {"clusteringColumns": []}
    assert commit_of(tmp_path, 5)["commitInfo"][0]["operationParameters"]["oldClusteringColumns"] == "v,id"
    assert made.cluster_by().version == 5


def test_a_table_is_not_partitioned_and_clustered_at_once(tmp_path):
    """ "Writers must not define clustered and partitioned table at the same time." """
    made = table(tmp_path, partition_by=["p"])
    with pytest.raises(InvalidRequest, match="both clustered and partitioned"):
        made.cluster_by("id")


def test_a_column_of_which_files_have_no_statistics_does_not_become_a_clustering_column(tmp_path):
    """ "If a new column is included in the clustering columns list, it is required for all table files to have statistics for
    these added columns." """
    made = table(tmp_path, properties={"delta.dataSkippingStatsColumns": "id"})
    with pytest.raises(InvalidRequest, match="3 of 3 files have none of v"):
        made.cluster_by("v")
    assert made.cluster_by("id").version == 4


def test_clustering_columns_get_statistics_whatever_the_table_says_of_statistics(tmp_path):
    """ "Writers must write out per-file statistics and per-column statistics for clustering columns in `add` action." """
    clustered(tmp_path, properties={"delta.dataSkippingStatsColumns": "p"})
    optimize(snapshot(tmp_path), Layout(), ArrowArranger())
    for version in (1, 4):
        for add in commit_of(tmp_path, version)["add"]:
            assert set(orjson.loads(add["stats"])["minValues"]) == {"id", "v", "p"}


def test_of_two_writers_that_change_the_clustering_columns_one_conflicts(tmp_path):
    clustered(tmp_path)
    storage = Rival(open_storage(tmp_path), lambda: cluster_by(snapshot(tmp_path), ["v"]), "_delta_log/*.json")
    with pytest.raises(Conflict, match="wrote the same domain metadata"):
        cluster_by(load(Place(storage)), ["id"])
    assert storage.acted


def test_a_plan_needs_no_rows(tmp_path):
    table(tmp_path)
    arranger = ArrowArranger()
    assert len(plan_optimize(snapshot(tmp_path), Layout(z_order_by=("id",)), arranger).files) == 3
    assert not arranger.asked

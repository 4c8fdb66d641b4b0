"""Does the demo show what it says?"""

import pytest
from deltalake import DeltaTable

import esker
from esker.cli.demo import FILTER, files_left
from esker.core.types import Struct

WITHOUT_SPARK = (
    "Create a table", "What it asks of its clients", "Append", "Change the schema", "Read a part", "Take it back",
    "Its history", "Travel in time", "Vacuum", "Delta, Iceberg, Lance",
)  # fmt: skip
ON_SPARK = ("Merge", "Delete", "Follow the changes", "Optimize")


def chapters(said: str) -> set[str]:
    return {line.removeprefix("== ") for line in said.splitlines() if line.startswith("== ")}


def test_the_demo_without_spark_shows_whatever_needs_none(esker_):
    said = esker_("demo", "--engine", "arrow").stdout
    assert chapters(said) == set(WITHOUT_SPARK)
    assert "2 of 18 files were read" in said
    assert "the table has no column tip" in said
    assert "3 files, " in said  # what the overwrite left behind, after the restore
    assert "[2, 2, 2]" in said  # the same rows of all three formats
    assert "[[], [], []]" in said  # and none of them breaks its specification


def test_the_table_can_be_kept(esker_, tmp_path):
    esker_("demo", "--engine", "arrow", "--keep", tmp_path / "here")
    table = esker.open(tmp_path / "here" / "rides")
    assert table.version == 12
    assert table.to_arrow(["id"]).num_rows == 36_000
    assert "already" in esker_("demo", "--engine", "arrow", "--keep", tmp_path / "here", code=2).stderr


def test_without_java_the_demo_says_what_is_left_out_and_shows_the_rest(esker_, monkeypatch):
    monkeypatch.setattr("esker.session", _no_java)
    said = esker_("demo").stdout
    assert "left out. Spark needs Java 17" in said
    assert chapters(said) == {*WITHOUT_SPARK, "On Spark"}
    assert "That was Esker" in said


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_shows_the_whole_pipeline(esker_, tmp_path, spark):
    said = esker_("demo", "--keep", tmp_path).stdout
    assert chapters(said) == {*WITHOUT_SPARK, *ON_SPARK, "On Spark"}
    for word in ("numTargetRowsInserted", "update_postimage", "OPTIMIZE", "were deleted"):
        assert word in said
    table = esker.open(tmp_path / "rides")
    assert table.to_arrow(["id"], where="duration <= 2").num_rows == 0
    assert table.to_arrow(["id"], where="id >= 100000").num_rows == 25
    assert table.files().num_rows == 3
    assert table.verify() == ()


@pytest.mark.spark
def test_spark_scans_as_many_files_as_the_demo_says(rides, spark):
    frame = esker.open(rides).to_df(spark).where(FILTER)
    frame._jdf.collectToPython()
    assert sum(_scanned(frame._jdf.queryExecution().executedPlan())) == files_left(rides, FILTER)[0]


@pytest.mark.peers
def test_another_implementation_reads_the_table_that_the_builder_made(rides):
    """What the builder writes by hand is a Delta table to others too."""
    other = DeltaTable(rides)
    assert other.version() == 9
    assert len(other.file_uris()) == 18


def _no_java(*_: object, **__: object) -> Struct:
    raise esker.Unsupported("Spark needs Java 17 or newer, and no Java was found")


def _scanned(plan: object) -> list[int]:
    """How many files each scan of a physical plan read, by Spark's own metric."""
    found = [plan.metrics().apply("numFiles").value()] if plan.metrics().contains("numFiles") else []
    if plan.nodeName().startswith("AdaptiveSparkPlan"):
        return [*found, *_scanned(plan.executedPlan())]
    children = plan.children()
    return [*found, *(n for i in range(children.size()) for n in _scanned(children.apply(i)))]

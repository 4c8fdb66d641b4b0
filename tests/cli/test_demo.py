"""Does the demo show what it says?"""

import pytest
from deltalake import DeltaTable

import esker
from esker.cli.demo import FILTER, files_left
from esker.core.types import Struct


def test_the_demo_without_spark_shows_every_chapter(esker_):
    said = esker_("demo", "--engine", "arrow").stdout
    for chapter in ("Open a table", "What it asks", "Its history", "Travel in time", "Read a part", "Follow the changes"):
        assert f"== {chapter}" in said
    assert "2 of 18 files were read" in said
    assert "update_postimage" in said


def test_the_table_can_be_kept(esker_, tmp_path):
    esker_("demo", "--engine", "arrow", "--keep", tmp_path / "here")
    assert esker.open(tmp_path / "here" / "rides").version == 9
    assert "already" in esker_("demo", "--engine", "arrow", "--keep", tmp_path / "here", code=2).stderr


def test_without_java_the_demo_says_what_to_install_and_shows_the_rest(esker_, monkeypatch):
    monkeypatch.setattr("esker.session", _no_java)
    said = esker_("demo").stdout
    assert "Spark needs Java 17" in said
    assert "2 of 18 files were read" in said
    assert "That was Esker" in said


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_counts_the_rides_on_spark(esker_, spark):
    assert "71960" in esker_("demo").stdout


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

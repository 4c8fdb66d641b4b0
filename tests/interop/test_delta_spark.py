"""Does Esker read what delta-spark writes as delta-spark reads it?

Delta's own Spark library plays each scenario once, in an environment of its own; each test compares one way to look at its table.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker
from esker.core.features import Presence
from tests.interop.delta_spark_scenarios import SCENARIOS, Scenario
from tests.interop.peer import DeltaSpark
from tests.interop.rows import READERS, by_arrow, by_spark, content, in_one_spelling

pytestmark = pytest.mark.peers

each = pytest.mark.parametrize("scenario", [pytest.param(s, id=s.name) for s in SCENARIOS])


class Lake:
    """What delta-spark leaves behind, and what it says. A scenario is played when it is first asked for."""

    def __init__(self, folder: Path, delta_spark: DeltaSpark):
        self.folder = folder
        self._delta_spark = delta_spark
        self._reports: dict[str, dict[str, Any]] = {}

    def table(self, scenario: Scenario) -> esker.Table:
        self.entry(scenario)
        return esker.open(self.folder / scenario.name / "table")

    def entry(self, scenario: Scenario) -> dict[str, Any]:
        """What delta-spark says of the table; fails where it did not get through the scenario."""
        if scenario.name not in self._reports:
            look = {"versions": None, "row_ids": scenario.row_ids, "changes_from": scenario.changes_from, "by_time": scenario.by_time,
                    "checksums": []}  # fmt: skip
            job = {"name": scenario.name, "folder": str(self.folder / scenario.name), "look": look}
            [self._reports[scenario.name]] = self._delta_spark.reports([job])
        entry = self._reports[scenario.name]
        assert not any(entry["errors"]), entry["errors"]
        return entry

    def versions(self, scenario: Scenario) -> list[int]:
        return [version for version, _, _ in self.entry(scenario)["history"]]

    def rows(self, scenario: Scenario, version: int) -> pa.Table:
        return pq.read_table(self.folder / scenario.name / "rows" / f"{version}.parquet")

    def changes(self, scenario: Scenario) -> pa.Table:
        return pq.read_table(self.folder / scenario.name / "changes.parquet")


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory, delta_spark: DeltaSpark) -> Lake:
    return Lake(tmp_path_factory.mktemp("scenarios"), delta_spark)


@each
def test_each_version_has_the_rows_that_delta_spark_reads(scenario: Scenario, lake: Lake) -> None:
    table = lake.table(scenario)
    for version in lake.versions(scenario):
        wanted = lake.rows(scenario, version)
        assert _rows(by_arrow, table.at(version), wanted) == _wanted(table.at(version), wanted), version
    assert ("row_commit_version" in wanted.column_names) == scenario.row_ids


@each
@pytest.mark.parametrize("relation", READERS[1:])
def test_the_newest_version_has_the_same_rows_through_spark(
    scenario: Scenario, relation: str, lake: Lake, spark: Any
) -> None:
    table = lake.table(scenario)
    wanted = lake.rows(scenario, table.version)
    assert _rows(by_spark(spark, relation), table, wanted) == _wanted(table, wanted)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("scenario", [pytest.param(s, id=s.name) for s in SCENARIOS if s.changes_from is not None])
def test_the_changes_are_those_that_delta_spark_reads(
    scenario: Scenario, reader: str, lake: Lake, request: pytest.FixtureRequest
) -> None:
    changes = lake.table(scenario).changes(scenario.changes_from)
    found = changes.to_arrow() if reader == "arrow" else by_spark(request.getfixturevalue("spark"), reader)(changes)
    assert content(found) == content(lake.changes(scenario))


@each
def test_the_history_has_the_versions_operations_and_times_that_delta_spark_tells(scenario: Scenario, lake: Lake) -> None:
    history = lake.table(scenario).history().sort_by("version").select(["version", "operation", "timestamp"])
    found = [[v, operation, round(at.timestamp() * 1000)] for v, operation, at in zip(*history.to_pydict().values(), strict=True)]
    assert found == lake.entry(scenario)["history"]


@each
def test_the_features_of_a_scenario_are_in_use(scenario: Scenario, lake: Lake) -> None:
    found = {presence.name: presence for presence in lake.table(scenario).features()}
    present = {name for name, presence in found.items() if presence.presence >= Presence.SUPPORTED}
    assert present == set(lake.entry(scenario)["features"])
    for name in scenario.features:
        # what only files outside of the snapshot could prove is known to be active
        least = Presence.ACTIVE if found[name].in_use is None else Presence.IN_USE
        assert found[name].presence >= least, name


@pytest.mark.parametrize("scenario", [pytest.param(s, id=s.name) for s in SCENARIOS if s.leaves])
def test_the_log_holds_what_the_scenario_is_about(scenario: Scenario, lake: Lake) -> None:
    lake.entry(scenario)
    log = lake.folder / scenario.name / "table" / "_delta_log"
    missing = [pattern for pattern in scenario.leaves if not any(log.glob(pattern))]
    assert not missing, sorted(str(file.relative_to(log)) for file in log.rglob("*"))


@each
def test_the_state_is_what_the_checksum_files_say(scenario: Scenario, lake: Lake) -> None:
    table = lake.table(scenario)
    versions = [v for v in lake.versions(scenario) if _checksum(lake, scenario, v).exists()]
    assert versions, "delta-spark left no checksum file"
    assert {v: table.at(v).verify() for v in versions} == dict.fromkeys(versions, ())


@pytest.mark.parametrize("scenario", [pytest.param(s, id=s.name) for s in SCENARIOS if s.by_time])
def test_a_moment_finds_the_version_that_delta_spark_finds(scenario: Scenario, lake: Lake) -> None:
    table = lake.table(scenario)
    wanted = lake.entry(scenario)["moments"]
    moments = [datetime.fromtimestamp(at / 1000, UTC) for at, _ in wanted]
    assert [table.at(timestamp=moment).to_arrow().num_rows for moment in moments] == [rows for _, rows in wanted]


def _rows(read: Any, table: esker.Table, wanted: pa.Table) -> dict[str, list[Any]]:
    """The table's rows by one of the readers, with row ids where delta-spark gave them."""
    ids = ["row_id", "row_commit_version"] if "row_commit_version" in wanted.column_names else []
    found = read(table, ["*", *(f"_{name}" for name in ids)])
    return content(in_one_spelling(found.rename_columns(wanted.column_names) if ids else found, _variants(table)))


def _wanted(table: esker.Table, wanted: pa.Table) -> dict[str, list[Any]]:
    return content(in_one_spelling(wanted, _variants(table)))


def _variants(table: esker.Table) -> list[str]:
    return [field.name for field in table.schema if "variant" in str(field.type)]


def _checksum(lake: Lake, scenario: Scenario, version: int) -> Path:
    return lake.folder / scenario.name / "table" / "_delta_log" / f"{version:020}.crc"

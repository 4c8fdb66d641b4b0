"""Can a client that does not know a feature use the table once the feature was dropped?

Both ways: tables that delta-spark made and Esker freed of a feature, for clients that never heard of it; and tables that Esker made
and delta-spark freed of it.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as TheirTable
from deltalake import write_deltalake

import esker
from esker.check.model import Severity
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor
from tests.interop.peer import DeltaSpark
from tests.interop.rows import content
from tests.interop.strict import strict_rows

pytestmark = pytest.mark.peers

LOOK = {"versions": None, "row_ids": False, "changes_from": None, "by_time": False, "checksums": []}


def create(properties: str = "", type: str = "BIGINT", partition: str = "") -> str:
    stated = f" TBLPROPERTIES ({properties})" if properties else ""
    return f"CREATE TABLE {{t}} (id {type}, name STRING) USING delta{partition}{stated}"


def insert(first: int, last: int, type: str = "BIGINT") -> str:
    return f"INSERT INTO {{t}} SELECT CAST(id AS {type}), concat('n', id) FROM range({first}, {last})"


def set_property(name: str, text: str = "true") -> str:
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = '{text}')"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids]})


Made = Callable[[Path], esker.Table]


def made(properties: dict[str, str] | None = None, features: tuple[str, ...] = (), **more: Any) -> Made:
    def make(path: Path) -> esker.Table:
        table = esker.create(path, "id bigint, name string", properties=properties or {}, features=features, **more)
        return table.append(rows(1, 2, 3)).append(rows(4, 5, 6))

    return make


def edited(path: Path, where: str) -> esker.Table:
    delta = DeltaTable(load(Place(open_storage(str(path)))))
    delta.delete(where, ArrowEditor())
    return esker.open(path)


def marked(path: Path) -> esker.Table:
    made({"delta.enableDeletionVectors": "true"})(path)
    return edited(path, "id = 2 OR id = 5")


def renamed(path: Path) -> esker.Table:
    table = made({"delta.columnMapping.mode": "name"})(path)
    return table.rename_column("name", "title").append(rows(7).rename_columns(["id", "title"]))


def widened(path: Path) -> esker.Table:
    table = esker.create(path, "id int, name string", properties={"delta.enableTypeWidening": "true"})
    table.append(rows(1, 2).set_column(0, "id", pa.array([1, 2], pa.int32())))
    return table.change_type("id", "bigint").append(rows(2**40))


def checkpointed(path: Path) -> esker.Table:
    return made({"delta.checkpointPolicy": "v2"})(path).checkpoint().append(rows(7))


def constrained(path: Path) -> esker.Table:
    table = made()(path)
    DeltaTable(load(Place(open_storage(str(path))))).add_constraint("small", "id < 1000", ArrowEditor())
    return table.at().drop_constraint("small")


@dataclass(frozen=True)
class Case:
    """A feature: how delta-spark makes a table that uses it, and how Esker does; and what else goes with it."""

    steps: tuple[Any, ...]
    ours: Made
    names: tuple[str, ...] = ()


CASES: dict[str, Case] = {
    "deletionVectors": Case(
        (create("'delta.enableDeletionVectors' = 'true'"), insert(0, 40), "DELETE FROM {t} WHERE id % 3 = 0"), marked
    ),
    "columnMapping": Case(
        (
            create(partition=" PARTITIONED BY (name)"), insert(0, 6), set_property("delta.columnMapping.mode", "name"),
            "ALTER TABLE {t} ADD COLUMN (more INT)", "ALTER TABLE {t} RENAME COLUMN name TO title",
            "ALTER TABLE {t} DROP COLUMN more", insert(6, 9),
        ),
        renamed,
    ),
    "typeWidening": Case(
        (
            create("'delta.enableTypeWidening' = 'true'", "INT"), insert(0, 6, "INT"),
            "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", insert(6, 9),
        ),
        widened,
    ),
    "rowTracking": Case(
        (create("'delta.enableRowTracking' = 'true'"), insert(0, 9), "UPDATE {t} SET name = 'x' WHERE id = 4"),
        made({"delta.enableRowTracking": "true"}),
        ("rowTracking", "domainMetadata"),
    ),
    "v2Checkpoint": Case(
        (create("'delta.checkpointPolicy' = 'v2'"), insert(0, 9), ["checkpoint"], insert(9, 12)), checkpointed
    ),
    "vacuumProtocolCheck": Case(
        (create("'delta.feature.vacuumProtocolCheck' = 'supported'"), insert(0, 9)), made(features=("vacuumProtocolCheck",))
    ),
    "inCommitTimestamp": Case(
        (create(), insert(0, 9), set_property("delta.enableInCommitTimestamps"), insert(9, 12)),
        made({"delta.enableInCommitTimestamps": "true"}),
    ),
    "checkConstraints": Case(
        (
            create(), insert(0, 9), "ALTER TABLE {t} ADD CONSTRAINT small CHECK (id < 1000)",
            "ALTER TABLE {t} DROP CONSTRAINT small",
        ),
        constrained,
    ),
    "materializePartitionColumns": Case(
        (
            create("'delta.enableMaterializePartitionColumnsFeature' = 'true'", partition=" PARTITIONED BY (name)"),
            insert(0, 6),
        ),
        made({"delta.enableMaterializePartitionColumnsFeature": "true"}, partition_by=["name"]),
    ),
}  # fmt: skip
each = pytest.mark.parametrize("name", CASES)


@dataclass(frozen=True)
class Lake:
    """The tables that delta-spark made, and what it said of them."""

    folder: Path
    reports: dict[str, dict[str, Any]]

    def copy(self, name: str, to: Path) -> tuple[Path, pa.Table]:
        """A table of one's own, and the rows that delta-spark reads in it."""
        report = self.reports[name]
        assert not any(report["errors"]), report["errors"]
        newest = max(version for version, _, _ in report["history"])
        shutil.copytree(self.folder / name / "table", to)
        return to, pq.read_table(self.folder / name / "rows" / f"{newest}.parquet")


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory, delta_spark: DeltaSpark) -> Lake:
    """The tables of delta-spark, made together: it works on several at a time."""
    folder = tmp_path_factory.mktemp("theirs")
    jobs = [
        {"name": f"drop {name}", "folder": str(folder / name), "steps": case.steps, "settings": {}, "look": LOOK}
        for name, case in CASES.items()
    ]
    return Lake(folder, dict(zip(CASES, delta_spark.reports(jobs), strict=True)))


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Lets time pass for whoever drops a feature."""

    def pass_by(time: timedelta) -> None:
        class Late(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> "Late":
                return super().now(tz) + time

        monkeypatch.setattr("esker.delta.history.datetime", Late)
        monkeypatch.setattr("esker.delta.drop.now", lambda: int(Late.now(UTC).timestamp() * 1000))

    return pass_by


@each
def test_a_table_of_delta_spark_without_the_feature_is_read_and_written_by_those_who_do_not_know_it(
    name: str, theirs: Lake, tmp_path: Path, spark: Any, late: Callable[[timedelta], None]
) -> None:
    path, wanted = theirs.copy(name, tmp_path / "table")
    names = CASES[name].names or (name,)
    plan = esker.open(path).drop_feature(*names, dry_run=True)
    needs_history = "checkpointProtection" in plan.foresight.protocol_after
    done = esker.open(path).drop_feature(*names, truncate_history=needs_history, spark=spark)
    if not done.is_done:
        late(timedelta(hours=25))
        done = esker.open(path).drop_feature(*names, truncate_history=True, spark=spark)
    assert done.is_done
    assert done.protocol == "(1, 2)"
    assert content(strict_rows(path)) == content(wanted)
    assert content(TheirTable(str(path)).to_pyarrow_table()) == content(wanted)
    one = wanted.slice(0, 1)
    write_deltalake(str(path), one, mode="append")
    expected = content(pa.concat_tables([wanted, one]))
    assert content(esker.open(path).to_arrow()) == expected
    assert content(strict_rows(path)) == expected


@each
def test_delta_spark_goes_on_with_a_table_that_esker_has_freed_of_a_feature(
    name: str, theirs: Lake, tmp_path: Path, spark: Any, delta_spark: DeltaSpark
) -> None:
    """Fast: with checkpoints protected, and all older versions still there."""
    _, wanted = theirs.copy(name, tmp_path / "table")
    done = esker.open(tmp_path / "table").drop_feature(*(CASES[name].names or (name,)), spark=spark)
    assert done.is_done
    known = frozenset({"appendOnly", "invariants", "checkpointProtection"})
    assert content(strict_rows(tmp_path / "table", known)) == content(wanted)
    kind = "a copy of the first row"
    column = wanted.column_names[1]
    steps = [f"INSERT INTO {{t}} SELECT -1 AS id, '{kind}' AS `{column}`", "DELETE FROM {t} WHERE id = 1"]
    (report,) = delta_spark.reports([{"name": "go on", "folder": str(tmp_path), "steps": steps, "look": {**LOOK, "checksums": None}}])
    assert not any(report["errors"]), report["errors"]
    assert not set(CASES[name].names or (name,)) & set(report["features"])
    assert not any(report["checksums"].values()), report["checksums"]
    before = pq.read_table(tmp_path / "rows" / f"{done.version}.parquet")
    assert content(before) == content(wanted)
    newest = esker.open(tmp_path / "table")
    assert content(newest.to_arrow()) == content(pq.read_table(tmp_path / "rows" / f"{newest.version}.parquet"))


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory, delta_spark: DeltaSpark) -> dict[str, tuple[Path, pa.Table, dict[str, Any]]]:
    """The tables of Esker, the rows that they had, and what delta-spark said when it had dropped the features."""
    folder = tmp_path_factory.mktemp("ours")
    had = {name: case.ours(folder / name / "table").at().to_arrow() for name, case in CASES.items()}
    jobs = [
        {"name": f"drop {name}", "folder": str(folder / name), "look": {**LOOK, "versions": [0]},
         "steps": [f"ALTER TABLE {{t}} DROP FEATURE {one}" for one in case.names or (name,)]}
        for name, case in CASES.items()
    ]  # fmt: skip
    reports = dict(zip(CASES, delta_spark.reports(jobs), strict=True))
    return {name: (folder / name / "table", had[name], reports[name]) for name in CASES}


@each
def test_a_table_of_esker_is_freed_of_the_feature_by_delta_spark(
    name: str, ours: dict[str, tuple[Path, pa.Table, dict[str, Any]]]
) -> None:
    path, wanted, report = ours[name]
    assert not any(report["errors"]), report["errors"]
    assert not set(CASES[name].names or (name,)) & set(report["features"])
    after = esker.open(path)
    assert content(after.to_arrow()) == content(wanted)
    assert [finding for finding in after.check(deep=True) if finding.severity >= Severity.ERROR] == []
    assert content(after.append(wanted.slice(0, 1)).to_arrow()) == content(pa.concat_tables([wanted, wanted.slice(0, 1)]))


@pytest.mark.parametrize("by_esker", [True, False], ids=["protected by esker", "protected by delta-spark"])
def test_protection_can_be_taken_out_by_the_other(
    by_esker: bool, tmp_path: Path, delta_spark: DeltaSpark, spark: Any, late: Callable[[timedelta], None]
) -> None:
    """checkpointProtection comes with a fast drop, and goes with the history that it protects."""
    path = tmp_path / "table"
    wanted = marked(path).to_arrow()
    if by_esker:
        assert esker.open(path).drop_feature("deletionVectors", spark=spark).is_done
        # what delta-spark truncates is what is older than a day: its own clock is not ours to move
        steps = ["ALTER TABLE {t} DROP FEATURE checkpointProtection TRUNCATE HISTORY"]
        (report,) = delta_spark.reports([{"name": "protection", "folder": str(tmp_path), "steps": steps, "look": None}])
        assert "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD" in report["errors"][0] or "DROP" in report["errors"][0]
    else:
        steps = ["ALTER TABLE {t} DROP FEATURE deletionVectors"]
        (report,) = delta_spark.reports([{"name": "protection", "folder": str(tmp_path), "steps": steps, "look": None}])
        assert not any(report["errors"]), report["errors"]
    assert "checkpointProtection" in esker.open(path).describe().protocol
    late(timedelta(hours=25))
    assert esker.open(path).drop_feature("checkpointProtection", truncate_history=True, spark=spark).is_done
    assert esker.open(path).describe().protocol == "(1, 2)"
    assert content(strict_rows(path)) == content(wanted)

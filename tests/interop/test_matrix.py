"""Does each kind of table have the same rows for Esker, delta-spark and deltalake, whatever Esker or delta-spark did to it?

Each case of the matrix is a table twice: Esker makes it and works on it, then delta-spark goes on; and the other way round. A table
is written, and read by delta-spark, for its first test; each test compares one way to look at it.
"""

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import delta_kernel_rust_sharing_wrapper as delta_kernel
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

import esker
from esker.core.features import Presence
from esker.errors import EskerError
from tests.interop.matrix import CASES, Case, Operation, Rows, esker_turn, peer_turn
from tests.interop.peer import DeltaSpark
from tests.interop.rows import READERS, by_arrow, by_spark, content, in_one_spelling

pytestmark = pytest.mark.peers

# hundreds of small statements: what is compiled for one of them does not pay
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1",
}  # fmt: skip
AT_ROWS = {"at_rows": True, "row_ids": False}
ROW_IDS = {"row_id": "_row_id", "row_commit_version": "_row_commit_version"}


def each(wanted: Any = lambda case: True) -> pytest.MarkDecorator:
    """Both stories of the cases that are wanted."""
    cases = [(case, maker) for case in CASES if wanted(case) for maker in case.makers]
    return pytest.mark.parametrize("case, maker", [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in cases])


@dataclass
class Step:
    """An operation, by whom it was done, and what became of it."""

    operation: Operation
    writer: str
    before: Rows
    after: Rows
    updated: set[int]
    version: int
    error: str | None = None


@dataclass
class Story:
    """What was done to a table: versions below `made` are of its making; then each step has a version, unless it was refused."""

    case: Case
    maker: str
    folder: Path
    made: int = 1
    steps: list[Step] = field(default_factory=list)
    refusals: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    checkpoint_report: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return str(self.folder / "table")

    @property
    def table(self) -> esker.Table:
        return esker.open(self.path)

    @property
    def landmarks(self) -> list[int]:
        """The versions that delta-spark reads: the last one, and those after which all or part of the rows are replaced."""
        pairs = zip(self.steps, self.steps[1:], strict=False)
        return [a.version for a, b in pairs if b.operation.replaces and a.writer == "esker"] + [self.steps[-1].version]

    @property
    def look(self) -> dict[str, Any]:
        """What delta-spark is to look at."""
        by_esker = max(step.version for step in self.steps if step.writer == "esker")
        return {"versions": self.landmarks, "row_ids": self.case.has_row_ids, "by_time": self.case.by_time,
                "changes_from": self.changes_from if self.case.has_changes else None,
                "checksums": sorted({by_esker, self.steps[-1].version})}  # fmt: skip

    @property
    def changes_from(self) -> int:
        """The first version whose changes are told: where that was not so from the start, the one that enables it."""
        return next((step.version for step in self.steps if step.operation in self.case.altered), self.made)

    def plan(self, operation: Operation, writer: str) -> Step:
        """The step to come, with what it should do; one that the table forbids does nothing."""
        rows, version = (self.steps[-1].after, self.steps[-1].version) if self.steps else (self.initial, self.made - 1)
        after, updated = (rows, set()) if self.forbids(operation) else operation.effect(rows)
        if operation.goes_back and not self.forbids(operation):
            after = self.steps[-1 - operation.goes_back].after
        self.steps.append(Step(operation, writer, rows, after, updated, version + (not self.forbids(operation))))
        return self.steps[-1]

    @property
    def initial(self) -> Rows:
        return {1000: ("narrow", 1)} if self.maker == "delta-spark" and self.case.after else {}

    def forbids(self, operation: Operation) -> bool:
        """Whether Esker must refuse it, by name, and leave no version."""
        return (self.case.is_append_only and not operation.only_adds) or (self.case.needs_spark and operation.is_arrow)


@pytest.fixture(scope="session")
def stories() -> dict[tuple[str, str], Story]:
    """What was played so far."""
    return {}


@pytest.fixture(scope="session")
def few_rows(spark: Any) -> Any:
    session = spark.newSession()
    for key, value in FOR_FEW_ROWS.items():
        session.conf.set(key, value)
    return session


@pytest.fixture
def story(
    case: Case, maker: str, stories: dict[tuple[str, str], Story], delta_spark: DeltaSpark, few_rows: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Story:  # fmt: skip
    if (case.name, maker) not in stories:
        stories[case.name, maker] = Story(case, maker, tmp_path_factory.mktemp("story"))
        _play(stories[case.name, maker], delta_spark, few_rows)
    found = stories[case.name, maker]
    assert found.report.get("errors") == [None], "the story did not come to its end"
    return found


def _play(story: Story, delta_spark: DeltaSpark, spark: Any) -> None:
    if story.maker == "delta-spark":
        _by_peer(story, delta_spark, 0)
        _by_esker(story, spark, 100)
        checkpointed = _checkpointed(story)
    else:
        _by_esker(story, spark, 0)
        checkpointed = _checkpointed(story)
        _by_peer(story, delta_spark, 100)
    story.report, story.checkpoint_report = delta_spark.reports(
        [
            {"name": "", "folder": str(story.folder), "steps": [], "look": story.look},
            {"name": "", "folder": str(checkpointed), "steps": [], "look": AT_ROWS},
        ]
    )


def _by_peer(story: Story, delta_spark: DeltaSpark, first: int) -> None:
    """Have delta-spark make the table if it is not there, do its operations, and try what it must refuse."""
    case = story.case
    making = case.made_by_peer() if story.maker == "delta-spark" else []
    story.made = len(making) or story.made
    steps = [story.plan(operation, "delta-spark") for operation in peer_turn(case, first)]
    tried = [f"INSERT INTO {{t}} ({', '.join(case.names)}) SELECT {case.values(id, 'r')}" for id in case.refused]
    job = {"name": "", "folder": str(story.folder), "steps": [*making, *(step.operation.by_peer for step in steps), *tried]}
    errors = delta_spark.reports([job])[0]["errors"]
    assert not any(errors[: len(making)]), errors
    for step, error in zip(steps, errors[len(making) :], strict=False):
        step.error = error
    for id, error in zip(case.refused, errors[len(making) + len(steps) :], strict=True):
        story.refusals[f"delta-spark {id}"] = (error, steps[-1].version)


def _by_esker(story: Story, spark: Any, first: int) -> None:
    """Make the table unless it is there, do Esker's operations, and try what it must refuse."""
    case = story.case
    table = case.made_by_esker(story.path) if story.maker == "esker" else story.table
    for operation in esker_turn(case, first, story.maker == "esker"):
        step = story.plan(operation, "esker")
        try:
            if operation.goes_back:
                table.restore(story.steps[-2 - operation.goes_back].version)
            else:
                operation.by_esker(table, spark)
        except Exception as error:  # told where the step is tested
            step.error = f"{type(error).__name__}: {error}"
        step.version = table.version
    for id in case.refused:
        try:
            table.append(spark.sql(f"SELECT {case.values(id, 'r')}"))
            error = None
        except EskerError as refusal:
            error = f"{type(refusal).__name__}: {refusal}"
        story.refusals[f"esker {id}"] = (error, table.at().version)


def _checkpointed(story: Story) -> Path:
    """A copy of the table as Esker leaves it, with a checkpoint of it and without the commits before."""
    story.table.checkpoint()
    copy = story.folder / "checkpointed"
    shutil.copytree(story.path, copy / "table")
    for file in (copy / "table" / "_delta_log").glob("*.json"):
        if file.stem.isdigit() and int(file.stem) < story.table.version:
            file.unlink()
            file.with_suffix(".crc").unlink(missing_ok=True)
    return copy


@each()
def test_each_operation_does_to_the_rows_what_it_should(story: Story) -> None:
    problems = []
    for step in story.steps:
        if (step.error is not None) != story.forbids(step.operation):
            problems.append(f"{step.writer} {step.operation.name}: {step.error}")
        elif step.error is None:
            shown = story.table.at(step.version).to_arrow(["id", "name", "part"])
            if _rows(shown) != step.after or shown.num_rows != len(step.after):
                problems.append(f"{step.writer} {step.operation.name}: other rows at version {step.version}")
    assert not problems


@each()
def test_each_version_has_the_rows_that_delta_spark_reads(story: Story) -> None:
    assert [version for version, _, _ in story.report["history"]] == list(range(story.steps[-1].version + 1))
    assert story.table.version == story.steps[-1].version
    assert not [v for v in story.landmarks if _content(story, story.table.at(v), by_arrow) != _peer_content(story, v)]


@each()
@pytest.mark.parametrize("relation", READERS[1:])
def test_the_newest_version_has_the_same_rows_through_spark(story: Story, relation: str, spark: Any) -> None:
    table = story.table
    assert _content(story, table, by_spark(spark, relation)) == _peer_content(story, table.version)


@each(lambda case: case.holds)
def test_what_holds_in_each_row_holds_whoever_wrote_it(story: Story, spark: Any) -> None:
    frame = story.table.to_df(spark)
    assert frame.count() > 0
    assert {sql: frame.where(f"({sql}) IS NOT TRUE").count() for sql in story.case.holds} == dict.fromkeys(story.case.holds, 0)


@each(lambda case: case.refused)
def test_what_a_table_must_not_hold_is_refused_and_leaves_no_version(story: Story) -> None:
    assert len(story.refusals) == len(story.case.refused) * 2
    assert all(error is not None for error, _ in story.refusals.values()), story.refusals


@each()
def test_deltalake_reads_the_same_rows_or_says_what_it_lacks(story: Story) -> None:
    if story.case.stranger is not None:
        with pytest.raises(Exception, match=story.case.stranger):
            _deltalake_rows(story.path, story.table.version)
        return
    different = [v for v in range(story.table.version + 1) if content(_deltalake_rows(story.path, v)) != content(story.table.at(v).to_arrow())]
    assert not different


@each()
def test_delta_kernel_reads_the_same_rows_or_says_what_it_lacks(story: Story) -> None:
    if story.case.unread_by_kernel is not None:
        with pytest.raises(Exception, match=story.case.unread_by_kernel):
            _kernel_rows(story.path)
        return
    assert content(_kernel_rows(story.path)) == content(story.table.to_arrow())


@each(lambda case: case.has_changes)
@pytest.mark.parametrize("reader", READERS)
def test_the_changes_are_those_that_delta_spark_reads(story: Story, reader: str, request: pytest.FixtureRequest) -> None:
    changes = story.table.changes(story.changes_from)
    found = changes.to_arrow() if reader == "arrow" else by_spark(request.getfixturevalue("spark"), reader)(changes)
    assert content(found) == content(pq.read_table(story.folder / "changes.parquet"))


@each(lambda case: case.has_changes)
def test_the_changes_are_what_the_operations_did(story: Story) -> None:
    shown = story.table.changes(story.changes_from).to_arrow().select(["_commit_version", "_change_type", "id", "name", "part"])
    # what is told of a version that takes others back goes by whole files
    restored = {step.version for step in story.steps if step.operation.goes_back}
    found = [change for change in zip(*shown.to_pydict().values(), strict=True) if change[0] not in restored]
    wanted = [
        (step.version, kind, id, *rows[id])
        for step in story.steps
        if step.version not in restored and step.version >= story.changes_from
        for kind, ids, rows in (
            ("delete", step.before.keys() - step.after.keys(), step.before),
            ("insert", step.after.keys() - step.before.keys(), step.after),
            ("update_preimage", step.updated, step.before),
            ("update_postimage", step.updated, step.after),
        )
        for id in ids
    ]  # fmt: skip
    assert sorted(found) == sorted(wanted)


@each(lambda case: case.has_row_ids)
def test_rows_keep_their_ids_and_tell_the_version_that_changed_them(story: Story) -> None:
    history: list[dict[int, tuple[int, int]]] = [{}]
    for step in story.steps:
        if "delta.enableRowTracking" not in story.table.at(step.version).describe().properties:
            continue
        known = history[-1 - step.operation.goes_back]
        shown = story.table.at(step.version).to_arrow(["id", "_row_id", "_row_commit_version"])
        found = {id: (row, version) for id, row, version in zip(*shown.to_pydict().values(), strict=True)}
        assert len({row for row, _ in found.values()}) == len(found)
        same = found.keys() & known.keys()
        wanted = {id: (known[id][0], step.version if id in step.updated else known[id][1]) for id in same}
        assert {id: found[id] for id in same} == wanted, step.operation.name
        assert not known or {version for id, (_, version) in found.items() if id not in same} <= {step.version}
        history.append(found)


@each()
def test_delta_spark_sees_the_schema_properties_features_and_domains_that_esker_sees(story: Story) -> None:
    table, report = story.table, story.report
    about = table.describe()
    present = {p.name for p in table.features() if p.presence >= Presence.SUPPORTED}
    assert present == set(report["features"])
    assert set(story.case.uses) <= present
    assert dict(about.properties) == report["properties"]
    assert list(about.partition_columns) == report["partition_columns"] == list(story.case.partition_by)
    assert report["clustering_columns"] == list(story.case.cluster_by)
    assert [field["name"] for field in report["schema"]["fields"]] == list(table.schema.names)
    assert report["domains"] == _domains(table)


@each()
def test_the_state_of_each_version_is_what_its_checksum_file_says(story: Story) -> None:
    assert {v: found for v in range(story.table.version + 1) if (found := story.table.at(v).verify())} == {}
    assert {v: found for v, found in story.report["checksums"].items() if found} == {}


@each()
def test_a_checkpoint_says_all_that_the_commits_before_it_said(story: Story, spark: Any) -> None:
    assert story.checkpoint_report["errors"] == [None]
    table = esker.open(story.folder / "checkpointed" / "table")
    before = story.table.at(table.version)
    rows = _legible(before, by_arrow(before))
    assert _legible(table, by_arrow(table)) == rows
    assert _legible(table, pq.read_table(story.folder / "checkpointed" / "rows" / f"{table.version}.parquet")) == rows
    assert table.verify() == ()
    assert story.checkpoint_report["domains"] == _domains(before)


@each(lambda case: case.by_time)
def test_a_moment_finds_the_version_that_delta_spark_finds(story: Story) -> None:
    wanted = story.report["moments"]
    moments = [datetime.fromtimestamp(at / 1000, UTC) for at, _ in wanted]
    assert [story.table.at(timestamp=moment).to_arrow().num_rows for moment in moments] == [rows for _, rows in wanted]


def _rows(table: pa.Table) -> Rows:
    return {id: (name, part) for id, name, part in zip(*table.to_pydict().values(), strict=True)}


def _domains(table: esker.Table) -> dict[str, str]:
    return {d.domain: d.configuration for d in table._table.snapshot.domains.values()}  # type: ignore[attr-defined]


def _legible(table: esker.Table, rows: pa.Table) -> dict[str, list[Any]]:
    return content(in_one_spelling(rows, _variants(table)))


def _content(story: Story, table: esker.Table, read: Any) -> dict[str, list[Any]]:
    """What Esker reads, with row ids where delta-spark finds them."""
    ids = [name for name in ROW_IDS.values() if name in _peer_rows(story, table.version).column_names]
    return _legible(table, read(table, ["*", *ids]))


def _peer_content(story: Story, version: int) -> dict[str, list[Any]]:
    return _legible(story.table.at(version), _peer_rows(story, version))


def _peer_rows(story: Story, version: int) -> pa.Table:
    found = pq.read_table(story.folder / "rows" / f"{version}.parquet")
    return found.rename_columns([ROW_IDS.get(name, name) for name in found.column_names])


def _variants(table: esker.Table) -> list[str]:
    return [field.name for field in table.schema if "variant" in str(field.type)]


def _deltalake_rows(path: str, version: int) -> pa.Table:
    table = DeltaTable(path, version=version)
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())


def _kernel_rows(path: str) -> pa.Table:
    """The newest rows by delta-kernel, as the library of delta-sharing has it."""
    url = f"file://{quote(path)}"
    engine = delta_kernel.PythonInterface(url)
    scan = delta_kernel.ScanBuilder(delta_kernel.Table(url).snapshot(engine)).build()
    return scan.execute(engine).read_all()

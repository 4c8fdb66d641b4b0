"""What is left of a table in a catalog when a writer dies, or is not told what became of its commit?

As for tables in folders: the table opens; it holds the rows from before the operation or those from after it, and those from after
it if the operation was acknowledged; what is live was not cleaned up; and the next write works.  (spec, "Optimistic Concurrency",
"Metastore Tables")
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from esker.arrow.read import read_table
from esker.arrow.write import ArrowRows
from esker.catalogs import open_catalog
from esker.catalogs.port import Catalogs
from esker.catalogs.sql import SqlCatalogs, SqlTable
from esker.core.schema_changes import AddColumn
from esker.core.table import Creation
from esker.core.types import LONG, Field
from esker.core.write import WriteOptions
from esker.errors import CommitUnknown, EskerError
from esker.iceberg.alter import change_partitioning
from esker.iceberg.catalog import Catalog, Swap
from esker.iceberg.metadata import TAG, TableMetadata
from esker.iceberg.place import Place
from esker.iceberg.refs import Retention, create_ref
from esker.iceberg.table import IcebergTable, create_by_catalog, open_by_catalog
from esker.storage import open_storage
from esker.storage.port import Storage
from esker.testing.faults import Died, Dying, Failing
from tests.catalogs.databases import postgres, sqlite
from tests.catalogs.rest_server import Gateway, rest_server
from tests.iceberg.operations import DEFINITION, EXPECTED, MODES, START, Act, filled, properties, rows, seen
from tests.iceberg.test_crashes import expire

Wrap = Callable[[Storage], Storage]
_NAMES = count()


@dataclass(frozen=True)
class Lake:
    """A catalog, and where new tables of it go."""

    catalogs: Catalogs

    def table(self, version: int, mode: str) -> str:
        """The name of a new table with the usual rows."""
        name = f"db.t{next(_NAMES)}"
        entry = self.catalogs.new_table(name)
        definition = replace(DEFINITION, properties=properties(version, mode))
        place = Place(open_storage(entry.location, entry.options), entry.options)
        filled(create_by_catalog(place, entry.catalog, Creation(definition), read_table))
        return name

    def opened(
        self, name: str, wrap: Wrap = lambda storage: storage, through: Callable[[Catalog], Catalog] = lambda c: c
    ) -> IcebergTable:
        entry = self.catalogs.table(name)
        storage, catalog = wrap(open_storage(entry.location, entry.options)), entry.catalog
        if isinstance(catalog, SqlTable):
            catalog = replace(catalog, storage=storage)
        return open_by_catalog(Place(storage, entry.options), through(catalog), read_table)


@dataclass(frozen=True)
class Last(Catalog):
    """The catalog of a process that dies right before or right after its commit."""

    inner: Catalog
    after: bool

    def load(self) -> tuple[str, TableMetadata]:
        return self.inner.load()

    def create(self, metadata: TableMetadata) -> tuple[str, TableMetadata]:
        return self.inner.create(metadata)

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        if self.after:
            self.inner.swap(swap)
        raise Died("at its commit")


def sql_lake(uri: str, folder: Path) -> Lake:
    return Lake(open_catalog({"type": "sql", "name": "crashes", "uri": uri, "warehouse": (folder / "lake").as_uri()}, {}))


@pytest.fixture(scope="module", params=["sqlite", "postgresql", pytest.param("rest", marks=pytest.mark.peers)])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "rest":
        with rest_server(folder) as uri:
            yield Lake(open_catalog({"type": "rest", "uri": uri}, {}))
    else:
        with (sqlite if request.param == "sqlite" else postgres)(folder) as uri:
            yield sql_lake(uri, folder)


ACTS = {
    "append": (*EXPECTED["append"], 2, MODES[0]),
    "delete by vector": (*EXPECTED["delete"], 3, MODES[1]),
    "merge": (*EXPECTED["merge"], 2, MODES[0]),
    "expire": (expire, START, 2, MODES[0]),
}


def is_quick(lake: Lake) -> bool:
    """Whether the catalog is in this process; of others not each call is tried."""
    return isinstance(lake.catalogs, SqlCatalogs) and lake.catalogs.client.engine.dialect.name == "sqlite"


def check_use(lake: Lake, name: str, possible: list[dict[int, int]]) -> None:
    """The rows are those of one of these states, and the next write works."""
    found = seen(lake.opened(name))
    assert found in possible
    table = lake.opened(name).append(ArrowRows(rows((77,), "z")), WriteOptions())
    assert seen(table) == {**found, 77: 77}


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_a_crash_at_any_call_leaves_the_rows_of_before_or_of_after(lake: Lake, act: str) -> None:
    change, expected, version, mode = ACTS[act]
    for nth in count(1, 1 if is_quick(lake) else 3):
        name = lake.table(version, mode)
        try:
            change(lake.opened(name, lambda storage, nth=nth: Dying(storage, nth)))
        except Died:
            check_use(lake, name, [START, expected])
            continue
        check_use(lake, name, [expected])
        return


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("act", ACTS)
def test_a_crash_at_the_commit_leaves_the_rows_of_before_or_of_after(lake: Lake, act: str, after: bool) -> None:
    change, expected, version, mode = ACTS[act]
    name = lake.table(version, mode)
    with pytest.raises(Died):
        change(lake.opened(name, through=lambda catalog: Last(catalog, after)))
    check_use(lake, name, [expected if after else START])


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("act", ["append", "merge"])
def test_a_call_that_fails_is_told_and_never_breaks_the_table(lake: Lake, act: str, after: bool) -> None:
    change, expected, version, mode = ACTS[act]
    for nth in count(1, 2 if is_quick(lake) else 5):
        name = lake.table(version, mode)
        failing: list[Failing] = []

        def wrap(storage: Storage, nth: int = nth, failing: list[Failing] = failing) -> Storage:
            failing.append(Failing(storage, nth, after=after))
            return failing[0]

        try:
            change(lake.opened(name, wrap))
            possible = [expected]
        except CommitUnknown:
            possible = [START, expected]
        except EskerError:
            possible = [START]
        check_use(lake, name, possible)
        if not failing[0].has_failed:
            return


@pytest.fixture
def moody(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Lake]]:
    """The same catalog, in which the next commit fails in one of some ways."""
    undo: list[Callable[[], object]] = []

    def made(mood: str) -> Lake:
        if isinstance(lake.catalogs, SqlCatalogs):
            engine = lake.catalogs.client.engine

            def fail(connection: Any) -> None:
                monkeypatch.undo()
                if mood != "refused":
                    connection.commit()
                raise engine.dialect.loaded_dbapi.OperationalError("the connection broke")

            monkeypatch.setattr(engine.dialect, "do_commit", fail)
            return lake
        gateway = Gateway(lake.catalogs.client.uri)
        undo.append(gateway.stop)
        gateway.mood = mood
        return Lake(open_catalog({"type": "rest", "uri": gateway.uri}, {}))

    yield made
    for each in undo:
        each()


WITHOUT_SNAPSHOT: dict[str, tuple[Act, Callable[[TableMetadata], bool]]] = {
    "expire": (expire, lambda m: len(m.snapshots) == 1),
    "add a column": (lambda t: t.change_columns([AddColumn(Field("w", LONG))], None), lambda m: "w" in m.schema.struct.names),
    "set a property": (lambda t: t.set_properties({"x": "y"}), lambda m: m.properties.get("x") == "y"),
    "tag": (lambda t: t.in_state(create_ref(t.state, "x", TAG, None, Retention())), lambda m: "x" in m.refs),
    "partition": (lambda t: t.in_state(change_partitioning(t.state, ["id"], [])), lambda m: len(m.spec.fields) == 2),
}


@pytest.mark.parametrize("mood", ["lost", "refused", "broken", "twice"])
@pytest.mark.parametrize("act", WITHOUT_SNAPSHOT)
def test_a_commit_without_a_snapshot_is_looked_for_by_what_it_was_to_bring(
    lake: Lake, moody: Callable[[str], Lake], act: str, mood: str
) -> None:
    if isinstance(lake.catalogs, SqlCatalogs) and mood in ("broken", "twice"):
        pytest.skip("nothing stands between a database and its client that would ask twice")
    change, is_made = WITHOUT_SNAPSHOT[act]
    name = lake.table(2, MODES[0])
    table = moody(mood).opened(name)
    if mood == "refused":
        with pytest.raises(CommitUnknown):
            change(table)
    else:
        assert is_made(change(table).state.metadata)
    assert is_made(lake.opened(name).state.metadata) is (mood != "refused")
    check_use(lake, name, [START])


@pytest.mark.parametrize("mood", ["lost", "broken", "twice"])
def test_a_table_that_was_made_without_rows_is_known_by_its_uuid(lake: Lake, moody: Callable[[str], Lake], mood: str) -> None:
    if isinstance(lake.catalogs, SqlCatalogs):
        pytest.skip("a database tells by the file that it names")
    name = f"db.t{next(_NAMES)}"
    entry = moody(mood).catalogs.new_table(name)
    place = Place(open_storage(entry.location, entry.options), entry.options)
    made = create_by_catalog(place, entry.catalog, Creation(DEFINITION), read_table)
    assert lake.opened(name).state.metadata.table_uuid == made.state.metadata.table_uuid


@pytest.mark.parametrize("mood", ["lost", "refused", "broken", "twice"])
@pytest.mark.parametrize("act", [act for act in ACTS if act not in WITHOUT_SNAPSHOT])
def test_a_commit_of_which_nothing_was_heard_is_looked_for_and_never_cleaned_up(
    lake: Lake, moody: Callable[[str], Lake], act: str, mood: str
) -> None:
    if isinstance(lake.catalogs, SqlCatalogs) and mood in ("broken", "twice"):
        pytest.skip("nothing stands between a database and its client that would ask twice")
    change, expected, version, mode = ACTS[act]
    name = lake.table(version, mode)
    table = moody(mood).opened(name)
    try:
        change(table)
        possible = [expected]
    except CommitUnknown:
        assert mood == "refused"  # what was granted is found by its snapshot
        possible = [START]
    check_use(lake, name, possible)


def test_a_commit_that_arrives_late_finds_all_that_it_needs(lake: Lake, moody: Callable[[str], Lake]) -> None:
    """The database reports a failure while the commit is on its way: what it points to must be there when it comes."""
    if not isinstance(lake.catalogs, SqlCatalogs):
        pytest.skip("the server of the REST catalog writes the metadata itself")
    name = lake.table(2, MODES[0])
    table = moody("refused").opened(name)
    late: list[tuple[str, str]] = []
    row = lake.catalogs.table(name).catalog.row  # type: ignore[attr-defined]

    def noted(connection, cursor, statement, parameters, context, executemany) -> None:  # type: ignore[no-untyped-def]
        if statement.startswith("UPDATE iceberg_tables"):
            told = parameters if isinstance(parameters, tuple) else tuple(parameters.values())
            late.append((told[1], told[0]))

    event.listen(lake.catalogs.client.engine, "before_cursor_execute", noted)
    with pytest.raises(CommitUnknown):
        EXPECTED["append"][0](table)
    event.remove(lake.catalogs.client.engine, "before_cursor_execute", noted)
    assert seen(lake.opened(name)) == START
    assert row.update(*late[0])
    check_use(lake, name, [EXPECTED["append"][1]])

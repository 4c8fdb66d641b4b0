"""What is left of a table when its storage dies, fails or stalls at any single call of any operation?

The table opens; it holds the rows from before the operation or those from after it, nothing in between, and those from after it
if the operation was acknowledged; the next write works; and a vacuum takes what was left lying about.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from time import sleep
from typing import Any

import pytest

from esker.arrow.write import ArrowRows
from esker.core import types as t
from esker.core.ddl import parse_ddl
from esker.core.schema_changes import AddColumn
from esker.core.table import Creation, TableDefinition, VacuumWish
from esker.core.types import Field
from esker.delta.deletion_vectors import file_uri
from esker.delta.live_adds import live_adds
from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable, create_delta
from esker.errors import CommitUnknown, EskerError, NotFound
from esker.storage.port import Storage
from esker.testing.faults import Died, Dying, Failing, Stalling, Wrapping
from tests.arrow_editor import ArrowEditor
from tests.delta.operations import (
    BY_VECTORS,
    Act,
    append,
    copied,
    delete,
    empty,
    merge,
    opened,
    overwrite,
    overwrite_where,
    rearrange,
    rows,
    seen,
    table_with,
    update,
    widen,
)

TRACKED = {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
CHECKPOINTS = {"delta.checkpointInterval": "1"}
UNSAFE = VacuumWish(retention=timedelta(), allow_unsafe=True)


@dataclass(frozen=True)
class Case:
    """An operation, on a table with some properties to which others were done before."""

    act: Callable[[Storage], object]
    properties: dict[str, str] | None = field(default_factory=dict)
    before: tuple[Act, ...] = ()

    def start(self) -> Storage:
        storage = empty() if self.properties is None else table_with(self.properties)
        for act in self.before:
            act(opened(storage))
        return storage


def on_table(act: Act) -> Callable[[Storage], object]:
    return lambda storage: act(DeltaTable(load(Place(storage))))


def create(storage: Storage) -> object:
    definition = TableDefinition(parse_ddl("id bigint, v bigint, p string"), ("p",))
    return create_delta(storage, Creation(definition, ArrowRows(rows((1, 2), "a"))), {})


def replace(storage: Storage) -> object:
    definition = TableDefinition(parse_ddl("id bigint, v bigint, p string"), ("p",))
    return create_delta(storage, Creation(definition, ArrowRows(rows((1, 2), "c")), "replace"), {})


def add_column(table: DeltaTable) -> DeltaTable:
    return table.change_columns([AddColumn(Field("more", t.STRING))], ArrowEditor())


def compact_log(table: DeltaTable) -> DeltaTable:
    table.compact_log(1, 2)
    return table


CASES = {
    "create": Case(create, None),
    "replace": Case(replace),
    "append": Case(on_table(append("a", 41))),
    "append under a number": Case(on_table(append("a", 41, transaction=("app", 1)))),
    "append with row ids and timestamps": Case(on_table(append("a", 41)), TRACKED),
    "widen": Case(on_table(widen)),
    "overwrite": Case(on_table(overwrite("a", 51))),
    "overwrite partitions": Case(on_table(overwrite("b", 53, is_dynamic=True))),
    "overwrite where, by vectors": Case(on_table(overwrite_where("id < 3", "a", 2)), BY_VECTORS),
    "overwrite where, by copies": Case(on_table(overwrite_where("id < 3", "a", 2))),
    "delete by vectors": Case(on_table(delete("id = 1 OR id = 11")), BY_VECTORS, (delete("id = 2"),)),
    "delete by copies": Case(on_table(delete("id = 1 OR id = 11"))),
    "delete files": Case(on_table(delete("p = 'a'"))),
    "update by vectors": Case(on_table(update("id = 1 OR id = 11")), BY_VECTORS),
    "update by copies, with a change feed": Case(on_table(update("id = 1 OR id = 11")), FEED),
    "insert": Case(on_table(merge("a", 5, 41, updates=False))),
    "upsert": Case(on_table(merge("a", 5, 41, updates=True)), {**BY_VECTORS, **TRACKED, **FEED}),
    "rearrange": Case(on_table(rearrange("a"))),
    "set a property": Case(on_table(lambda table: table.set_properties({"delta.appendOnly": "false"}))),
    "track rows": Case(on_table(lambda table: table.set_properties({"delta.enableRowTracking": "true"}))),
    "add a column": Case(on_table(add_column)),
    "add a constraint": Case(on_table(lambda table: table.add_constraint("small", "id < 1000", ArrowEditor()))),
    "restore": Case(on_table(lambda table: table.restore(2, None, False)), BY_VECTORS, (delete("id < 7"), append("a", 9))),
    "append with a checkpoint": Case(on_table(append("a", 41)), {**BY_VECTORS, **CHECKPOINTS}),
    "append with a checkpoint of version 2": Case(on_table(append("a", 41)), {**CHECKPOINTS, "delta.checkpointPolicy": "v2"}),
    "checkpoint": Case(on_table(lambda table: table.checkpoint()), TRACKED, (delete("id < 7"),)),
    "compact the log": Case(on_table(compact_log)),
    "vacuum": Case(on_table(lambda table: table.vacuum(UNSAFE, lambda done, all: None)[0]), {}, (delete("id < 7"),)),
}  # fmt: skip

Rows = list[tuple[Any, ...]] | None
"""None where there is no table."""


def rows_of(storage: Storage) -> Rows:
    try:
        return seen(opened(storage))
    except NotFound:
        return None


@dataclass
class Sweep:
    """The same operation on the same table, with something else going wrong each time."""

    case: Case
    monkeypatch: pytest.MonkeyPatch
    checked: set[object] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.start = self.case.start()
        self.old = rows_of(self.start)
        done = copied(self.start)
        self.case.act(done)
        self.new = rows_of(done)

    def run(self, storage: Wrapping) -> "EskerError | Died | None":
        """Perform the operation; what it died of."""
        # Data files are written to the storage of their URL: here that is the unkind one.
        self.monkeypatch.setattr("esker.arrow.write.storage_at", lambda location, options: storage)
        try:
            self.case.act(storage)
        except (EskerError, Died) as error:
            return error
        finally:
            self.monkeypatch.undo()
        return None

    def check(self, storage: Storage, error: "EskerError | Died | None") -> None:
        """What is left is sound. What looks the same but for random names is looked at once."""
        state = (shape(storage), type(error))
        if state in self.checked:
            return
        self.checked.add(state)
        found = rows_of(storage)
        assert found in (self.old, self.new)
        if error is None:
            assert found == self.new
        elif isinstance(error, EskerError) and not isinstance(error, CommitUnknown):
            assert found == self.old, f"it was done, and reported as failed: {error}"
        self.check_use(storage, found)

    def check_use(self, storage: Storage, found: Rows) -> None:
        if found is None:
            create(storage)
            found = rows_of(storage)
            assert found is not None
        append("a", 777)(opened(storage))
        expected = sorted([*found, (("id", 777), ("p", "a"), ("v", 777))])
        assert rows_of(storage) == expected
        sleep(0.002)  # what is no older than the vacuum stays
        opened(storage).vacuum(UNSAFE, lambda done, all: None)
        assert rows_of(storage) == expected
        assert left_over(storage) == set()


def shape(storage: Storage) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((_RANDOM.sub("*", file.path), file.size) for file in storage.list()))


_RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def left_over(storage: Storage) -> set[str]:
    """Files beside the log that the newest version has no use for."""
    adds = list(live_adds(opened(storage).snapshot))
    needed = {add.path for add in adds} | {file_uri(add.deletion_vector) for add in adds if add.deletion_vector is not None}
    return {file.path for file in storage.list() if not file.path.startswith(("_delta_log/", "_change_data/"))} - needed


@pytest.fixture(params=CASES)
def sweep(request: pytest.FixtureRequest) -> Iterator[Sweep]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Sweep(CASES[request.param], monkeypatch)


def test_a_process_that_dies_before_or_after_any_call_leaves_the_old_table_or_the_new(sweep: Sweep) -> None:
    for after in (False, True):
        for nth in count(1):
            storage = copied(sweep.start)
            dying = Dying(storage, nth, after=after)
            sweep.check(storage, sweep.run(dying))
            if not dying.has_died:
                break
        assert nth > 3


def test_a_call_that_fails_or_only_says_so_leaves_the_old_table_or_the_new(sweep: Sweep) -> None:
    for after in (False, True):
        for nth in count(1):
            storage = copied(sweep.start)
            failing = Failing(storage, nth, after=after)
            sweep.check(storage, sweep.run(failing))
            if not failing.has_failed:
                break


@pytest.mark.parametrize("is_last", [False, True], ids=["before the next write", "after it"])
def test_a_call_that_arrives_late_leaves_the_old_table_or_the_new(sweep: Sweep, is_last: bool) -> None:
    for nth in count(1):
        storage = copied(sweep.start)
        stalling = Stalling(storage, nth)
        error = sweep.run(stalling)
        if not stalling.has_stalled:
            return
        found = rows_of(storage)
        assert found == (sweep.new if error is None else sweep.old) or isinstance(error, CommitUnknown)
        if is_last and found is not None:
            append("a", 888)(opened(storage))
            stalling.arrive()
            assert rows_of(storage) == sorted([*found, (("id", 888), ("p", "a"), ("v", 888))])
        else:
            stalling.arrive()
            assert rows_of(storage) in (found, sweep.new)
        sweep.check_use(storage, rows_of(storage))

"""Does a table read right after any sequence of changes of its columns?  The oracle keeps columns and rows as plain values."""

from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import esker
from esker.core.arrow_types import to_arrow_schema
from esker.delta.contradictions import contradictions
from esker.delta.intended import Intended
from tests.delta.handles import created, rows

PROPERTIES = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
WIDER = {"tinyint": "smallint", "smallint": "int", "int": "bigint"}
NAMES = ("a", "b", "c", "B b")
_UIDS = count()


@dataclass
class Column:
    """A column of the model: itself by `uid` whatever it is called, with members where it is a struct."""

    name: str
    kind: str
    members: "list[Column]" = field(default_factory=list)
    uid: int = field(default_factory=lambda: next(_UIDS))

    @property
    def ddl(self) -> str:
        inner = ", ".join(f"`{m.name}` {m.ddl}" for m in self.members)
        return f"struct<{inner}>" if self.members else self.kind

    def shown(self, value: dict[int, Any] | None) -> Any:
        """What a reader sees of the column in a row."""
        stored = None if value is None else value.get(self.uid)
        return {m.name: m.shown(stored) for m in self.members} if self.members and stored is not None else stored


class Model:
    """A table as plain values: rows have values by the uids of columns."""

    def __init__(self) -> None:
        self.columns = [Column("id", "bigint"), Column("a", "tinyint"), Column("s", "", [Column("a", "tinyint"), Column("b", "string")])]
        self.rows: list[dict[int, Any]] = []

    def shown(self) -> list[dict[str, Any]]:
        return [{c.name: c.shown(row) for c in self.columns} for row in self.rows]

    def structs(self) -> list[tuple[str | None, list[Column]]]:
        """The table and its structs: the path to each, and its columns."""
        return [(None, self.columns), *((f"`{c.name}`", c.members) for c in self.columns if c.members)]


def path(parent: str | None, column: Column) -> str:
    return f"{'' if parent is None else parent + '.'}`{column.name}`"


def fresh_name(draw: st.DrawFn, columns: list[Column]) -> str | None:
    free = [n for n in NAMES if n.lower() not in {c.name.lower() for c in columns}]
    return draw(st.sampled_from(free)) if free else None


def add(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    parent, columns = draw(st.sampled_from(model.structs()))
    name = fresh_name(draw, columns)
    if name is None:
        return
    kind = draw(st.sampled_from(["tinyint", "string", "struct"]))
    column = Column(name, "", [Column("a", "tinyint")]) if kind == "struct" and parent is None else Column(name, "string" if kind == "struct" else kind)
    at = draw(st.integers(0, len(columns)))
    place: dict[str, Any] = {"first": True} if at == 0 else {} if at == len(columns) else {"after": f"`{columns[at - 1].name}`"}
    columns.insert(at, column)
    table.add_columns(f"`{name}` {column.ddl}", parent=parent, **place)


def drop(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    parent, columns = draw(st.sampled_from(model.structs()))
    able = [c for c in columns if c.name != "id"] if len(columns) > 1 else []
    if able:
        column = draw(st.sampled_from(able))
        columns[:] = [c for c in columns if c is not column]
        table.drop_columns(path(parent, column))


def rename(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    parent, columns = draw(st.sampled_from(model.structs()))
    able = [c for c in columns if c.name != "id"]
    name = fresh_name(draw, columns)
    if able and name is not None:
        column = draw(st.sampled_from(able))
        table.rename_column(path(parent, column), f"`{name}`")
        column.name = name


def move(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    parent, columns = draw(st.sampled_from(model.structs()))
    column = draw(st.sampled_from(columns))
    others = [c for c in columns if c is not column]
    at = draw(st.integers(0, len(others)))
    place: dict[str, Any] = {"first": True} if at == 0 else {"after": f"`{others[at - 1].name}`"}
    columns[:] = [*others[:at], column, *others[at:]]
    table.move_column(path(parent, column), **place)


def widen(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    able = [(p, c) for p, columns in model.structs() for c in columns if c.kind in WIDER]
    if able:
        parent, column = draw(st.sampled_from(able))
        column.kind = WIDER[column.kind]
        table.change_type(path(parent, column), column.kind)


def append(draw: st.DrawFn, model: Model, table: esker.Table) -> None:
    def value(column: Column) -> Any:
        if column.name == "id":
            return len(model.rows)
        if column.members:
            return {m.uid: value(m) for m in column.members} if draw(st.booleans()) else None
        return draw(st.none() | (st.sampled_from(["x", "y"]) if column.kind == "string" else st.integers(-2, 2)))

    for _ in range(draw(st.integers(1, 2))):
        model.rows.append({column.uid: value(column) for column in model.columns})
        table.append(pa.Table.from_pylist(model.shown()[-1:], to_arrow_schema(table.schema)))


STEPS = (add, drop, rename, move, widen, append)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Model, esker.Table, list[list[dict[str, Any]]]]:
    """A model, the table that went through the same, and what the rows were at each of the table's versions."""
    model, table = Model(), created("id bigint, a tinyint, s struct<a tinyint, b string>", properties=PROPERTIES)
    seen: list[list[dict[str, Any]]] = [[]]
    append(draw, model, table)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=8)):
        seen += [seen[-1]] * (table.version + 1 - len(seen))
        seen[table.version] = deepcopy(model.shown())
        step(draw, model, table)
    return model, table, seen


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(histories())
def test_any_sequence_of_changes_reads_as_the_model_says(history: tuple[Model, esker.Table, list[list[dict[str, Any]]]]):
    model, table, _ = history
    assert table.schema.names == tuple(c.name for c in model.columns)
    assert rows(table) == model.shown()
    for column in model.columns:
        if column.kind in ("tinyint", "smallint", "int", "string"):
            wanted = "x" if column.kind == "string" else 1
            found = esker.open(table.location).to_arrow(["id"], where=f"`{column.name}` = {wanted!r}").column("id").to_pylist()
            assert sorted(found) == [row["id"] for row in model.shown() if row[column.name] == wanted]
    snapshot = table._table.snapshot
    assert contradictions(Intended(snapshot.metadata, snapshot.protocol)) == ()
    ids = [f.metadata["delta.columnMapping.id"] for f in snapshot.schema]
    assert len(set(ids)) == len(ids)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(histories(), st.data())
def test_a_table_goes_back_to_any_version_of_its_columns(
    history: tuple[Model, esker.Table, list[list[dict[str, Any]]]], data: st.DataObject
):
    _, table, seen = history
    version = data.draw(st.integers(0, len(seen) - 1))
    before = rows(table, version=version)
    if version < table.version:
        table.restore(version)
    assert rows(table) == before
    assert esker.open(table.location).schema.names == esker.open(table.location, version=version).schema.names

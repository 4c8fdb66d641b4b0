"""How must rows look that are written to a table, and do these fit it?"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from esker.core import types as t
from esker.core.column_paths import quoted, spelled
from esker.core.predicate import Path
from esker.core.types import LONG, Array, Decimal, Field, Fixed, Map, Struct, Type
from esker.core.write import Absent, Check, FragmentForm, Given, WriteColumn, WriteSpec
from esker.errors import InvalidRequest
from esker.lance.place import Place
from esker.lance.plan import ROW_ID
from esker.lance.schema import as_written
from esker.lance.snapshot import Snapshot


def appended(snapshot: Snapshot, rows: Struct, checks: tuple[Check, ...] = ()) -> WriteSpec:
    """How rows with these columns become fragments that join those of the table. Raises where they do not fit it."""
    check_fit(snapshot, rows)
    return _spec(snapshot, tuple(_brought(field, rows) for field in snapshot.schema), checks, None)


def check_fit(snapshot: Snapshot, rows: Struct) -> None:
    """Raise `InvalidRequest`, with every reason, where rows with these columns do not fit the table."""
    if problems := list(mismatches(snapshot.schema, rows)):
        raise InvalidRequest(
            "the rows do not fit the table", where=snapshot.location, problems=problems,
            hint="merge_schema=True adds columns that the table lacks.",
        )  # fmt: skip


def fresh(place: Place, columns: Struct, schema: pa.Schema, rows: Struct, file_version: str) -> WriteSpec:
    """How rows become fragments that are to be all that a table of these columns has."""
    return WriteSpec(
        location=place.storage.url,
        folder="",
        columns=tuple(_brought(field, rows) for field in columns),
        checks=tuple(not_null_checks(columns)),
        storage_options=place.options,
        fragments=FragmentForm(schema, file_version, branch=place.branch),
    )


def rewritten(snapshot: Snapshot, given: Struct | None = None) -> WriteSpec:
    """How rows of the table are written again; with `given`, how new rows are that have these columns beside them."""
    own = given if given is not None else snapshot.schema
    columns = tuple(_brought(field, own) for field in snapshot.schema)
    if not has_stable_ids(snapshot):
        return _spec(snapshot, columns, (), None)
    id = Field(ROW_ID, LONG)
    kept = WriteColumn(id, id, Given(ROW_ID) if given is None else Absent())
    return _spec(snapshot, (*columns, kept), (), ROW_ID)


def has_stable_ids(snapshot: Snapshot) -> bool:
    """Whether rows keep their ids when they are written again."""
    return any(fragment.row_ids is not None for fragment in snapshot.fragments)


def mismatches(table: Struct, rows: Struct, path: Path = ()) -> Iterator[str]:
    """Every reason for which rows with these columns cannot be written to the table as it is."""
    seen: set[str] = set()
    for field in rows:
        here = (*path, field.name)
        if field.name.lower() in seen:
            yield f"the rows have the column {spelled(here)} twice, or two that differ in case alone"
        seen.add(field.name.lower())
        known = table.find(field.name)
        if known is None:
            yield f"the table has no column {spelled(here)}"
        else:
            yield from _differences(known.type, field.type, here)
    for field in table:
        if rows.find(field.name) is None and not field.nullable:
            yield f"the rows lack the column {spelled((*path, field.name))}, which is never null"


def _brought(field: Field, rows: Struct) -> WriteColumn:
    found = rows.find(field.name)
    return WriteColumn(field, field, Absent() if found is None else Given(found.name))


def _spec(
    snapshot: Snapshot, columns: tuple[WriteColumn, ...], checks: tuple[Check, ...], row_ids: str | None
) -> WriteSpec:
    schema = as_written(snapshot.columns.arrow(snapshot.schema.names, snapshot.location))
    form = FragmentForm(schema, snapshot.manifest.file_version, snapshot.version, snapshot.place.branch, row_ids)
    return WriteSpec(
        location=snapshot.place.storage.url,
        folder="",
        columns=columns,
        checks=(*not_null_checks(snapshot.schema), *checks),
        storage_options=snapshot.place.options,
        fragments=form,
    )


def not_null_checks(schema: Struct) -> Iterator[Check]:
    """That columns are never null which may not be."""
    for field in schema:
        if not field.nullable:
            yield Check(f"the rule that {field.name} is never null", f"{quoted((field.name,))} IS NOT NULL")


def _differences(table: Type, rows: Type, here: Path) -> Iterator[str]:
    match table, rows:
        case Struct(), Struct():
            yield from mismatches(table, rows, here)
        case Array(), Array():
            yield from _differences(table.element, rows.element, (*here, "element"))
        case Map(), Map():
            yield from _differences(table.key, rows.key, (*here, "key"))
            yield from _differences(table.value, rows.value, (*here, "value"))
        case _ if not _fits(table, rows):
            yield f"the column {spelled(here)} is {table} in the table and {rows} in the rows"


def _fits(table: Type, rows: Type) -> bool:
    """Whether values of the rows' type may be of the table's; where not all are, each is looked at when it is written."""
    if rows in (table, t.VOID):
        return True
    if table in t.INTEGRAL or table in _UNSIGNED:
        return rows in _NARROWER.get(table, ())
    if isinstance(table, Fixed):  # Spark has only bytes of any length
        return rows == t.BINARY
    if isinstance(table, Decimal) and isinstance(rows, Decimal):
        return table.precision - rows.precision >= table.scale - rows.scale >= 0
    return (table, rows) in _SAME


_UNSIGNED = (t.UINT8, t.UINT16, t.UINT32, t.UINT64)
# Spark has no unsigned numbers, so any whole number may be brought for one.
_NARROWER: Mapping[Type, tuple[Type, ...]] = {
    t.SHORT: (t.BYTE, t.UINT8),
    t.INTEGER: (t.BYTE, t.SHORT, t.UINT8, t.UINT16),
    t.LONG: (t.BYTE, t.SHORT, t.INTEGER, t.UINT8, t.UINT16, t.UINT32),
    **{kind: (*t.INTEGRAL, *_UNSIGNED, Decimal(20, 0)) for kind in _UNSIGNED},
}
_SAME = {
    (t.DOUBLE, t.FLOAT), (t.DOUBLE, t.FLOAT16), (t.FLOAT, t.FLOAT16), (t.FLOAT16, t.FLOAT), (t.DOUBLE, t.INTEGER),
    (t.DOUBLE, t.SHORT), (t.DOUBLE, t.BYTE), (t.FLOAT, t.SHORT), (t.FLOAT, t.BYTE), (t.UUID, t.BINARY),
    (t.TIMESTAMP_NS, t.TIMESTAMP), (t.TIMESTAMP_NTZ_NS, t.TIMESTAMP_NTZ),
}  # fmt: skip

"""Which ids and physical names do columns get?  (PROTOCOL.md, "Writer Requirements for Column Mapping")

What was given out stays: ids and names are added where they are missing, and an id is never used twice. Pure but for the
names themselves, which are random.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from uuid import uuid4

from esker.core.column_paths import spelled
from esker.core.nesting import each, walk
from esker.core.predicate import Path
from esker.core.types import Array, Field, Json, Map, Struct, Type
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping import ID, PHYSICAL_NAME, Mode, physical
from esker.delta.column_metadata import with_metadata
from esker.delta.properties import (
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    MAX_COLUMN_ID,
    column_mapping_mode,
    max_column_id,
    value,
)
from esker.errors import InvalidRequest, Unsupported

NESTED_IDS = "delta.columnMapping.nested.ids"
_OLD_NESTED_IDS = "parquet.field.nested.ids"
_HIGHEST = 2**31 - 1  # "a unique 32-bit integer as an id"


def fresh_name(field: Field) -> str:
    """ "Assign a globally unique identifier as the physical name for each new column that is added to the schema." """
    return f"col-{uuid4()}"


def display_name(field: Field) -> str:
    """The name that files have the column under when they were written without mapping."""
    return field.name


def with_mapping(metadata: Metadata, before: Metadata | None) -> Metadata:
    """The metadata with ids and physical names for all its columns, as its mode asks; `before` is None for a fresh table.

    Raises `InvalidRequest` where the mode may not follow the one before.
    """
    mode = column_mapping_mode(metadata.configuration)
    old = None if before is None else column_mapping_mode(before.configuration)
    if old is not None and old is not mode and (old, mode) != (Mode.NONE, Mode.NAME):
        raise InvalidRequest(
            f"the column mapping mode cannot change from {old.value} to {mode.value}",
            hint="A table that is there can only go from none to name; drop the feature to go back.",
        )
    if mode is Mode.NONE:
        return metadata if before is not None else with_schema(metadata, without_mapping(metadata.schema))
    has_nested = any(value(compat, metadata.configuration) for compat in (ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3))
    # Files that are there keep the names that they were written with, whatever the schema says that nobody went by.
    schema, named = (without_mapping(metadata.schema), display_name) if old is Mode.NONE else (metadata.schema, fresh_name)
    schema, highest = assigned(schema, mode, max_column_id(metadata.configuration), named, has_nested)
    configuration = {**metadata.configuration, MAX_COLUMN_ID.name: str(highest)}
    mapped = metadata if schema == metadata.schema else with_schema(metadata, schema)
    return replace(mapped, configuration=configuration)


def assigned(
    schema: Struct, mode: Mode, max_id: int, named: Callable[[Field], str] = fresh_name, nested_ids: bool = False
) -> tuple[Struct, int]:
    """The schema with an id and a physical name for every field at every depth, and the highest id so far.

    `nested_ids` asks for ids of the elements of arrays and the keys and values of maps too.
    """
    if mode is Mode.NONE:
        return schema, max_id
    # "This value must increase monotonically as new columns are introduced"
    highest = max([max_id, *_ids(schema)])
    ids = count(highest + 1)

    def assign(field: Field) -> Field:
        number = _id(field) or next(ids)
        name = field.metadata.get(PHYSICAL_NAME) or named(field)
        return replace(with_metadata(field, {ID: number, PHYSICAL_NAME: name}), id=number)

    def assign_nested(field: Field) -> Field:
        physical = str(field.metadata[PHYSICAL_NAME])
        known = field.metadata.get(NESTED_IDS)
        given: dict[str, Json] = dict(known) if isinstance(known, dict) else {}
        wanted = [key for key in nested_positions(field.type, physical) if key not in given]
        # An entry is drawn from the same numbers as the columns' own ids.
        return with_metadata(field, {NESTED_IDS: given | {key: next(ids) for key in wanted}}) if wanted else field

    mapped = each(schema, assign)
    mapped = each(mapped, assign_nested) if nested_ids else mapped
    highest = max([highest, *_ids(mapped)])
    if highest > _HIGHEST:
        raise Unsupported(f"the table has given out column ids up to {highest}, and {_HIGHEST} is the last one")
    return mapped, highest


def without_mapping(schema: Struct) -> Struct:
    """The schema without ids and physical names."""
    keys = (ID, PHYSICAL_NAME, NESTED_IDS, _OLD_NESTED_IDS)
    return each(schema, lambda field: replace(with_metadata(field, dict.fromkeys(keys)), id=None))


def problems(schema: Struct, mode: Mode, max_id: int) -> Iterator[str]:
    """Ids that are missing, no ids, used twice, or above the highest that the table says it gave out."""
    if mode is Mode.NONE:
        return
    for path, field in walk(schema):
        number = field.metadata.get(ID)
        if _id(field) is None:
            yield f"the column {spelled(path)} has no {ID}" if number is None else (
                f"the column {spelled(path)} has the {ID} {number!r}, which is no number from 1 to {_HIGHEST}"
            )
    for number, times in Counter(_ids(schema)).items():
        if times > 1:
            yield f"the column id {number} is used {times} times"
    if (highest := max(_ids(schema), default=0)) > max_id:
        yield f"{MAX_COLUMN_ID.name} is {max_id}, below the column id {highest}"


def nested_positions(kind: Type, prefix: str) -> Iterator[str]:
    """The elements, keys and values between a field and the struct fields below it.

    "map keys start with the *physical* name of the nearest struct field, e.g. `col-aaa.element`, `col-bbb.value.element`"
    """
    match kind:
        case Array():
            yield f"{prefix}.element"
            yield from nested_positions(kind.element, f"{prefix}.element")
        case Map():
            yield f"{prefix}.key"
            yield from nested_positions(kind.key, f"{prefix}.key")
            yield f"{prefix}.value"
            yield from nested_positions(kind.value, f"{prefix}.value")


def nested_ids(schema: Struct, mapping: Mode) -> Iterator[tuple[Path, int]]:
    """The ids of the elements, keys and values, by their paths in files.

    "These identifiers must be also written to the `field_id` field of the `SchemaElement` struct"  (Iceberg Compatibility V2)
    """
    stored = Struct(tuple(physical(field, mapping) for field in schema)) if mapping is not Mode.NONE else Struct()
    for path, field in walk(stored):
        given = field.metadata.get(NESTED_IDS)
        for key in nested_positions(field.type, field.name):
            if isinstance(given, dict) and isinstance(number := given.get(key), int):
                yield (*path, *key.removeprefix(f"{field.name}.").split(".")), number


def _id(field: Field) -> int | None:
    number = field.metadata.get(ID)
    return number if isinstance(number, int) and 0 < number <= _HIGHEST else None


def _ids(schema: Struct) -> Iterator[int]:
    for _, field in walk(schema):
        if isinstance(number := field.metadata.get(ID), int):
            yield number
        for key in (NESTED_IDS, _OLD_NESTED_IDS):
            nested = field.metadata.get(key)
            yield from (n for n in nested.values() if isinstance(n, int)) if isinstance(nested, dict) else ()

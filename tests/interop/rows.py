"""Do two readers give the same rows?

`content` is what to compare: the columns with their exact types, and the rows in an order of their own. What an Arrow library
may choose (views, large offsets, dictionaries, which fields admit null) is no difference.
"""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import esker
from esker.core.types import VARIANT, any_type
from esker.core.variant import to_json

READERS = ("arrow", "native", "portable")


def content(table: pa.Table) -> dict[str, list[Any]]:
    """The columns and the rows of a table; each row is a text, in which NaN equals NaN and -0.0 differs from 0.0."""
    values = [[_value(item, field.type) for item in column.to_pylist()] for field, column in _columns(table)]
    return {
        "columns": [(field.name, _type(field.type)) for field in table.schema],
        "rows": sorted(repr(row) for row in zip(*values, strict=True)),
    }


def by_arrow(table: esker.Table, columns: list[str] | None = None) -> pa.Table:
    """The rows without Spark, with each column that holds a variant as JSON."""
    found = table.to_arrow(columns)
    for at, field in enumerate(table.schema):
        if any_type(field.type, VARIANT):
            texts = [json.dumps({field.name: _plain(value)}) for value in found.column(at).to_pylist()]
            found = found.set_column(at, field.name, pa.array(texts, pa.string()))
    return found


def by_spark(spark: Any, relation: str) -> Callable[..., pa.Table]:
    """A function that gives the rows of a table, or of its changes, through a relation of Spark."""
    from pyspark.sql import functions as F  # only where there is a session already

    def rows(table: Any, columns: list[str] | None = None) -> pa.Table:
        options = {} if columns is None else {"columns": columns}
        frame = table.to_df(spark, relation=relation, **options)
        return frame.select(*(
            F.to_json(F.struct(column), {"ignoreNullFields": "false"}).alias(field.name)
            if "variant" in field.dataType.simpleString() else column
            for field in frame.schema
            for column in [frame["`" + field.name.replace("`", "``") + "`"]]
        )).toArrow()  # fmt: skip

    return rows


def in_one_spelling(table: pa.Table, columns: list[str]) -> pa.Table:
    """The table with the JSON in these columns spelled alike."""
    for name in columns:
        at = table.column_names.index(name)
        texts = [None if text is None else json.dumps(json.loads(text)) for text in table.column(at).to_pylist()]
        table = table.set_column(at, name, pa.array(texts, pa.string()))
    return table


def _columns(table: pa.Table) -> list[tuple[pa.Field, pa.ChunkedArray]]:
    return list(zip(table.schema, table.columns, strict=True))


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        entries = ((_value(k, kind.key_type), _value(v, kind.item_type)) for k, v in value)
        return sorted(entries, key=repr)
    if pa.types.is_struct(kind):
        return {field.name: _value(value[field.name], field.type) for field in kind}
    if _is_list(kind):
        return [_value(item, kind.value_type) for item in value]
    return value


def _type(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"map<{_type(kind.key_type)}, {_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_type(field.type)}' for field in kind)}>"
    if _is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    return str(kind).removeprefix("large_").removesuffix("_view")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _plain(value: Any) -> Any:
    """A value with each variant in it as what its JSON stands for."""
    match value:
        case {"metadata": bytes(metadata), "value": bytes(data)}:
            return json.loads(to_json(metadata, data))
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
    return value

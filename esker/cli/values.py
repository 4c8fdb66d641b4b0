"""How is a value written down, in JSON and in a table's cell?

JSON has fewer types than a table: an instant, date or time is ISO 8601 text, a decimal is text with all its digits, binary is
base64, and the numbers that JSON lacks are the texts `NaN`, `Infinity` and `-Infinity`. A map whose keys are texts is an
object, any other map a list of `[key, value]`.
"""

from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from math import isfinite, isnan

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.calendar import DAY
from esker.core.types import Array, Field, Json, Map, Struct, Type


def json_rows(batch: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Json]]:
    """Each row as an object."""
    names = batch.schema.names
    for part in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
        for values in zip(*(json_values(column) for column in part.columns), strict=True):
            yield dict(zip(names, values, strict=True))


def json_values(array: pa.Array) -> list[Json]:
    """Each value as JSON has it. By columns, because Python's dates end before Arrow's do."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return json_values(array.storage)
    if pa.types.is_floating(kind):
        return [v if v is None or isfinite(v) else _beyond(v) for v in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if v is None else format(v, "f") for v in array.to_pylist()]
    if pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.unit in _OF_A_DAY):
        return _days_and_moments(array)
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return [None if v is None else v.replace(" ", "T") for v in array.cast(pa.string()).to_pylist()]
    if _is_binary(kind):
        return [None if v is None else b64encode(v).decode() for v in array.to_pylist()]
    if pa.types.is_struct(kind):
        members = {kind.field(i).name: json_values(a) for i, a in enumerate(array.flatten())}
        return [
            {name: values[i] for name, values in members.items()} if valid else None
            for i, valid in enumerate(array.is_valid().to_pylist())
        ]
    if pa.types.is_map(kind):
        return _maps(array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _split(json_values(array.flatten()), array)
    plain: list[Json] = array.to_pylist()
    return plain


def dumps(value: Json) -> str:
    """One line of JSON."""
    return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()


def document(value: Json) -> str:
    """A JSON document for people and programs."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def cell(value: Json) -> str:
    """The value as a table's cell shows it."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool() | list() | dict():
            return dumps(value)
    return str(value)


def moment(value: datetime | None) -> str | None:
    """The moment as ISO 8601 text in UTC."""
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bytes_of(size: int) -> str:
    """The size as people say it."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} PiB"


def json_schema(schema: Struct) -> list[Json]:
    """The columns as JSON."""
    return [_json_field(field) for field in schema]


def _json_field(field: Field) -> Json:
    comment = field.metadata.get("comment")
    told: dict[str, Json] = {"name": field.name, "type": _json_type(field.type), "nullable": field.nullable}
    return told | ({"comment": comment} if comment else {})


def _json_type(kind: Type) -> Json:
    match kind:
        case Struct():
            return {"type": "struct", "fields": json_schema(kind)}
        case Array():
            return {"type": "array", "element": _json_type(kind.element), "contains_null": kind.contains_null}
        case Map():
            told: dict[str, Json] = {"type": "map", "key": _json_type(kind.key), "value": _json_type(kind.value)}
            return told | {"value_contains_null": kind.value_contains_null}
    return str(kind)


def _days_and_moments(array: pa.Array) -> list[Json]:
    """ISO 8601 texts. Those of Arrow are wrong for far years, so each is made of the same day in the years from 1970 to 2369."""
    kind = array.type
    is_date = pa.types.is_date32(kind)
    counts = array.view(pa.int32() if is_date else pa.int64())
    eras, near = np.divmod(pc.fill_null(counts, 0).to_numpy(), _ERA if is_date else _ERA * _OF_A_DAY[kind.unit])
    texts = pa.array(near, counts.type).view(kind).cast(pa.string()).to_pylist()
    years = (int(text[:4]) + 400 * era for text, era in zip(texts, eras.tolist(), strict=True))
    told = (f"{y:0{4 + (y < 0)}}{text[4:].replace(' ', 'T')}" for y, text in zip(years, texts, strict=True))
    return [text if valid else None for text, valid in zip(told, array.is_valid().to_pylist(), strict=True)]


_ERA = 146_097  # days after which the calendar repeats itself
_OF_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": DAY}  # no year is far in nanoseconds


def _beyond(value: float) -> str:
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _is_binary(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary))


def _maps(array: pa.Array) -> list[Json]:
    # The children of a sliced or partly null map hold more than its entries; as a list of structs it is cut to size.
    entries = array.type.key_field, array.type.item_field
    listed = array.cast(pa.list_(pa.struct([pa.field("key", entries[0].type), pa.field("value", entries[1].type)])))
    members = listed.flatten()
    keys, values = (json_values(part) for part in members.flatten())
    pairs = _split([[k, v] for k, v in zip(keys, values, strict=True)], listed)
    if not pa.types.is_string(entries[0].type):
        return pairs
    return [None if p is None else dict(p) for p in pairs]  # type: ignore[arg-type]


def _split(values: list[Json], lists: pa.Array) -> list[Json]:
    """The members of all lists, list by list; null where the list is."""
    members = iter(values)
    lengths = pc.list_value_length(lists).to_pylist()
    return [None if n is None else list(islice(members, n)) for n in lengths]

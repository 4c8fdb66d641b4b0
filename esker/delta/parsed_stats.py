"""How are statistics that a checkpoint keeps as a struct spelled as JSON?  (PROTOCOL.md, "Per-file Statistics")

`stats_parsed` and `stats` say the same in two forms; whoever writes an `add` again needs the text. All files are printed at
once, column by column. What JSON has no form for is left out: a statistic that is missing promises nothing.
"""

from collections.abc import Callable, Mapping

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.types import Struct, Type
from esker.delta.deletion_vectors import z85_encode

_BY_COLUMN = ("minValues", "maxValues", "nullCount")


def stats_texts(parsed: pa.StructArray, stored: Struct) -> pa.StringArray:
    """The `stats` of each row of `stats_parsed`, null where that is null. `stored` is the schema by physical names."""
    return _object(parsed, dict.fromkeys(_BY_COLUMN, stored))


def _object(structs: pa.StructArray, kinds: Mapping[str, Type]) -> pa.StringArray:
    """A JSON object for each struct that is not null, with the members that have a value."""
    members = [pa.nulls(len(structs), pa.string()).fill_null("")]
    for at, field in enumerate(structs.type):
        texts = _texts(pc.struct_field(structs, [at]), kinds.get(field.name))
        if texts is not None:
            label = f",{orjson.dumps(field.name).decode()}:"
            members.append(pc.coalesce(pc.binary_join_element_wise(label, texts, ""), ""))
    inside = pc.utf8_ltrim(pc.binary_join_element_wise(*members, ""), ",")
    objects = pc.binary_join_element_wise("{", inside, "}", "")
    return pc.if_else(pc.is_valid(structs), objects, pa.scalar(None, pa.string()))


def _texts(values: pa.Array, kind: Type | None) -> pa.StringArray | None:
    """The values as JSON, null for each that has no form in it; None where the type has none."""
    stored = values.type
    if stored == _VARIANT:
        return _by_value(values, _variant)
    if pa.types.is_struct(stored):
        return _object(values, {f.name: f.type for f in kind} if isinstance(kind, Struct) else {})
    if pa.types.is_timestamp(stored):
        return _moments(values, kind)
    for is_of, spell in _SPELLINGS:
        if is_of(stored):
            return spell(values)
    return None


def _plain(values: pa.Array) -> pa.StringArray:
    return values.cast(pa.string())


def _finite(values: pa.Array) -> pa.StringArray:
    return pc.if_else(pc.is_finite(values), values.cast(pa.string()), pa.scalar(None, pa.string()))


def _by_value(values: pa.Array, spell: Callable[[object], str]) -> pa.StringArray:
    return pa.array([None if value is None else spell(value) for value in values.to_pylist()], pa.string())


def _variant(value: object) -> str:
    # "bytes = variant metadata followed by variant value, Z85-encoded to a string"
    assert isinstance(value, dict)
    return orjson.dumps(z85_encode(value["metadata"] + value["value"])).decode()


def _dates(values: pa.Array) -> pa.StringArray:
    return _quoted(values, "%Y-%m-%d", "")


def _moments(values: pa.Array, kind: Type | None) -> pa.StringArray | None:
    """ "Timestamp columns are truncated down to milliseconds." INT96 does not say whether it is an instant; the schema does."""
    if kind not in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return None
    plain = values.view(pa.timestamp(values.type.unit))
    millis = pc.floor_temporal(plain, unit="millisecond").cast(pa.timestamp("ms"))
    return _quoted(millis, "%Y-%m-%dT%H:%M:%S", "Z" if kind == t.TIMESTAMP else "")


def _quoted(values: pa.Array, pattern: str, zone: str) -> pa.StringArray:
    """Only the years 1 to 9999: not every reader knows others."""
    year = pc.year(values)
    is_known = pc.and_(pc.greater_equal(year, 1), pc.less_equal(year, 9999))
    texts = pc.binary_join_element_wise('"', pc.strftime(values, pattern), f'{zone}"', "")
    return pc.if_else(is_known, texts, pa.scalar(None, pa.string()))


_VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
_SPELLINGS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.StringArray]], ...] = (
    (pa.types.is_integer, _plain),
    (pa.types.is_boolean, _plain),
    (pa.types.is_floating, _finite),
    (pa.types.is_decimal, lambda values: _by_value(values, lambda value: format(value, "f"))),
    (pa.types.is_date32, _dates),
    (pa.types.is_string, lambda values: _by_value(values, lambda value: orjson.dumps(value).decode())),
)

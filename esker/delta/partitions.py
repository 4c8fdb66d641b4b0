"""Which value does a partition text stand for?  (PROTOCOL.md, "Partition Value Serialization")"""

from collections.abc import Callable, Mapping
from decimal import Decimal as Number
from decimal import InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import calendar
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.columns import array
from esker.core.types import Decimal, Type
from esker.errors import InvalidTable, Unsupported


def parse_values(texts: pa.Array, kind: Type, column: str, where: str) -> pa.Array:
    """The typed values of the texts. "An empty string for any type translates to a `null` partition value"."""
    distinct = texts.dictionary_encode()
    parse = _parser(kind, where)
    values = []
    for text in distinct.dictionary.to_pylist():
        try:
            values.append(None if text == "" else parse(text))
        except (ValueError, InvalidOperation, OverflowError) as error:
            raise InvalidTable(f"the partition value {text!r} of {column} is not of type {kind}", where=where) from error
    target = to_arrow(kind)
    try:
        parsed = array(values, _storage(target)).cast(target)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InvalidTable(f"a partition value of {column} is out of range for {kind}: {error}", where=where) from error
    return pc.take(parsed, distinct.indices)


def _parser(kind: Type, where: str) -> Callable[[str], object]:
    if isinstance(kind, Decimal):
        return lambda text: _decimal(_plain(text), kind)
    if kind in _PARSERS:
        return _PARSERS[kind]
    raise Unsupported(f"a partition column of type {kind}", where=where)


def _storage(target: pa.DataType) -> pa.DataType:
    """What the parsers give: dates and times as counts, which reach further than Python's own types."""
    if pa.types.is_date(target):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(target) else target


def _decimal(text: str, kind: Decimal) -> Number:
    value = Number(text)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent > kind.scale:
        raise ValueError(f"{text} has more than {kind.scale} digits behind the point")
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _plain(text: str) -> str:
    if "_" in text:  # Python would let it pass
        raise ValueError(text)
    return text


def _integer(text: str) -> int:
    return int(_plain(text))


def _float(text: str) -> float:
    return float(_plain(text))


_PARSERS: Mapping[Type, Callable[[str], object]] = {
    t.STRING: str, t.BOOLEAN: _boolean, t.BYTE: _integer, t.SHORT: _integer, t.INTEGER: _integer, t.LONG: _integer,
    t.FLOAT: _float, t.DOUBLE: _float, t.DATE: calendar.days, t.TIMESTAMP: calendar.micros,
    t.TIMESTAMP_NTZ: calendar.micros, t.BINARY: str.encode, t.VOID: lambda text: None,
}  # fmt: skip

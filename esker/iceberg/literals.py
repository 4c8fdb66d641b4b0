"""Which value does a default's SQL say?  (spec, "Default values": single values, not expressions)"""

from datetime import date, datetime
from decimal import Decimal as Number

from esker.core import types as t
from esker.core.binding import bind
from esker.core.predicate import Comparison
from esker.core.sql import parse
from esker.core.types import Decimal, Field, Json, Struct, Type
from esker.errors import EskerError, InvalidRequest
from esker.iceberg.single_values import parse_json_value, to_json

_NAME = "x"
_EPOCH = date(1970, 1, 1).toordinal()
_UNITS: dict[Type, int] = {t.TIMESTAMP: 1, t.TIMESTAMP_NTZ: 1, t.TIMESTAMP_NS: 1000, t.TIMESTAMP_NTZ_NS: 1000}


def default_json(sql: str, kind: Type) -> Json:
    """The JSON of a literal's value; None for NULL. Raises `InvalidRequest` where it is no literal of the type."""
    text = sql.strip()
    if text.upper() == "NULL":
        return None
    if text.upper() in ("TRUE", "FALSE") and kind == t.BOOLEAN:
        return text.upper() == "TRUE"
    try:
        found = bind(parse(f"{_NAME} = {text}"), Struct((Field(_NAME, kind),)))
    except EskerError as error:
        raise _refusal(sql, kind) from error
    if not isinstance(found, Comparison) or found.column != (_NAME,):
        raise _refusal(sql, kind)
    json = _json(found.value, kind)
    if json is None:
        raise _refusal(sql, kind)
    parse_json_value(json, kind)
    return json


def _json(value: object, kind: Type) -> Json:
    match value, kind:
        case Number(), Decimal():
            return to_json(value, kind)
        case int(), Decimal():
            return to_json(Number(value), kind)
        case datetime(), _ if kind in _UNITS:
            return to_json(_micros(value) * _UNITS[kind], kind)
        case date(), t.DATE if not isinstance(value, datetime):
            return to_json(value.toordinal() - _EPOCH, kind)
        case (int() | float() | Number()), (t.FLOAT | t.DOUBLE):
            return float(value)
        case int(), (t.INTEGER | t.LONG):
            return value
        case str(), t.STRING:
            return value
        case bytes(), _:
            return to_json(value, kind)
    return None


def _micros(value: datetime) -> int:
    day = value.toordinal() - _EPOCH
    clock = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    offset = value.utcoffset()
    shift = 0 if offset is None else int(offset.total_seconds()) * 1_000_000
    return day * 86_400_000_000 + clock - shift


def _refusal(sql: str, kind: Type) -> InvalidRequest:
    return InvalidRequest(f"{sql} is no literal of the type {kind}", hint="An Iceberg default is a value, not an expression.")

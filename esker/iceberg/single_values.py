"""How is one value written in JSON?  (Iceberg specification, "JSON single-value serialization", Appendix D)

Default values of columns are kept so. Plain values as in `bounds`; a struct is a mapping by field ids, a list a list, a map a
list of pairs.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import TypeAlias
from uuid import UUID

from esker.core import calendar
from esker.core import types as t
from esker.core.decimals import rescaled
from esker.core.footers import Bound
from esker.core.types import Array, Decimal, Fixed, Json, Map, Struct, Type
from esker.errors import InvalidTable, Unsupported

SingleValue: TypeAlias = (
    "Bound | Mapping[int, SingleValue] | Sequence[SingleValue] | Sequence[tuple[SingleValue, SingleValue]] | None"
)

_DAY = calendar.DAY
_UNITS: dict[Type, int] = {t.TIMESTAMP: 6, t.TIMESTAMP_NTZ: 6, t.TIMESTAMP_NS: 9, t.TIMESTAMP_NTZ_NS: 9}
_WITH_ZONE = (t.TIMESTAMP, t.TIMESTAMP_NS)


def to_json(value: SingleValue, kind: Type) -> Json:
    """The value as JSON."""
    if value is None:
        return None
    match kind, value:
        case t.BOOLEAN, bool():
            return value
        case (t.INTEGER | t.LONG), int():
            return value
        case t.STRING, str():
            return value
        case (t.FLOAT | t.DOUBLE), (int() | float()):
            return float(value)
        case Decimal(), Number():
            return str(rescaled(value, kind.scale)) if kind.scale >= 0 else str(value)
        case t.DATE, int():
            return _told(calendar.date_text(value), value, kind)
        case t.TIME, int():
            return _clock(value, 6)
        case (t.TIMESTAMP | t.TIMESTAMP_NTZ | t.TIMESTAMP_NS | t.TIMESTAMP_NTZ_NS), int():
            return _timestamp(value, kind)
        case t.UUID, bytes():
            return str(UUID(bytes=value))
        case (Fixed() | t.BINARY), bytes():
            return value.hex()
        case Struct(), Mapping():
            return {str(f.id): to_json(value[f.id], f.type) for f in kind if f.id is not None and f.id in value}
        case Map(), Sequence():
            return {
                "keys": [to_json(key, kind.key) for key, _ in _pairs(value)],
                "values": [to_json(item, kind.value) for _, item in _pairs(value)],
            }
        case Array(), Sequence() if not isinstance(value, str | bytes):
            return [to_json(element, kind.element) for element in value]
    raise Unsupported(f"a value of the type {kind} cannot be written in JSON: {value!r}")


def _pairs(value: object) -> list[tuple[SingleValue, SingleValue]]:
    return list(value) if isinstance(value, list | tuple) else []


def _told(text: str | None, value: int, kind: Type) -> str:
    if text is None:
        raise Unsupported(f"a {kind} outside the years 1 to 9999 cannot be written in JSON: {value}")
    return text


def _timestamp(value: int, kind: Type) -> str:
    digits = _UNITS[kind]
    day, rest = divmod(value, _DAY * 10 ** (digits - 6))
    zone = "+00:00" if kind in _WITH_ZONE else ""
    return f"{_told(calendar.date_text(day), value, kind)}T{_clock(rest, digits)}{zone}"


def _clock(units: int, digits: int) -> str:
    seconds, fraction = divmod(units, 10**digits)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def parse_json_value(found: Json, kind: Type) -> SingleValue:
    """The value that JSON holds. Raises `InvalidTable` where it holds none of this type."""
    if found is None:
        return None
    try:
        value = _parse(found, kind)
    except (ValueError, InvalidOperation) as error:
        raise InvalidTable(f"{found!r} is no value of the type {kind}") from error
    if value is None:
        raise InvalidTable(f"{found!r} is no value of the type {kind}")
    return value


def _parse(found: Json, kind: Type) -> SingleValue:
    match kind, found:
        case t.BOOLEAN, bool():
            return found
        case t.STRING, str():
            return found
        case (t.INTEGER | t.LONG), int() if not isinstance(found, bool):
            return found
        case (t.FLOAT | t.DOUBLE), (int() | float()) if not isinstance(found, bool):
            return float(found)
        case Decimal(), (str() | int() | float()):
            return _decimal(str(found), kind)
        case t.DATE, str():
            return calendar.days(found)
        case t.TIME, str():
            return calendar.micros(f"1970-01-01T{found}")
        case (t.TIMESTAMP | t.TIMESTAMP_NTZ | t.TIMESTAMP_NS | t.TIMESTAMP_NTZ_NS), str():
            return _parse_timestamp(found, kind)
        case t.UUID, str():
            return UUID(found).bytes
        case (Fixed() | t.BINARY), str():
            return bytes.fromhex(found)
        case Struct(), dict():
            return {f.id: parse_json_value(found[str(f.id)], f.type) for f in kind if f.id is not None and str(f.id) in found}
        case Array(), list():
            return [parse_json_value(element, kind.element) for element in found]
        case Map(), {"keys": list() as keys, "values": list() as values} if len(keys) == len(values):
            return [
                (parse_json_value(key, kind.key), parse_json_value(value, kind.value))
                for key, value in zip(keys, values, strict=True)
            ]
    return None


def _decimal(text: str, kind: Decimal) -> Number:
    value = Number(text)
    exact = rescaled(value, kind.scale)
    if exact != value or len(exact.as_tuple().digits) > kind.precision:
        raise ValueError(text)
    return exact


def _parse_timestamp(text: str, kind: Type) -> int:
    # "must not include a zone offset", and "must include a zone offset and it must be '+00:00'"
    if calendar.has_zone(text) != (kind in _WITH_ZONE):
        raise ValueError(text)
    micros = calendar.micros(text)
    if _UNITS[kind] == 6:
        return micros
    fraction = text.partition(".")[2].partition("+")[0].rstrip("Z").ljust(9, "0")
    return micros * 1000 + int(fraction[6:9])

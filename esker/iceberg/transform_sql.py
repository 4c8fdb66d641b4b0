"""How does Spark compute a transform?  (spec, "Partition Transforms", Appendix B)

As an expression of its own, where there is one; `{}` stands for the column. Times are counted in UTC, whatever the session's.
"""

from typing import assert_never

from esker.core import types as t
from esker.core.types import Decimal, Type
from esker.iceberg.transforms import Bucket, Identity, Time, Transform, Truncate, Unknown, Void

_DAY = 86_400_000_000
_SEED_ZERO = -1_693_959_553
"""The number whose hash is 0: Spark seeds the hash of an argument by that of the one before."""


def transform_sql(transform: Transform, source: Type) -> str | None:
    """The expression; None where Spark has none."""
    match transform:
        case Identity():
            return "{}"
        case Void():
            return "NULL"
        case Bucket(count):
            # Spark's hash passes over nulls, and would give them the bucket of the seed
            hashed = _number(source)
            bucket = f"pmod(hash({_SEED_ZERO}, {hashed}) & 2147483647, {count})"
            return None if hashed is None else f"CASE WHEN {{}} IS NOT NULL THEN {bucket} END"
        case Truncate(width):
            return _truncated(width, source)
        case Time(unit):
            return _since_epoch(unit, source)
        case Unknown():
            return None
    assert_never(transform)


def _number(source: Type) -> str | None:
    match source:
        case t.INTEGER | t.LONG:
            return "cast({} AS bigint)"
        case t.DATE:
            return "cast(unix_date({}) AS bigint)"
        case t.TIMESTAMP:
            return "unix_micros({})"
        case t.TIMESTAMP_NTZ:
            return "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {})"
    return None


def _truncated(width: int, source: Type) -> str | None:
    match source:
        case t.INTEGER | t.LONG:
            return f"({{}} - pmod({{}}, cast({width} AS {'int' if source == t.INTEGER else 'bigint'})))"
        case t.STRING | t.BINARY:
            return f"substring({{}}, 1, {width})"
        case Decimal():
            return None
    return None


def _since_epoch(unit: str, source: Type) -> str | None:
    if source == t.DATE:
        days = "unix_date({})"
    elif source in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        micros = _number(source)
        days = f"cast(({micros} - pmod({micros}, {_DAY})) div {_DAY} AS int)"
    else:
        return None
    match unit:
        case "hour":
            hour = _DAY // 24
            return f"cast(({_number(source)} - pmod({_number(source)}, {hour})) div {hour} AS int)"
        case "day":
            return f"date_from_unix_date({days})"
        case "month":
            date = f"date_from_unix_date({days})"
            return f"((year({date}) - 1970) * 12 + month({date}) - 1)"
    return f"(year(date_from_unix_date({days})) - 1970)"

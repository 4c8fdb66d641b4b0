"""How does a folder's name tell a partition value exactly?

Spark's writer keeps rows apart by folders, whose names are texts. Whatever the value, its text leads back to it: what counts days
or units of time is a number, bytes are hexadecimal, and so is a text that a folder's name cannot be.
"""

from collections.abc import Callable
from decimal import Decimal as Number

from pyspark.sql import Column
from pyspark.sql import functions as F

from esker.core import types as t
from esker.core.column_paths import quoted
from esker.core.footers import Bound
from esker.core.types import Decimal, Type
from esker.core.write import Derived

_HEX = "0x"
_NOWHERE = "__HIVE_DEFAULT_PARTITION__"


def value_of(derived: Derived) -> Column:
    """The value that is computed of a column."""
    return F.expr(_sql(derived))


def _sql(derived: Derived) -> str:
    assert derived.sql is not None
    return derived.sql.replace("{}", quoted(derived.source))


def value_text(derived: Derived) -> Column:
    """The text of the value; null for null."""
    value = value_of(derived)
    match derived.type:
        case t.DATE:
            return F.unix_date(value).cast("string")
        case t.TIMESTAMP:
            return F.unix_micros(value).cast("string")
        case t.TIMESTAMP_NTZ:
            epoch = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
            return F.expr(f"timestampdiff(MICROSECOND, {epoch}, {_sql(derived)})").cast("string")
        case t.BINARY:
            return F.concat(F.lit(_HEX), F.hex(value))
        case t.STRING:
            is_plain = (value != "") & (value != _NOWHERE) & ~value.startswith(_HEX) & ~F.contains(value, F.lit("\0"))
            return F.when(is_plain, value).when(value.isNotNull(), F.concat(F.lit(_HEX), F.hex(value.cast("binary"))))
    return value.cast("string")


def parse_value(text: str, kind: Type) -> Bound:
    """The value that a text of a type tells."""
    if kind in _READ:
        return _READ[kind](text)
    return Number(text) if isinstance(kind, Decimal) else int(text)


def _text(text: str) -> str:
    return bytes.fromhex(text.removeprefix(_HEX)).decode() if text.startswith(_HEX) else text


_READ: dict[Type, Callable[[str], Bound]] = {
    t.STRING: _text, t.BINARY: lambda text: bytes.fromhex(text.removeprefix(_HEX)), t.BOOLEAN: lambda text: text == "true",
    t.FLOAT: float, t.DOUBLE: float,
}  # fmt: skip

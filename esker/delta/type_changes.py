"""Which types may a column change to, and how is that remembered?  (PROTOCOL.md, "Type Widening")

What writers may do. `type_widening` tells what readers must expect, which is more: writers of the preview did more.
"""

from collections.abc import Mapping

from esker.core import types as t
from esker.core.predicate import Path
from esker.core.types import Decimal, Field, Json, Type
from esker.delta.column_metadata import with_metadata
from esker.delta.type_widening import TYPE_CHANGES

_WIDER: Mapping[Type, tuple[Type, ...]] = {
    t.BYTE: (t.SHORT, t.INTEGER, t.LONG, t.DOUBLE),
    t.SHORT: (t.INTEGER, t.LONG, t.DOUBLE),
    t.INTEGER: (t.LONG, t.DOUBLE),
    t.FLOAT: (t.DOUBLE,),
    t.DATE: (t.TIMESTAMP_NTZ,),
}
_DIGITS: Mapping[Type, int] = {t.BYTE: 10, t.SHORT: 10, t.INTEGER: 10, t.LONG: 20}


def is_allowed(old: Type, new: Type) -> bool:
    """Whether the specification's list has the change: "Anything else is rejected." """
    if isinstance(new, Decimal):
        if isinstance(old, Decimal):
            return new.precision - old.precision >= new.scale - old.scale >= 0 and new != old
        return old in _DIGITS and new.precision - _DIGITS[old] >= new.scale
    return new in _WIDER.get(old, ())


def is_automatic(old: Type, new: Type) -> bool:
    """Whether rows may bring the change about. To another family of types a column goes only when it is told to."""
    return is_allowed(old, new) and _family(old) == _family(new)


def is_known_to_iceberg(old: Type, new: Type) -> bool:
    """Whether Iceberg allows the change too: whole numbers and floats grow, decimals get digits before the point."""
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        return is_allowed(old, new) and old.scale == new.scale
    return is_automatic(old, new)


def recorded(field: Field, inside: Path, old: Type, new: Type) -> Field:
    """The field with the change noted in its metadata, after those that are there.

    `inside` leads from the field to an element, a key or a value: "`fieldPath` only for array/map positions".
    """
    change: dict[str, Json] = {"fromType": str(old), "toType": str(new)}
    if inside:
        change["fieldPath"] = ".".join(inside)
    earlier = field.metadata.get(TYPE_CHANGES)
    return with_metadata(field, {TYPE_CHANGES: [*(earlier if isinstance(earlier, list) else []), change]})


def _family(kind: Type) -> str:
    if isinstance(kind, Decimal):
        return "decimal"
    return "integral" if kind in t.INTEGRAL else "fractional" if kind in t.FRACTIONAL else str(kind)

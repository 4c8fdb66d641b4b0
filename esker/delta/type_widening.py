"""Which type changes may a table have been through?  (PROTOCOL.md, "Type Widening")"""

import re
from collections.abc import Iterator
from dataclasses import replace

from esker.core.nesting import walk
from esker.core.types import Array, Decimal, Field, Map, Struct, Type, structs

TYPE_CHANGES = "delta.typeChanges"

_INTEGRAL = ("byte", "short", "integer", "long")
# The specification asks for 10 digits for byte and short too; writers of the preview gave them what their values need.
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
# Spark records changes of a text's length too; they are no change of type here
_TEXT = re.compile(r"string( collate \S+)?|(var)?char\(\d+\)")


def is_widening(old: str, new: str) -> bool:
    """Whether every value of the old type can be read as the new one, by the list in the specification."""
    if _TEXT.fullmatch(old) and _TEXT.fullmatch(new):
        return True
    if old in _INTEGRAL and new in _INTEGRAL:
        return _INTEGRAL.index(old) <= _INTEGRAL.index(new)
    if (old, new) in (("float", "double"), ("date", "timestamp_ntz")) or old == new:
        return True
    if old in ("byte", "short", "integer") and new == "double":
        return True
    if target := _DECIMAL.fullmatch(new):
        precision, scale = int(target[1]), int(target[2])
        if source := _DECIMAL.fullmatch(old):
            more, finer = precision - int(source[1]), scale - int(source[2])
            return more >= finer >= 0
        if old in _DIGITS:
            return precision - _DIGITS[old] >= scale
    return False


def is_recorded(schema: Struct) -> bool:
    """Whether a column, or what it is made of, had another type before."""
    return any(TYPE_CHANGES in field.metadata for _, field in walk(schema))


def as_read(field: Field) -> Field:
    """The field with decimals wide enough for whatever its files hold.

    A decimal that was an integer is in older files as one, which readers take for as many digits as an integer can have.
    """
    digits = max((_DIGITS[old] for old in _old_types(field) if old in _DIGITS), default=0)
    return replace(field, type=_with_digits(field.type, max(digits, 10) if digits else 0))


def was_float(field: Field) -> bool:
    """Whether files may hold the column, now a double, as a float."""
    return "float" in _old_types(field)


def _with_digits(kind: Type, digits: int) -> Type:
    match kind:
        case Decimal() if digits:
            return Decimal(min(38, max(kind.precision, digits + kind.scale)), kind.scale)
        case Array():
            return replace(kind, element=_with_digits(kind.element, digits))
        case Map():
            return replace(kind, key=_with_digits(kind.key, digits), value=_with_digits(kind.value, digits))
        case Struct():
            return Struct(tuple(as_read(f) for f in kind))
    return kind


def _old_types(field: Field) -> Iterator[str]:
    changes = field.metadata.get(TYPE_CHANGES)
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict) and isinstance(old := change.get("fromType"), str):
            yield old


def problems(schema: Struct, path: str = "") -> Iterator[str]:
    """The recorded changes that are not in the specification: a reader "must [...] fail" on them."""
    for field in schema:
        here = f"{path}.{field.name}" if path else field.name
        yield from _field_problems(field, here)
        for child in structs(field.type):
            yield from problems(child, here)


def _field_problems(field: Field, here: str) -> Iterator[str]:
    changes = field.metadata.get(TYPE_CHANGES)
    for change in changes if isinstance(changes, list) else [] if changes is None else [changes]:
        match change:
            case {"fromType": str(old), "toType": str(new)} if is_widening(old, new):
                continue
            case {"fromType": old, "toType": new}:
                yield f"the column {here} was changed from {old} to {new}, which is no widening"
            case _:
                yield f"the column {here} has a malformed entry in {TYPE_CHANGES}"

"""Which types a column may change to, and how that is remembered.  (PROTOCOL.md, "Type Widening")"""

import pytest

from esker.core import types as t
from esker.core.types import Decimal, Field, Type
from esker.delta.type_changes import is_allowed, is_automatic, is_known_to_iceberg, recorded
from esker.delta.type_widening import is_widening

D = Decimal
ALLOWED: list[tuple[Type, Type, str]] = [  # a: also by rows, i: also with Iceberg
    (t.BYTE, t.SHORT, "ai"), (t.BYTE, t.INTEGER, "ai"), (t.BYTE, t.LONG, "ai"), (t.BYTE, t.DOUBLE, ""), (t.BYTE, D(10, 0), ""),
    (t.SHORT, t.INTEGER, "ai"), (t.SHORT, t.LONG, "ai"), (t.SHORT, t.DOUBLE, ""), (t.SHORT, D(12, 2), ""),
    (t.INTEGER, t.LONG, "ai"), (t.INTEGER, t.DOUBLE, ""), (t.INTEGER, D(10, 0), ""), (t.INTEGER, D(15, 5), ""),
    (t.LONG, D(20, 0), ""), (t.LONG, D(23, 3), ""), (t.FLOAT, t.DOUBLE, "ai"), (t.DATE, t.TIMESTAMP_NTZ, ""),
    (D(5, 2), D(6, 2), "ai"), (D(5, 2), D(8, 5), "a"), (D(5, 2), D(38, 2), "ai"), (D(1, 0), D(38, 37), "a"),
]  # fmt: skip
REFUSED: list[tuple[Type, Type]] = [
    (t.BYTE, D(3, 0)), (t.BYTE, D(9, 0)), (t.SHORT, D(5, 0)), (t.INTEGER, D(12, 3)), (t.LONG, D(19, 0)), (t.LONG, D(20, 1)),
    (t.SHORT, t.BYTE), (t.LONG, t.INTEGER), (t.LONG, t.DOUBLE), (t.INTEGER, t.FLOAT), (t.DOUBLE, t.FLOAT), (t.DATE, t.TIMESTAMP),
    (t.TIMESTAMP, t.TIMESTAMP_NTZ), (D(5, 2), D(4, 2)), (D(5, 2), D(5, 3)), (D(5, 2), D(7, 5)), (D(5, 2), D(6, 1)), (D(5, 0), t.LONG),
    (t.STRING, t.INTEGER), (t.INTEGER, t.STRING), (t.BOOLEAN, t.INTEGER), (t.LONG, t.LONG), (D(5, 2), D(5, 2)), (t.FLOAT, D(10, 2)),
]  # fmt: skip


@pytest.mark.parametrize("old, new, more", ALLOWED)
def test_the_changes_of_the_specifications_list_are_allowed(old: Type, new: Type, more: str) -> None:
    """newest text, 3.1: "Allowed changes (from -> to)"; "integer->decimal and integer->double only through an explicit ALTER";
    C19: "if typeWidening is supported, every recorded type change must be one Iceberg V2 allows" """
    assert is_allowed(old, new)
    assert is_automatic(old, new) == ("a" in more)
    assert is_known_to_iceberg(old, new) == ("i" in more)
    assert is_widening(str(old), str(new)), "what we write, we can read"


@pytest.mark.parametrize("old, new", REFUSED)
def test_any_other_change_is_refused(old: Type, new: Type) -> None:
    """newest text, 3.1: "Anything else is rejected." """
    assert not is_allowed(old, new)
    assert not is_automatic(old, new)
    assert not is_known_to_iceberg(old, new)


def test_changes_are_recorded_in_order_with_the_place_in_arrays_and_maps() -> None:
    """newest text, 3.1: "JSON list (oldest first) of `{fromType, toType, fieldPath?}`", "nested ones joined by dots" """
    field = recorded(Field("a", t.LONG, metadata={"comment": "x"}), (), t.SHORT, t.INTEGER)
    field = recorded(field, ("element", "value"), D(5, 2), D(6, 2))
    assert field.metadata == {
        "comment": "x",
        "delta.typeChanges": [
            {"fromType": "short", "toType": "integer"},
            {"fromType": "decimal(5,2)", "toType": "decimal(6,2)", "fieldPath": "element.value"},
        ],
    }


def test_a_preview_writers_record_is_kept_as_it_is() -> None:
    """newest text, 3.1: "Preview writers also emitted `tableVersion` (long): preserve it" """
    old = {"fromType": "byte", "toType": "short", "tableVersion": 3}
    field = recorded(Field("a", t.SHORT, metadata={"delta.typeChanges": [old]}), (), t.SHORT, t.LONG)
    assert field.metadata["delta.typeChanges"] == [old, {"fromType": "short", "toType": "long"}]

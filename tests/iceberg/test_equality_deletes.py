"""Which rows equal a deleted one, whoever reads?  (spec, "Equality Delete Files", "Scan Planning")

Each case is a table by hand, and what is left of its rows by the specification; Arrow and both ways of Spark have to agree on it.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Field, Struct, Type
from esker.iceberg.schema import Schema
from esker.iceberg.updates import AddSchema, SetCurrentSchema, updated
from tests.iceberg.tables import Builder, spec

SCHEMA = Struct((Field("id", t.LONG, id=1), Field("k", t.STRING, id=2)))
POINT = Struct((Field("x", t.LONG, id=11), Field("y", t.STRING, id=12)))


def rows(*told: tuple[Any, ...], schema: Struct = SCHEMA, kinds: dict[str, pa.DataType] | None = None) -> pa.Table:
    """Rows as the fields come; `kinds` are the types of columns that files have in another one than the table."""
    known = {"id": pa.int64(), "k": pa.string(), "point": pa.struct({"x": pa.int64(), "y": pa.string()}), **(kinds or {})}
    columns = zip(*told, strict=True)
    return pa.table({f.name: pa.array(c, known.get(f.name)) for f, c in zip(schema, columns, strict=True)})


def evolved(table: Builder, schema: Struct) -> None:
    """From now on the columns are these."""
    number = table.metadata.current_schema_id + 1
    table.schema = schema
    table.metadata = updated(table.metadata, [AddSchema(Schema(schema, number)), SetCurrentSchema(number)], 1)


def one_in_its_partition(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "a")), ["a"]), table.data(rows((1, "b"), (3, "b")), ["b"]))
    table.commit(table.equality(rows((1, "b"), (2, "b")), [1], ["b"]))
    return [1, 2, 3]


def partition_null(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, None), (2, None)), [None]), table.data(rows((1, "b")), ["b"]))
    table.commit(table.equality(rows((1, None)), [1], [None]))
    return [1, 2]


def global_one(table: Builder) -> list[int]:
    """ "Stored with an unpartitioned spec": without fields, or with such as are void."""
    table.commit(table.data(rows((1, "a"), (2, "a")), ["a"]), table.data(rows((1, "b"), (3, "b")), ["b"]))
    table.commit(table.equality(rows((1, "zzz")), [1], [None for _ in table.specs[1].fields], spec_id=1))
    return [2, 3]


def another_spec_of_the_same_values(table: Builder) -> list[int]:
    """ "The data file's partition (both spec id and partition values)" """
    table.commit(table.data(rows((1, "a")), ["a"], 0), table.data(rows((1, "a"), (2, "a")), ["a"], 1))
    table.commit(table.equality(rows((1, "a")), [1], ["a"], 1))
    return [1, 2]


def several_field_ids(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "d"))))
    table.commit(table.equality(rows((1, "zzz")), [1]), table.equality(rows((0, "b")), [2]))
    table.commit(table.equality(rows((3, "no"), (4, "d")), [2, 1]), table.equality(rows((5, "no")), [1, 2]))
    return [3, 5]


def strictly_older(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "a"))))
    table.commit(table.data(rows((1, "b"))), table.equality(rows((1, "")), [1]))
    table.commit(table.data(rows((2, "c"))))
    return [1, 2, 2]


def nulls_of_several_columns(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, None), (1, "a"), (2, None), (3, "b"))))
    table.commit(table.equality(rows((1, None), (3, None)), [1, 2]))
    return [1, 2, 3]


def all_null(table: Builder) -> list[int | None]:
    table.commit(table.data(rows((None, None), (None, "a"), (2, None))))
    table.commit(table.equality(rows((None, None)), [1, 2]))
    return [2, None]


def dropped(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "b"))))
    table.commit(table.equality(rows((9, "b")), [2]))
    evolved(table, Struct(SCHEMA.fields[:1]))
    return [1]


def dropped_and_another_of_its_name(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "b"))))
    table.commit(table.equality(rows((9, "b")), [2]))
    evolved(table, Struct((SCHEMA.fields[0], Field("k", t.STRING, id=3))))
    table.commit(table.data(rows((3, "b"))))
    return [1, 3]


def dropped_after_it_was_widened(table: Builder) -> list[int]:
    narrow = Struct((Field("id", t.LONG, id=1), Field("n", t.INTEGER, id=2)))
    table.schema = narrow
    table.metadata = replace(table.metadata, schemas=(Schema(narrow),))
    table.commit(table.data(rows((1, 5), (2, 6), schema=narrow), fields=narrow.fields))
    evolved(table, Struct((narrow.fields[0], Field("n", t.LONG, id=2))))
    table.commit(table.equality(rows((9, 6), schema=narrow), [2]))
    evolved(table, Struct(narrow.fields[:1]))
    return [1]


def renamed(table: Builder) -> list[int]:
    table.commit(table.data(rows((1, "a"), (2, "b"))))
    evolved(table, Struct((SCHEMA.fields[0], Field("key", t.STRING, id=2))))
    table.commit(table.equality(rows((9, "b")).rename_columns(["id", "key"]), [2]))
    return [1]


def added(table: Builder) -> list[int]:
    """ "The column value is read for older data files using normal projection rules (defaults to `null`)." """
    wider = Struct((*SCHEMA, Field("level", t.LONG, id=3)))
    table.commit(table.data(rows((1, "a"), (2, "b"))))
    evolved(table, wider)
    table.commit(table.data(rows((3, "a", None), (4, "a", 7), schema=wider)))
    table.commit(table.equality(rows((0, "a", None), schema=wider), [2, 3]))
    return [2, 4]


def added_with_default(table: Builder) -> list[int]:
    wider = Struct((*SCHEMA, Field("level", t.LONG, id=3, metadata={"initial-default": 7})))
    table.commit(table.data(rows((1, "a"), (2, "b"))))
    evolved(table, wider)
    table.commit(table.data(rows((3, "a", None), (4, "a", 7), schema=wider, kinds={"level": pa.int64()})))
    table.commit(table.equality(rows((0, "a", 7), schema=wider), [2, 3]))
    return [2, 3]


def within_a_struct(table: Builder) -> list[int]:
    """A struct that is null has members that are null."""
    schema = Struct((SCHEMA.fields[0], Field("point", POINT, id=10)))
    table.schema = schema
    table.metadata = replace(table.metadata, schemas=(Schema(schema),))
    points = [{"x": 1, "y": "a"}, {"x": 1, "y": "b"}, None, {"x": None, "y": "c"}, {"x": 4, "y": None}]
    table.commit(table.data(rows(*enumerate(points, 1), schema=schema), stats=False))
    table.commit(table.equality(rows((0, {"x": None, "y": "no"}), schema=schema), [11]))
    table.commit(table.equality(rows((1, {"x": 1, "y": "b"}), (2, {"x": 1, "y": "b"}), schema=schema), [12, 1]))
    return [1, 5]


VALUES: tuple[tuple[Type, Type, tuple[Any, Any, Any]], ...] = (
    (t.BOOLEAN, t.BOOLEAN, (None, True, False)),
    (t.INTEGER, t.INTEGER, (-1, 0, 1)),
    (t.INTEGER, t.LONG, (-(2**31), 2**31 - 1, 0)),
    (t.Decimal(9, 2), t.Decimal(9, 2), (Decimal("1.10"), Decimal("-1.10"), Decimal("0.00"))),
    (t.Decimal(4, 2), t.Decimal(30, 2), (Decimal("1.10"), Decimal("99.99"), Decimal("0.00"))),
    (t.DATE, t.DATE, (date(1969, 12, 31), date(1582, 10, 15), date(9999, 1, 1))),
    (t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ, (datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1), datetime(1900, 1, 1))),
    (t.STRING, t.STRING, ("a", "A", "a ")),
    (t.BINARY, t.BINARY, (b"", b"\x00", b"\x00\x00")),
)
"""Keys: the type in older data files, the type of the table, and three values, the second of which is deleted."""


def of_each_type(table: Builder) -> list[int]:
    old, new = (
        Struct((SCHEMA.fields[0], *(Field(f"k{at}", told[which], id=10 + at) for at, told in enumerate(VALUES))))
        for which in (0, 1)
    )
    table.schema = new
    table.metadata = replace(table.metadata, schemas=(Schema(new),))
    kinds = [{f.name: to_arrow(f.type) for f in schema} for schema in (old, new)]
    first, gone, last = zip(*(told[2] for told in VALUES), strict=True)
    dying = [(10 + at, *(gone[at] if at == other else last[other] for other in range(len(VALUES)))) for at in range(len(VALUES))]
    file = rows((1, *first), (3, *last), *dying, schema=old, kinds=kinds[0])
    table.commit(table.data(file, stats=False, fields=old.fields))
    deletes = rows((0, *gone), schema=new, kinds=kinds[1])
    table.commit(*(table.equality(deletes, [10 + at]) for at in range(len(VALUES))))
    return [1, 3]


BY_K = (spec(0, (2, "identity")), spec(1))
CASES: dict[str, tuple[Callable[[Builder], list[Any]], dict[str, Any]]] = {
    "of its partition": (one_in_its_partition, {"specs": BY_K}),
    "of the partition null": (partition_null, {"specs": BY_K}),
    "global": (global_one, {"specs": BY_K}),
    "global by a void partition": (global_one, {"specs": (spec(0, (2, "identity")), spec(1, (2, "void")))}),
    "of another spec with the same values": (another_spec_of_the_same_values, {"specs": (spec(0, (2, "identity")), spec(1, (2, "truncate[1]")))}),
    "by several sets of columns": (several_field_ids, {}),
    "older rows only": (strictly_older, {}),
    "null in one of two columns": (nulls_of_several_columns, {}),
    "null in all columns": (all_null, {}),
    "a column that was dropped": (dropped, {}),
    "a column that was dropped, and its name given again": (dropped_and_another_of_its_name, {}),
    "a column that was widened and dropped": (dropped_after_it_was_widened, {}),
    "a column that was renamed": (renamed, {}),
    "a column that was added": (added, {}),
    "a column that was added with a default": (added_with_default, {"version": 3}),
    "members of a struct": (within_a_struct, {}),
    "by each type": (of_each_type, {}),
}  # fmt: skip


def table_of(case: str, **options: Any) -> tuple[esker.Table, list[Any]]:
    """The table of a case, and the ids that are left of it."""
    make, how = CASES[case]
    builder = Builder(**{"schema": SCHEMA, **how, **options})
    left = make(builder)
    return builder.open(), left


def in_order(ids: list[Any]) -> list[Any]:
    return sorted(ids, key=lambda value: (value is None, value))


@pytest.mark.parametrize("case", CASES)
def test_rows_that_equal_a_deleted_one_are_left_out(case: str) -> None:
    table, left = table_of(case)
    assert in_order(table.to_arrow(["id"]).column("id").to_pylist()) == left


@pytest.mark.parametrize("case", CASES)
def test_the_rules_for_equality_deletes_are_kept(case: str) -> None:
    found = table_of(case)[0].check(deep=True)
    assert not {"entry.equality-ids", "file.equality-deletes"} & {finding.rule for finding in found}


@pytest.mark.parametrize(
    ("kind", "stored", "error", "rules"),
    [
        (t.DOUBLE, pa.float64(), esker.InvalidTable, {"entry.equality-ids"}),
        (t.FLOAT, pa.float32(), esker.InvalidTable, {"entry.equality-ids"}),
        (POINT, None, esker.Unsupported, set()),
    ],
)
def test_keys_that_cannot_be_compared_are_refused(kind: Type, stored: Any, error: type[Exception], rules: set[str]) -> None:
    """ "Float and double columns cannot be used as delete columns in equality delete files." """
    schema = Struct((SCHEMA.fields[0], Field("point", kind, id=2)))
    table = Builder(schema)
    file = rows((1, None), schema=schema, kinds={"point": stored} if stored else None)
    table.commit(table.data(file, stats=False))
    table.commit(table.equality(file, [2]))
    opened = table.open()
    with pytest.raises(error, match="point"):
        opened.to_arrow()
    assert {"entry.equality-ids", "file.equality-deletes"} & {f.rule for f in opened.check(deep=True)} == rules


@pytest.mark.spark
@pytest.mark.parametrize("relation", ["native", "portable"])
def test_spark_leaves_out_the_same_rows(relation: Any, spark: Any, tmp_path: Any) -> None:
    from pyspark.sql.functions import lit

    from esker.storage import open_storage

    frames, wanted = [], {}
    for number, case in enumerate(CASES):
        table, left = table_of(case, storage=open_storage(tmp_path / str(number) / "t"))
        frames.append(table.to_df(spark, relation=relation).select("id", lit(case).alias("case")))
        wanted[case] = left
    found: dict[str, list[Any]] = {case: [] for case in CASES}
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    for row in whole.collect():
        found[row.case].append(row.id)
    assert {case: in_order(ids) for case, ids in found.items()} == wanted

"""Types go to Spark and come back."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as s

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Map, Primitive, Struct, Type
from esker.errors import Unsupported
from esker.spark.types import as_read, from_spark, from_spark_schema, to_spark, to_spark_schema

SAME: list[tuple[Type, str]] = [
    (t.BOOLEAN, "boolean"), (t.BYTE, "byte"), (t.SHORT, "short"), (t.INTEGER, "integer"), (t.LONG, "long"),
    (t.FLOAT, "float"), (t.DOUBLE, "double"), (t.STRING, "string"), (t.BINARY, "binary"), (t.DATE, "date"),
    (t.TIMESTAMP, "timestamp"), (t.TIMESTAMP_NTZ, "timestamp_ntz"), (t.VARIANT, "variant"), (t.VOID, "void"),
    (Decimal(38, 18), "decimal(38,18)"), (t.DURATION, "interval day to second"),
]  # fmt: skip
NESTED = Struct((
    Field("a", Array(Struct((Field("b", t.LONG, nullable=False, metadata={"comment": "inner"}),)), contains_null=False)),
    Field("m", Map(t.STRING, Decimal(5, 2), value_contains_null=False), nullable=False, metadata={"comment": "outer", "k": [1]}),
))  # fmt: skip


@pytest.mark.parametrize("ours, name", SAME, ids=lambda v: str(v))
def test_a_type_goes_to_spark_and_back(ours: Type, name: str):
    assert to_spark(ours).jsonValue() == name
    assert from_spark(to_spark(ours)) == ours


def test_nested_types_keep_nullability_and_metadata():
    assert from_spark_schema(to_spark_schema(NESTED)) == NESTED
    again = s.StructType.fromJson(to_spark_schema(NESTED).jsonValue())
    assert from_spark_schema(again).fields[1].metadata == {"comment": "outer", "k": [1]}


def test_what_is_read_may_be_null_and_keeps_only_its_comments():
    read = as_read(NESTED)
    assert read.fields[1].nullable
    assert read.fields[1].metadata == {"comment": "outer"}
    assert isinstance(read.fields[0].type, Array)
    assert read.fields[0].type.contains_null
    assert isinstance(read.fields[0].type.element, Struct)
    assert read.fields[0].type.element.fields[0].nullable


def test_fixed_binary_is_binary_in_spark():
    assert to_spark(Fixed(16)) == s.BinaryType()


@pytest.mark.parametrize(
    "kind, form", [(t.UUID, s.BinaryType()), (t.TIMESTAMP_NS, s.TimestampType()), (t.TIMESTAMP_NTZ_NS, s.TimestampNTZType())],
    ids=str,
)  # fmt: skip
def test_a_type_that_spark_lacks_has_the_form_that_holds_its_values(kind: Type, form: s.DataType):
    assert to_spark(kind) == form


def test_a_type_that_nobody_knows_is_refused():
    with pytest.raises(Unsupported, match="has no form in this Spark"):
        to_spark(Primitive("colour"))


@pytest.mark.parametrize("kind", [s.YearMonthIntervalType(), s.StringType("UNICODE_CI")], ids=lambda k: k.simpleString())
def test_a_spark_type_without_a_counterpart_is_refused(kind: s.DataType):
    with pytest.raises(Unsupported, match="has no counterpart"):
        from_spark(kind)

"""What folders say of the files in them, and of which type it is."""

import pytest

from esker.core import types as t
from esker.core.types import Decimal, Type
from esker.delta.hive_partitions import folder_values, inferred, stated


@pytest.mark.parametrize(
    "path, expected",
    [
        ("a.parquet", ()),
        ("p=1/a.parquet", (("p", "1"),)),
        ("p=1/q=x/a.parquet", (("p", "1"), ("q", "x"))),
        ("plain/p=1/deeper/q=2/a.parquet", (("p", "1"), ("q", "2"))),
        ("p=1/q=2.parquet", (("p", "1"),)),
        ("p=a=b/f", (("p", "a=b"),)),
        ("_p=1/f", (("_p", "1"),)),
        ("p=__HIVE_DEFAULT_PARTITION__/f", (("p", None),)),
        ("p=a%2Fb%3Ac/f", (("p", "a/b:c"),)),
        ("p=100%25/f", (("p", "100%"),)),
        ("p=%2525/f", (("p", "%25"),)),
        ("p=2024-01-01 10%3A00%3A00/f", (("p", "2024-01-01 10:00:00"),)),
        ("my%20p=x/f", (("my p", "x"),)),
        ("p=%C3%A9/f", (("p", "é"),)),
        ("p=é/f", (("p", "é"),)),
        ("p=%zz/f", (("p", "%zz"),)),
    ],
)
def test_folders_state_columns_and_values(path: str, expected: object) -> None:
    assert folder_values(path) == expected


@pytest.mark.parametrize("path", ["=1/f", "p=/f", "p=1/p=2/f", "p=1/P=2/f", "=/f"])
def test_folders_that_state_half_or_twice_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"lacks|twice"):
        folder_values(path)


BIG = Decimal(38, 0)


@pytest.mark.parametrize(
    "texts, kind",
    [
        (["1", "-2", "+3", "007"], t.INTEGER), (["2147483647", "-2147483648"], t.INTEGER), (["2147483648"], t.LONG),
        (["-9223372036854775808"], t.LONG), (["9223372036854775808"], BIG), (["9" * 38], BIG), (["9" * 39], t.DOUBLE),
        (["0" * 50], t.INTEGER), (["1.5", "-1e10", ".5", "5."], t.DOUBLE), (["NaN", "-Infinity"], t.DOUBLE),
        (["2024-02-29", "0001-01-01"], t.DATE), (["2023-02-29"], t.STRING), (["2024-1-1"], t.STRING), (["20240101"], t.INTEGER),
        (["2024-02-29 12:34:56", "2024-02-29 12:34:56.789"], t.TIMESTAMP), (["2024-02-29 25:00:00"], t.STRING),
        (["2024-02-29T12:34:56"], t.STRING), (["true"], t.STRING), (["1d"], t.STRING), (["0x1p3"], t.STRING),
        (["1_000"], t.STRING), (["٣"], t.STRING), ([" 1"], t.STRING), ([], t.STRING), ([None, None], t.STRING),
        ([None, "1"], t.INTEGER),
    ],
)  # fmt: skip
def test_types_are_inferred_from_the_values(texts: list[str | None], kind: Type) -> None:
    assert inferred(texts) == kind


SAMPLES: dict[Type, str] = {
    t.INTEGER: "1", t.LONG: "9999999999", BIG: "9" * 20, t.DOUBLE: "1.5", t.DATE: "2024-01-01",
    t.TIMESTAMP: "2024-01-01 00:00:00", t.STRING: "x",
}  # fmt: skip
# PartitioningUtils.inferPartitionColumnValue of Spark has this table, row by row.
TOGETHER = {
    t.INTEGER: [t.INTEGER, t.LONG, BIG, t.DOUBLE, t.STRING, t.STRING, t.STRING],
    t.LONG: [t.LONG, t.LONG, BIG, t.STRING, t.STRING, t.STRING, t.STRING],
    BIG: [BIG, BIG, BIG, t.STRING, t.STRING, t.STRING, t.STRING],
    t.DOUBLE: [t.DOUBLE, t.STRING, t.STRING, t.DOUBLE, t.STRING, t.STRING, t.STRING],
    t.DATE: [t.STRING, t.STRING, t.STRING, t.STRING, t.DATE, t.TIMESTAMP, t.STRING],
    t.TIMESTAMP: [t.STRING, t.STRING, t.STRING, t.STRING, t.TIMESTAMP, t.TIMESTAMP, t.STRING],
    t.STRING: [t.STRING] * 7,
}


@pytest.mark.parametrize("one", list(SAMPLES))
@pytest.mark.parametrize("other", list(SAMPLES))
def test_values_of_two_types_have_the_type_that_spark_gives_them(one: Type, other: Type) -> None:
    expected = TOGETHER[one][list(SAMPLES).index(other)]
    assert inferred([SAMPLES[one], SAMPLES[other]]) == expected
    assert inferred([SAMPLES[other], None, SAMPLES[one]]) == expected


@pytest.mark.parametrize(
    "text, kind, expected",
    [
        ("2024-01-01", t.TIMESTAMP, "2024-01-01 00:00:00"), ("2024-01-01 10:00:00", t.TIMESTAMP, "2024-01-01 10:00:00"),
        ("2024-01-01", t.DATE, "2024-01-01"), ("2024-01-01", t.STRING, "2024-01-01"), (None, t.TIMESTAMP, None),
        ("007", t.INTEGER, "007"),
    ],
)  # fmt: skip
def test_a_day_among_timestamps_is_its_midnight(text: str | None, kind: Type, expected: str | None) -> None:
    """ "timestamp | Encoded as `{year}-{month}-{day} {hour}:{minute}:{second}`"  (Partition Value Serialization)"""
    assert stated(text, kind) == expected

"""Filters as Spark 4.0 and 4.3 push them down, recorded, are read as the conditions they came from.

The recordings are shortened: `@` stands for the package of Catalyst's expressions, and what only tells attributes of
different relations apart is left out.
"""

import json
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

import pytest

from esker.core.catalyst import from_catalyst
from esker.core.predicate import Comparison, IsNull, Not, Opaque, Operator, Predicate, Truth, columns, describe
from esker.errors import InvalidRequest


def read(recorded: str, zone: tzinfo | None = UTC) -> Predicate:
    return from_catalyst(json.loads(recorded.replace('"@', '"org.apache.spark.sql.catalyst.expressions.')), zone)


RECORDED = [
    (
        'i = 3',
        'i = 3',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        'i <=> 3',
        '(NOT (i IS NULL) AND i = 3)',
        r"""[{"class": "@EqualNullSafe", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        'i<>3',
        'NOT (i = 3)',
        r"""[{"class": "@Not", "num-children": 1, "child": 0},
         {"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        'i>=3',
        'i >= 3',
        r"""[{"class": "@GreaterThanOrEqual", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        'i in (1,2,null)',
        'i IN (1, 2, NULL)',
        r"""[{"class": "@In", "num-children": 4, "value": 0, "list": [1, 2, 3]},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1", "dataType": "integer"},
         {"class": "@Literal", "num-children": 0, "value": "2", "dataType": "integer"},
         {"class": "@Literal", "num-children": 0, "value": null, "dataType": "integer"}]""",
    ),
    (
        'i not in (1,2)',
        'NOT (i IN (1, 2))',
        r"""[{"class": "@Not", "num-children": 1, "child": 0},
         {"class": "@In", "num-children": 3, "value": 0, "list": [1, 2]},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1", "dataType": "integer"},
         {"class": "@Literal", "num-children": 0, "value": "2", "dataType": "integer"}]""",
    ),
    (
        'i is null',
        'i IS NULL',
        r"""[{"class": "@IsNull", "num-children": 1, "child": 0},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true}]""",
    ),
    (
        'i is not null',
        'NOT (i IS NULL)',
        r"""[{"class": "@IsNotNull", "num-children": 1, "child": 0},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true}]""",
    ),
    (
        'b',
        'b = True',
        r"""[{"class": "@AttributeReference", "num-children": 0, "name": "b", "dataType": "boolean",
         "nullable": true}]""",
    ),
    (
        'not b',
        'NOT (b = True)',
        r"""[{"class": "@Not", "num-children": 1, "child": 0},
         {"class": "@AttributeReference", "num-children": 0, "name": "b", "dataType": "boolean", "nullable": true}]""",
    ),
    (
        'b or i = 3',
        '(b = True OR i = 3)',
        r"""[{"class": "@Or", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "b", "dataType": "boolean", "nullable": true},
         {"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        "t like 'ab%'",
        "startswith(t, 'ab')",
        r"""[{"class": "@StartsWith", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "ab", "dataType": "string"}]""",
    ),
    (
        "dt = date'1969-12-31'",
        "dt = DATE '1969-12-31'",
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "dt", "dataType": "date", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1969-12-31", "dataType": "date"}]""",
    ),
    (
        "dt = date'12020-01-01'",
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "dt", "dataType": "date", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "+12020-01-01", "dataType": "date"}]""",
    ),
    (
        "tn = timestamp_ntz'2020-01-01 00:00:00.5'",
        "tn = TIMESTAMP_NTZ '2020-01-01 00:00:00.500000'",
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "tn", "dataType": "timestamp_ntz",
         "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1577836800500000", "dataType": "timestamp_ntz"}]""",
    ),
    (
        'dec = 1.25',
        'dec = 1.25',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "dec", "dataType": "decimal(10,2)",
         "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1.25", "dataType": "decimal(10,2)"}]""",
    ),
    (
        "f = float('1.1')",
        'f = 1.100000023841858D',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "f", "dataType": "float", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1.1", "dataType": "float"}]""",
    ),
    (
        "d = double('nan')",
        'd = nanD',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "d", "dataType": "double", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "NaN", "dataType": "double"}]""",
    ),
    (
        "d = double('infinity')",
        'd = infD',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "d", "dataType": "double", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "Infinity", "dataType": "double"}]""",
    ),
    (
        'd = -0.0D',
        'd = -0.0D',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "d", "dataType": "double", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "-0.0", "dataType": "double"}]""",
    ),
    (
        'd=1e-7',
        'd = 1e-07D',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "d", "dataType": "double", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1.0E-7", "dataType": "double"}]""",
    ),
    (
        'l=-9223372036854775808',
        'l = -9223372036854775808',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "l", "dataType": "long", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "-9223372036854775808", "dataType": "long"}]""",
    ),
    (
        'b in (true,false)',
        'b IN (True, False)',
        r"""[{"class": "@In", "num-children": 3, "value": 0, "list": [1, 2]},
         {"class": "@AttributeReference", "num-children": 0, "name": "b", "dataType": "boolean", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "true", "dataType": "boolean"},
         {"class": "@Literal", "num-children": 0, "value": "false", "dataType": "boolean"}]""",
    ),
    (
        "dt in (date'2020-01-01', date'2020-01-02')",
        "dt IN (DATE '2020-01-01', DATE '2020-01-02')",
        r"""[{"class": "@In", "num-children": 3, "value": 0, "list": [1, 2]},
         {"class": "@AttributeReference", "num-children": 0, "name": "dt", "dataType": "date", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "2020-01-01", "dataType": "date"},
         {"class": "@Literal", "num-children": 0, "value": "2020-01-02", "dataType": "date"}]""",
    ),
    (
        "st.x.w = 'q'",
        "st.x.w = 'q'",
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@GetStructField", "num-children": 1, "child": 0, "ordinal": 1, "name": "w"},
         {"class": "@GetStructField", "num-children": 1, "child": 0, "ordinal": 0, "name": "x"},
         {"class": "@AttributeReference", "num-children": 0, "name": "st", "dataType": {"type": "struct",
         "fields": [{"name": "x", "type": {"type": "struct", "fields": [{"name": "y.z", "type": "integer",
         "nullable": true, "metadata": {}}, {"name": "w", "type": "string", "nullable": true, "metadata": {}}]},
         "nullable": true, "metadata": {}}]}, "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "q", "dataType": "string"}]""",
    ),
    (
        'st.x.`y.z` = 3',
        'st.x.`y.z` = 3',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@GetStructField", "num-children": 1, "child": 0, "ordinal": 0, "name": "y.z"},
         {"class": "@GetStructField", "num-children": 1, "child": 0, "ordinal": 0, "name": "x"},
         {"class": "@AttributeReference", "num-children": 0, "name": "st", "dataType": {"type": "struct",
         "fields": [{"name": "x", "type": {"type": "struct", "fields": [{"name": "y.z", "type": "integer",
         "nullable": true, "metadata": {}}, {"name": "w", "type": "string", "nullable": true, "metadata": {}}]},
         "nullable": true, "metadata": {}}]}, "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        'i in (0,1,2,3,4,5,6,7,8,9,10,11)',
        None,
        r"""[{"class": "@InSet", "num-children": 1, "child": 0, "hset": null},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true}]""",
    ),
    (
        "t like '%b'",
        None,
        r"""[{"class": "@EndsWith", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "b", "dataType": "string"}]""",
    ),
    (
        "bin = X'00FF41'",
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "bin", "dataType": "binary", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "[B@24a8b38a", "dataType": "binary"}]""",
    ),
    (
        'ar[0] = 1',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@GetArrayItem", "num-children": 2, "child": 0, "ordinal": 1, "failOnError": true},
         {"class": "@AttributeReference", "num-children": 0, "name": "ar", "dataType": {"type": "array",
         "elementType": "integer", "containsNull": true}, "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "0", "dataType": "integer"},
         {"class": "@Literal", "num-children": 0, "value": "1", "dataType": "integer"}]""",
    ),
    (
        "mp['k'] = 1",
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@GetMapValue", "num-children": 2, "child": 0, "key": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "mp", "dataType": {"type": "map", "keyType":
         "string", "valueType": "integer", "valueContainsNull": true}, "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "k", "dataType": "string"},
         {"class": "@Literal", "num-children": 0, "value": "1", "dataType": "integer"}]""",
    ),
    (
        "upper(t) = 'A'",
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@Upper", "num-children": 1, "child": 0},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "A", "dataType": "string"}]""",
    ),
    (
        'i = l',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@Cast", "num-children": 1, "child": 0, "dataType": "long", "timeZoneId": "UTC", "evalMode":
         null},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@AttributeReference", "num-children": 0, "name": "l", "dataType": "long", "nullable": true}]""",
    ),
    (
        'i + 1 = 3',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@Add", "num-children": 2, "left": 0, "right": 1, "evalContext": null},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "1", "dataType": "integer"},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}]""",
    ),
    (
        "cast(i as string) = '3'",
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@Cast", "num-children": 1, "child": 0, "dataType": "string", "timeZoneId": "UTC", "evalMode":
         null},
         {"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "string"}]""",
    ),
    (
        't = 3',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@Cast", "num-children": 1, "child": 0, "dataType": "long", "timeZoneId": "UTC", "evalMode":
         null},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "3", "dataType": "long"}]""",
    ),
    (
        't=\'it\\\'s "q" \\\\ \\n é 🎉\'',
        't = \'it\\\'s "q" \\\\ \n é 🎉\'',
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "it's \"q\" \\ \n \u00e9 \ud83c\udf89", "dataType":
         "string"}]""",
    ),
    (
        "t = ''",
        "t = ''",
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string", "nullable": true},
         {"class": "@Literal", "num-children": 0, "value": "", "dataType": "string"}]""",
    ),
]


@pytest.mark.parametrize("sql, expected, recorded", RECORDED, ids=[sql for sql, _, _ in RECORDED])
def test_a_recorded_filter_is_read(sql: str, expected: str | None, recorded: str) -> None:
    found = read(recorded)
    assert isinstance(found, Opaque) if expected is None else describe(found) == expected


INSTANTS = [
    (
        'UTC',
        "ts > TIMESTAMP '2020-01-01 00:00:00+00:00'",
        r"""[{"class": "@GreaterThan", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "2020-01-01 00:00:00", "dataType": "timestamp"}]""",
    ),
    (
        'Europe/Berlin',
        "ts > TIMESTAMP '2020-01-01 00:00:00+00:00'",
        r"""[{"class": "@GreaterThan", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "2020-01-01 01:00:00", "dataType": "timestamp"}]""",
    ),
    (
        'America/New_York',
        "ts > TIMESTAMP '2020-01-01 00:00:00+00:00'",
        r"""[{"class": "@GreaterThan", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "2019-12-31 19:00:00", "dataType": "timestamp"}]""",
    ),
    (
        'Europe/Berlin',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "2020-10-25 02:30:00", "dataType": "timestamp"}]""",
    ),
    (
        'America/New_York',
        None,
        r"""[{"class": "@GreaterThan", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "1882-12-31 19:03:58", "dataType": "timestamp"}]""",
    ),
    (
        'America/New_York',
        None,
        r"""[{"class": "@EqualTo", "num-children": 2, "left": 0, "right": 1},
         {"class": "@AttributeReference", "num-children": 0, "name": "ts", "dataType": "timestamp", "nullable":
         true},
         {"class": "@Literal", "num-children": 0, "value": "0000-12-31 19:03:58", "dataType": "timestamp"}]""",
    ),
]


@pytest.mark.parametrize("zone, expected, recorded", INSTANTS)
def test_an_instant_is_read_in_the_zone_of_the_session_unless_its_text_has_two_meanings(
    zone: str, expected: str | None, recorded: str
) -> None:
    found = read(recorded, ZoneInfo(zone))
    assert isinstance(found, Opaque) if expected is None else describe(found) == expected
    assert isinstance(read(recorded, None), Opaque)


ATTRIBUTE = '{"class": "@AttributeReference", "num-children": 0, "name": "i", "dataType": "integer"}'
TEXT = '{"class": "@AttributeReference", "num-children": 0, "name": "t", "dataType": "string collate UTF8_LCASE"}'
LITERAL = '{"class": "@Literal", "num-children": 0, "value": "3", "dataType": "integer"}'
NULL = '{"class": "@Literal", "num-children": 0, "value": null, "dataType": "integer"}'


def binary(name: str, left: str, right: str) -> str:
    return f'[{{"class": "@{name}", "num-children": 2}}, {left}, {right}]'


def test_a_literal_on_the_left_turns_the_comparison_around() -> None:
    assert read(binary("LessThan", LITERAL, ATTRIBUTE)) == Comparison(("i",), Operator.GT, 3)


def test_a_comparison_with_null_is_null() -> None:
    assert read(binary("EqualTo", ATTRIBUTE, NULL)) == Truth(None)
    assert isinstance(read(binary("EqualNullSafe", ATTRIBUTE, NULL)), Opaque)


def test_a_text_that_is_not_compared_by_bytes_is_opaque() -> None:
    literal = '{"class": "@Literal", "num-children": 0, "value": "a", "dataType": "string collate UTF8_LCASE"}'
    assert isinstance(read(binary("EqualTo", TEXT, literal)), Opaque)
    assert isinstance(read(binary("StartsWith", TEXT, literal)), Opaque)


def test_a_literal_of_another_type_than_the_column_is_opaque() -> None:
    literal = LITERAL.replace("integer", "long")
    assert isinstance(read(binary("EqualTo", ATTRIBUTE, literal)), Opaque)


@pytest.mark.parametrize(
    "value, expected", [("true", Truth(True)), ("false", Truth(False)), (None, Truth(None))]
)
def test_a_boolean_literal_is_a_constant(value: str | None, expected: Truth) -> None:
    literal = json.dumps({"class": "@Literal", "num-children": 0, "value": value, "dataType": "boolean"})
    assert read(f"[{literal}]") == expected


@pytest.mark.parametrize(
    "recorded", ["[]", f"[{ATTRIBUTE}, {ATTRIBUTE}]", '[{"class": "@Not", "num-children": 1}]', "[{}]"]
)
def test_nodes_that_are_not_one_expression_are_refused(recorded: str) -> None:
    with pytest.raises(InvalidRequest):
        read(recorded)


def test_a_chain_of_filters_is_read_whole_and_a_deep_one_is_opaque() -> None:
    part = f'{{"class": "@IsNotNull", "num-children": 1}}, {ATTRIBUTE}'
    chain = '{"class": "@And", "num-children": 2}, '
    assert len(list(columns(read(f"[{chain * 100}{', '.join([part] * 101)}]")))) == 101
    assert read(f"[{part}]") == Not(IsNull(("i",)))
    assert isinstance(read(f"[{chain * 5000}{', '.join([part] * 5001)}]"), Opaque)

"""Iceberg specification, Appendix D: single values as bytes and in JSON."""

from decimal import Context
from decimal import Decimal as Number
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Fixed, Map, Struct
from esker.errors import EskerError, InvalidTable, Unsupported
from esker.iceberg.bounds import decoded, parse_bytes, to_bytes
from esker.iceberg.single_values import parse_json_value, to_json

EXACT = Context(prec=38)
UUID_BYTES = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes
VALUES = [
    (True, t.BOOLEAN, "01", True),
    (34, t.INTEGER, "22000000", 34),
    (34, t.LONG, "2200000000000000", 34),
    (1.0, t.FLOAT, "0000803f", 1.0),
    (1.0, t.DOUBLE, "000000000000f03f", 1.0),
    (Number("14.20"), Decimal(9, 2), "058c", "14.20"),
    (Number("-0.01"), Decimal(9, 2), "ff", "-0.01"),
    (17486, t.DATE, "4e440000", "2017-11-16"),
    (81068123456, t.TIME, None, "22:31:08.123456"),
    (1510871468123456, t.TIMESTAMP_NTZ, None, "2017-11-16T22:31:08.123456"),
    (1510871468123456, t.TIMESTAMP, None, "2017-11-16T22:31:08.123456+00:00"),
    (1510871468123456789, t.TIMESTAMP_NTZ_NS, None, "2017-11-16T22:31:08.123456789"),
    (1510871468123456789, t.TIMESTAMP_NS, None, "2017-11-16T22:31:08.123456789+00:00"),
    ("iceberg", t.STRING, "69636562657267", "iceberg"),
    (UUID_BYTES, t.UUID, UUID_BYTES.hex(), "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    (b"\0\1\2\xff", Fixed(4), "000102ff", "000102ff"),
    (b"\0\1\2\xff", t.BINARY, "000102ff", "000102ff"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "stored", "json"), VALUES, ids=lambda v: str(v)[:24])
def test_a_value_is_stored_as_the_appendix_says_and_read_back(value, kind, stored, json):
    assert stored is None or to_bytes(value, kind).hex() == stored
    assert parse_bytes(to_bytes(value, kind), kind) == value
    assert to_json(value, kind) == json
    assert parse_json_value(json, kind) == value
    column = decoded(pa.array([to_bytes(value, kind), None], pa.binary()), kind)
    assert column[1].as_py() is None
    assert column.cast(pa.string() if kind == t.STRING else column.type)[0] == column[0]


@given(st.lists(st.none() | st.integers(1 - 10**38, 10**38 - 1)), st.integers(0, 5))
def test_a_column_of_decimals_is_decoded_as_each_is_by_itself(unscaled, start):
    kind = Decimal(38, 4)
    values = [None if number is None else Number(number).scaleb(-4, EXACT) for number in unscaled]
    stored = pa.array([None if value is None else to_bytes(value, kind) for value in values], pa.binary())
    assert decoded(stored.slice(start), kind).to_pylist() == values[start:]


@pytest.mark.parametrize("bound", [10**9, -(10**9)])
def test_a_bound_with_more_digits_than_its_type_is_refused(bound):
    with pytest.raises(InvalidTable, match="digits"):
        decoded(pa.array([bound.to_bytes(5, "big", signed=True)], pa.binary()), Decimal(9, 2))


@pytest.mark.parametrize(
    ("data", "kind", "value"),
    [
        ("22000000", t.LONG, 34), ("ffffffff", t.LONG, -1), ("0000803f", t.DOUBLE, 1.0),
        ("01000000", t.TIMESTAMP_NTZ, 86_400_000_000), ("01000000", t.TIMESTAMP_NTZ_NS, 86_400_000_000_000),
        ("00000000058c", Decimal(20, 2), Number("14.20")),
    ],
)  # fmt: skip
def test_a_bound_from_before_a_promotion_is_told_by_its_length(data, kind, value):
    assert parse_bytes(bytes.fromhex(data), kind) == value
    mixed = decoded(pa.array([bytes.fromhex(data), to_bytes(value, kind)], pa.binary()), kind)
    assert mixed[0] == mixed[1]


@pytest.mark.parametrize(("data", "kind"), [("00", t.LONG), ("", t.BOOLEAN), ("ff", t.STRING), ("000000", t.INTEGER), ("", Decimal(9, 2))])
def test_bytes_that_are_no_value_are_refused(data, kind):
    with pytest.raises(InvalidTable):
        parse_bytes(bytes.fromhex(data), kind)
    with pytest.raises(InvalidTable):
        decoded(pa.array([bytes.fromhex(data)], pa.binary()), kind)


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_a_column_of_bounds_is_decoded_as_its_values_one_by_one(values):
    stored = [None if v is None else to_bytes(v, t.LONG) for v in values]
    assert decoded(pa.array(stored, pa.binary()), t.LONG).to_pylist() == values


@pytest.mark.parametrize(
    ("json", "kind"),
    [
        (1, t.STRING), ("x", t.DATE), ("2017-11-16T22:31:08+00:00", t.TIMESTAMP_NTZ), ("2017-11-16T22:31:08", t.TIMESTAMP),
        ("14.205", Decimal(9, 2)), (True, t.LONG), ("zz", t.BINARY), ("f79c", t.UUID), ({"keys": [1], "values": []}, Map(t.LONG, t.LONG)),
    ],
)  # fmt: skip
def test_json_that_is_no_value_of_the_type_is_refused(json, kind):
    with pytest.raises(InvalidTable):
        parse_json_value(json, kind)


def test_nested_values_go_by_field_ids():
    kind = Struct((Field("a", t.LONG, id=1), Field("b", Map(t.STRING, Array(t.DATE)), id=2)))
    json = {"1": 1, "2": {"keys": ["x"], "values": [["2017-11-16"]]}}
    assert parse_json_value(json, kind) == {1: 1, 2: [("x", [17486])]}
    assert to_json(parse_json_value(json, kind), kind) == json


@pytest.mark.parametrize("kind", [t.VARIANT, t.VOID, Array(t.LONG), Struct()])
def test_what_has_no_bounds_is_refused(kind):
    with pytest.raises(Unsupported):
        to_bytes(1, kind)
    with pytest.raises(EskerError):
        parse_bytes(b"1", kind)

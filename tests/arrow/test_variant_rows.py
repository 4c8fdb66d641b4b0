"""Are variants in Arrow rows written as the values they are?  (PROTOCOL.md, "Variant Data Type")"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import esker
from esker.core.arrow_types import VARIANT
from esker.core.variant import encode, to_json

VALUES = [{"a": [1, None, {"b": "x"}]}, "text", None, 1.5]
ENCODED = [{"metadata": metadata, "value": value} for metadata, value in map(encode, VALUES)]
JSON = ['{"a":[1,null,{"b":"x"}]}', '"text"', "null", "1.5"]
MARK = {"variant": "true"}

# the forms in which libraries hand variants over
FORMS = {
    "as Esker reads them": VARIANT,
    "as Spark sends them": pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False, MARK)]),
    "large": pa.struct([pa.field("metadata", pa.large_binary(), False, MARK), pa.field("value", pa.large_binary())]),
    "shredded": pa.struct([pa.field("metadata", pa.binary(), False, MARK), ("value", pa.binary()), ("typed_value", pa.int64())]),
}


class Annotated(pa.ExtensionType):
    """Arrow's own extension for variants, for a library that does not come with it."""

    def __init__(self) -> None:
        super().__init__(pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]), "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Annotated":
        return cls()


@pytest.mark.parametrize("mode", ["none", "id"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_variants_are_written_at_every_depth(form: pa.DataType, mode: str, tmp_path: Path) -> None:
    columns = "v VARIANT, s STRUCT<n: LONG, in: VARIANT>, l ARRAY<VARIANT>, m MAP<STRING, VARIANT>"
    table = esker.create(tmp_path / "table", columns, properties={"delta.columnMapping.mode": mode})
    flat = pa.array([*ENCODED, None], form)
    table.append(pa.table({
        "v": flat, "s": pa.StructArray.from_arrays([flat], fields=[pa.field("in", form)]),
        "l": pa.array([[value, None] for value in ENCODED] + [None], pa.list_(form)),
        "m": pa.array([[("k", value)] for value in ENCODED] + [None], pa.map_(pa.string(), form)),
    }))  # fmt: skip
    found = table.to_arrow().to_pylist()
    assert [_json(row["v"]) for row in found] == [*JSON, None]
    assert [_json(row["s"]["in"]) for row in found] == [*JSON, None]
    assert [row["l"] and [_json(item) for item in row["l"]] for row in found] == [*([text, None] for text in JSON), None]
    assert [row["m"] and _json(row["m"][0][1]) for row in found] == [*JSON, None]


def test_a_variant_in_arrows_own_extension_is_one(tmp_path: Path) -> None:
    table = esker.create(tmp_path / "table", "v VARIANT")
    table.append(pa.table({"v": pa.ExtensionArray.from_storage(Annotated(), pa.array([*ENCODED, None], Annotated().storage_type))}))
    assert [_json(row) for row in table.to_arrow().column("v").to_pylist()] == [*JSON, None]


def test_what_is_read_can_be_written_again(tmp_path: Path) -> None:
    first = esker.create(tmp_path / "first", "v VARIANT")
    first.append(pa.table({"v": pa.array(ENCODED, VARIANT)}))
    again = esker.create(tmp_path / "again", first.to_arrow())
    assert str(again.schema) == str(first.schema)
    assert again.to_arrow() == first.to_arrow()


def test_a_variant_is_stored_as_two_required_binaries(tmp_path: Path) -> None:
    """As the specification of variants in Parquet has it; and of a variant there are no bounds."""
    table = esker.create(tmp_path / "table", "id LONG, v VARIANT")
    table.append(pa.table({"id": [1], "v": pa.array(ENCODED[:1], VARIANT)}))
    (file,) = (tmp_path / "table").rglob("*.parquet")
    group = pq.read_schema(file).field("v")
    assert [(f.name, f.type, f.nullable) for f in group.type] == [("metadata", pa.binary(), False), ("value", pa.binary(), False)]
    assert group.nullable
    assert table.files().column("min").to_pylist() == [{"id": 1}]


METADATA, VALUE = encode({"a": 1})


@pytest.mark.parametrize("metadata, value", [
    (b"", VALUE), (METADATA, b""), (b"\x02\x00", VALUE), (METADATA, VALUE[:-1]), (METADATA, b"\xff" * 9), (encode(1)[0], VALUE),
])  # fmt: skip
def test_bytes_that_are_no_variant_are_refused_and_leave_no_version(metadata: bytes, value: bytes, tmp_path: Path) -> None:
    table = esker.create(tmp_path / "table", "v VARIANT")
    rows = pa.table({"v": pa.array([ENCODED[0], {"metadata": metadata, "value": value}], VARIANT)})
    with pytest.raises(esker.InvalidRequest, match="no variant"):
        table.append(rows)
    assert table.at().version == 0
    assert not list((tmp_path / "table").rglob("*.parquet"))


def test_a_struct_that_does_not_say_so_is_no_variant(tmp_path: Path) -> None:
    plain = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    rows = pa.table({"v": pa.array(ENCODED, plain)})
    with pytest.raises(esker.InvalidRequest, match="variant in the table and struct"):
        esker.create(tmp_path / "table", "v VARIANT").append(rows)
    assert str(esker.create(tmp_path / "other", rows).schema.fields[0].type) == "struct<metadata:binary,value:binary>"


def _json(variant: dict[str, bytes] | None) -> str | None:
    return variant and to_json(variant["metadata"], variant["value"])

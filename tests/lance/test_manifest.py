"""Manifests, their names, references, sequences and deletion files. (Lance table format, sections 1 to 3, 5, 8, 10)"""

import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import esker
from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.types import Array, Struct
from esker.errors import EskerError, InvalidTable, NotFound, Unsupported
from esker.lance.deletions import LARGEST_ARRAY, deletion_bytes, parse_deletions
from esker.lance.manifest import DeletionKind, parse_manifest
from esker.lance.messages import new_message
from esker.lance.refs import branch_problem, tag_problem
from esker.lance.relocation import manifest_bytes
from esker.lance.row_ids import parse_row_ids, parse_row_versions, row_id_bytes
from esker.lance.schema import arrow_type, parse_schema
from esker.lance.versions import Naming, manifest_file, manifest_name, sort_out
from esker.storage.port import FileInfo
from tests.lance.tables import ROWS, bent, made, newest

GOOD = manifest_bytes(new_message("Manifest", version=3).SerializeToString())


@pytest.mark.parametrize("version, naming, name", [
    (1, Naming.V1, "1.manifest"),
    (1, Naming.V2, "18446744073709551614.manifest"),
    (42, Naming.V2, "18446744073709551573.manifest"),
    (2**63 + 5, Naming.DETACHED, "d9223372036854775813.manifest"),
])
def test_a_name_tells_the_version_and_the_version_the_name(version: int, naming: Naming, name: str) -> None:
    """Section 1, manifest names."""
    assert manifest_name(version, naming) == name
    found = manifest_file(FileInfo(f"_versions/{name}", 0, 0))
    assert found is not None
    assert (found.version, found.naming) == (version, naming)


@pytest.mark.parametrize("name", [".tmp_7.manifest_1b", "7.manifest-0a1b2c3d", "latest_version_hint.json"])
def test_what_writers_leave_is_no_version_and_not_odd(name: str) -> None:
    listing = sort_out([FileInfo(f"_versions/{name}", 0, 0)])
    assert not listing.manifests
    assert not listing.odd


@pytest.mark.parametrize("data, said", [
    (b"", "cut short"),
    (GOOD[:-1], "no manifest"),
    (GOOD[:-4] + b"LANX", "no manifest"),
    (GOOD[:-16] + struct.pack("<qhh4s", 10**6, 0, 2, b"LANC"), "points at byte"),
    (GOOD[:-16] + struct.pack("<qhh4s", -1, 0, 2, b"LANC"), "points at byte"),
    (struct.pack("<I", 2**31) + GOOD[4:], "claims"),
    (struct.pack("<I", 0) + GOOD[4:], "does not reach"),
    (manifest_bytes(b"\xff\xff\xff"), "no Manifest message"),
])
def test_a_manifest_that_is_cut_or_bent_is_refused(data: bytes, said: str) -> None:
    """Section 2."""
    with pytest.raises(InvalidTable, match=said):
        parse_manifest(data, "here")


def test_a_container_of_another_version_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"1\.0"):
        parse_manifest(GOOD[:-16] + struct.pack("<qhh4s", 0, 1, 0, b"LANC"), "here")


def test_every_cut_of_a_real_manifest_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "t")
    whole = newest(tmp_path / "t").read_bytes()
    for end in range(0, len(whole), 7):
        with pytest.raises(EskerError):
            parse_manifest(whole[:end], "here")


SEGMENTS = {
    "range": (new_message("U64Segment", range=new_message("Range", start=5, end=8)), [5, 6, 7]),
    "holes": (
        new_message("U64Segment", range_with_holes=new_message(
            "RangeWithHoles", start=0, end=5,
            holes=new_message("EncodedU64Array", u16_array=new_message("U16Array", base=1, offsets=struct.pack("<2H", 0, 2))),
        )),
        [0, 2, 4],
    ),
    # the least significant bit is the first, whatever the documentation says
    "bitmap": (
        new_message("U64Segment", range_with_bitmap=new_message("RangeWithBitmap", start=10, end=14, bitmap=b"\x05")), [10, 12],
    ),
    "sorted": (
        new_message("U64Segment", sorted_array=new_message(
            "EncodedU64Array", u32_array=new_message("U32Array", base=100, offsets=struct.pack("<2I", 0, 70000)),
        )),
        [100, 70100],
    ),
    "array": (
        new_message("U64Segment", array=new_message(
            "EncodedU64Array", u64_array=new_message("U64Array", values=struct.pack("<2Q", 2**40, 3)),
        )),
        [2**40, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEGMENTS)
def test_each_kind_of_segment_gives_its_numbers(kind: str) -> None:
    """Section 3, RowIdSequence."""
    segment, expected = SEGMENTS[kind]
    data = new_message("RowIdSequence", segments=[segment]).SerializeToString()
    assert parse_row_ids(data, "here").tolist() == expected


@pytest.mark.parametrize("ids", [[], [7], [7, 8, 9], [9, 3, 2**50]])
def test_row_ids_come_back_as_they_were_written(ids: list[int]) -> None:
    assert parse_row_ids(row_id_bytes(np.array(ids, np.uint64)), "here").tolist() == ids


def test_a_range_that_no_fragment_can_have_is_not_expanded() -> None:
    segment = new_message("U64Segment", range=new_message("Range", start=0, end=2**60))
    with pytest.raises(InvalidTable, match="no fragment's"):
        parse_row_ids(new_message("RowIdSequence", segments=[segment]).SerializeToString(), "here")


def test_runs_of_versions_follow_one_another_whatever_positions_they_name() -> None:
    """After a compaction they name those at which the rows were; pylance goes by their length, and so do we."""
    runs = [
        new_message("RowDatasetVersionRun", span=SEGMENTS["holes"][0], version=4),
        new_message("RowDatasetVersionRun", span=new_message("U64Segment", range=new_message("Range", start=1, end=2)), version=9),
        new_message("RowDatasetVersionRun", span=new_message("U64Segment", range=new_message("Range", start=3, end=4)), version=9),
    ]
    data = new_message("RowDatasetVersionSequence", runs=runs).SerializeToString()
    assert parse_row_versions(data, "here").tolist() == [4, 4, 4, 9, 9]


@pytest.mark.parametrize("count", [1, LARGEST_ARRAY - 1, LARGEST_ARRAY])
def test_deletion_files_come_back_as_they_were_written(count: int) -> None:
    """Section 5: an array below 5000 rows, a bitmap from there on."""
    dead = Bitmap.of(range(0, 3 * count, 3))
    kind, data = deletion_bytes(dead)
    assert kind is (DeletionKind.BITMAP if count >= LARGEST_ARRAY else DeletionKind.ARROW_ARRAY)
    assert parse_deletions(data, kind, "here") == dead


@pytest.mark.parametrize("kind, data", [
    (DeletionKind.BITMAP, b""),
    (DeletionKind.BITMAP, b"\x00" * 40),
    (DeletionKind.BITMAP, struct.pack("<II", 12346, 60000)),
    (DeletionKind.ARROW_ARRAY, b"ARROW1"),
    (DeletionKind.ARROW_ARRAY, deletion_bytes(Bitmap.of([1, 2]))[1][:100]),
])
def test_a_deletion_file_that_is_none_is_refused(kind: DeletionKind, data: bytes) -> None:
    with pytest.raises(InvalidTable):
        parse_deletions(data, kind, "here")


@pytest.mark.parametrize("logical, arrow", [
    ("int8", pa.int8()), ("uint64", pa.uint64()), ("halffloat", pa.float16()), ("large_string", pa.large_string()),
    ("date32:day", pa.date32()), ("time64:ns", pa.time64("ns")), ("duration:us", pa.duration("us")),
    ("timestamp:us:-", pa.timestamp("us")), ("timestamp:ns:Europe/Oslo", pa.timestamp("ns", "Europe/Oslo")),
    ("decimal:128:20:4", pa.decimal128(20, 4)), ("fixed_size_binary:16", pa.binary(16)),
    ("fixed_size_list:float:8", pa.list_(pa.float32(), 8)),
    ("fixed_size_list:fixed_size_list:float:4:2", pa.list_(pa.list_(pa.float32(), 4), 2)),
    ("dict:string:int32:false", pa.dictionary(pa.int32(), pa.string())), ("quaternion", None), ("timestamp:fortnight:-", None),
])
def test_logical_types_have_their_arrow_types(logical: str, arrow: pa.DataType | None) -> None:
    """Section 3, Field."""
    assert arrow_type(logical) == arrow


def _field(id: int, parent: int, name: str, logical: str) -> Any:
    return new_message("Field", id=id, parent_id=parent, name=name, logical_type=logical, nullable=True)


def _columns(*fields: Any) -> Struct:
    message = new_message("Manifest", version=1, fields=fields)
    manifest = parse_manifest(manifest_bytes(message.SerializeToString()), "here")
    return parse_schema(manifest.fields, "here").struct


def test_a_flat_list_of_fields_becomes_nested_columns() -> None:
    struct_ = _columns(
        _field(0, -1, "a", "int64"), _field(1, -1, "s", "struct"), _field(2, 1, "x", "string"), _field(3, -1, "l", "list"),
        _field(4, 3, "item", "double"), _field(5, -1, "odd", "quaternion"),
    )
    assert [str(field.type) for field in struct_] == ["long", "struct<x:string>", "array<double>", "quaternion"]


@pytest.mark.parametrize("fields", [
    [_field(0, 7, "a", "int64")],
    [_field(0, -1, "l", "list")],
    [_field(0, -1, "m", "map"), _field(1, 0, "entries", "struct"), _field(2, 1, "key", "string")],
])
def test_a_list_of_fields_that_makes_no_schema_is_refused(fields: list[Any]) -> None:
    with pytest.raises(InvalidTable):
        _columns(*fields)


def test_a_vector_keeps_its_length(tmp_path: Path) -> None:
    rows = pa.table({"v": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))})
    table = made(tmp_path / "t", rows)
    kind = table.schema.fields[0].type
    assert isinstance(kind, Array)
    assert (kind.element, kind.length) == (t.FLOAT, 2)
    assert table.to_arrow().schema == rows.schema


@pytest.mark.parametrize("name, is_tag, is_branch", [
    ("v1.0", True, True), ("a/b", False, True), ("main", True, False), (".x", False, True), ("x.", False, True), ("a..b", False, False),
    ("a.lock", False, False), ("/a", False, False), ("a//b", False, False), ("a\\b", False, False), ("", False, False),
])
def test_names_of_tags_and_branches_follow_their_rules(name: str, is_tag: bool, is_branch: bool) -> None:
    """Section 10."""
    assert (tag_problem(name) is None, branch_problem(name) is None) == (is_tag, is_branch)


@pytest.mark.parametrize("path", ["../../secret.lance", "/etc/passwd", "a/../../b.lance", ""])
def test_a_path_that_leads_out_of_the_table_is_refused_before_pylance_sees_it(tmp_path: Path, path: str) -> None:
    """Section 6: files lie below the table or a base path."""
    made(tmp_path / "t")

    def astray(message: Any) -> None:
        message.fragments[0].files[0].path = path

    table = esker.open(bent(tmp_path / "t", astray))
    with pytest.raises(InvalidTable, match="does not lead to a file of the table"):
        table.to_arrow()


def test_fragments_that_are_listed_elsewhere_are_refused_though_no_flag_tells_of_them(tmp_path: Path) -> None:
    """Field 22 of a manifest, which Lance 14 knows and does not write yet: without it, rows would be missed in silence."""
    made(tmp_path / "t")
    table = esker.open(bent(tmp_path / "t", lambda message: message.fragment_tree.SetInParent()))
    assert table.describe().schema.names == ("id", "name")
    for act in (table.to_arrow, lambda: table.append(ROWS)):
        with pytest.raises(Unsupported, match="in a tree"):
            act()
    assert {found.rule for found in table.check()} == {"fragments.list"}


@pytest.mark.parametrize("field", ["transaction_before", "transaction_section"])
def test_a_manifest_tells_where_it_holds_its_transaction(tmp_path: Path, field: str) -> None:
    """Field 21 before Lance 14, and field 23 since."""
    made(tmp_path / "t")
    shutil.rmtree(tmp_path / "t" / "_transactions")
    file = newest(tmp_path / "t")
    manifest = parse_manifest(file.read_bytes(), str(file))
    message, front = manifest.message, manifest.container.data[: manifest.container.position]
    position = message.transaction_section if message.HasField("transaction_section") else message.transaction_before
    for name in ("transaction_before", "transaction_section"):
        message.ClearField(name)
    setattr(message, field, position)
    body = message.SerializeToString()
    file.write_bytes(front + struct.pack("<I", len(body)) + body + struct.pack("<qhh4s", len(front), 0, 2, b"LANC"))
    assert esker.open(tmp_path / "t").history().column("operation").to_pylist() == ["overwrite"]


def test_a_version_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="version 9"):
        made(tmp_path / "t").at(9)

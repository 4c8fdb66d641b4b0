"""Which rows a deletion vector deletes, wherever and however it is kept.  (PROTOCOL.md, "Deletion Vectors")"""

import struct
import zlib
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core.bitmap import MAGIC, Bitmap
from esker.delta.deletion_vectors import file_uri, load, parse_descriptor, z85_decode, z85_encode
from esker.errors import EskerError, InvalidTable
from esker.storage.local import LocalStorage
from esker.storage.memory import MemoryStorage
from tests.delta.tables import Action, Log, ids, inline

EXAMPLE_1 = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6}
EXAMPLE_2 = EXAMPLE_1 | {
    "storageType": "p", "pathOrInlineDv": "s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
}  # fmt: skip
EXAMPLE_3: Action = {
    "storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", "sizeInBytes": 40,
    "cardinality": 6,
}  # fmt: skip
IDENTITY = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
NAME = f"deletion_vector_{IDENTITY}.bin"


def positions(descriptor: Action, storage: MemoryStorage | None = None) -> list[int]:
    where = storage or MemoryStorage("memory://nowhere")
    found = load({7: parse_descriptor(descriptor, "x")}, lambda uri: (where, uri), "x")
    return found[7].to_numpy().tolist()


def record(data: bytes) -> bytes:
    """One vector as a file holds it: size, bytes, checksum, numbers big-endian."""
    return struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def stored(*vectors: list[int]) -> tuple[bytes, list[Action]]:
    """A file of vectors, and their descriptors."""
    body, descriptors = b"\x01", []
    for deleted in vectors:
        data = Bitmap.of(deleted).serialize()
        descriptors.append({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"[2:], "offset": len(body),
                            "sizeInBytes": len(data), "cardinality": len(deleted)})  # fmt: skip
        body += record(data)
    return body, descriptors


def test_the_relative_path_of_the_specification_is_decoded() -> None:
    """PROTOCOL.md, "JSON Example 1 — On Disk with Relative Path (with Random Prefix)" """
    assert file_uri(parse_descriptor(EXAMPLE_1, "x")) == f"ab/{NAME}"


def test_the_absolute_path_of_the_specification_is_taken_as_it_is() -> None:
    """PROTOCOL.md, "JSON Example 2 — On Disk with Absolute Path" """
    assert file_uri(parse_descriptor(EXAMPLE_2, "x")) == f"s3://mytable/{NAME}"


def test_the_inline_vector_of_the_specification_holds_its_rows() -> None:
    """PROTOCOL.md, "JSON Example 3 — Inline" """
    assert positions(EXAMPLE_3) == [3, 4, 7, 11, 18, 29]


def test_the_inline_vector_of_the_specification_holds_its_rows_in_the_form_that_it_describes() -> None:
    """PROTOCOL.md, "JSON Example 3 — Inline", its bitmap behind the header of "Deletion Vector Format" """
    bitmap = z85_decode(EXAMPLE_3["pathOrInlineDv"])[12:]
    data = struct.pack("<IQI", MAGIC, 1, 0) + bitmap
    assert positions({"storageType": "i", "pathOrInlineDv": z85_encode(data), "sizeInBytes": len(data), "cardinality": 6}) == [
        3, 4, 7, 11, 18, 29
    ]  # fmt: skip


@pytest.mark.parametrize("descriptor, unique", [
    (EXAMPLE_1, "uab^-aqEH.-t@S}K{vb[*k^@4"), (EXAMPLE_3, "i" + EXAMPLE_3["pathOrInlineDv"]),
])  # fmt: skip
def test_the_unique_id_has_the_offset_where_there_is_one(descriptor: Action, unique: str) -> None:
    """PROTOCOL.md, "Derived Fields" """
    assert parse_descriptor(descriptor, "x").unique_id == unique


@given(st.binary(max_size=40))
def test_base_85_takes_any_bytes_there_and_back(data: bytes) -> None:
    assert z85_decode(z85_encode(data))[: len(data)] == data


@given(st.text(alphabet="0aZ#%$@ é", max_size=12))
def test_a_text_of_base_85_is_decoded_or_refused(text: str) -> None:
    with suppress(InvalidTable):
        assert len(z85_decode(text)) <= len(text)


@given(st.lists(st.sets(st.integers(0, 2**40), max_size=5), min_size=1, max_size=4))
def test_vectors_that_share_a_file_are_told_apart_by_their_offsets(deleted: list[set[int]]) -> None:
    """PROTOCOL.md, "Deletion Vector File Storage Format" """
    body, descriptors = stored(*(sorted(d) for d in deleted))
    storage = MemoryStorage("memory://vectors")
    storage.put(NAME, body)
    parsed = {i: parse_descriptor(d, "x") for i, d in enumerate(descriptors)}
    found = load(parsed, lambda uri: (storage, uri), "x")
    assert {i: found[i].to_numpy().tolist() for i in found} == {i: sorted(d) for i, d in enumerate(deleted)}
    for i, descriptor in enumerate(descriptors):
        assert positions(descriptor, storage) == sorted(deleted[i])


BODY, (GOOD,) = stored([0, 2])
DATA = Bitmap.of([0, 2]).serialize()
BROKEN = [
    ("a checksum that differs", BODY[:-1] + bytes([BODY[-1] ^ 1]), GOOD),
    ("a bit that differs", BODY[:12] + bytes([BODY[12] ^ 1]) + BODY[13:], GOOD),
    ("a size that differs", BODY, GOOD | {"sizeInBytes": GOOD["sizeInBytes"] - 1}),
    ("a number of rows that differs", BODY, GOOD | {"cardinality": 3}),
    ("an offset past the end", BODY, GOOD | {"offset": 1000}),
    ("an offset beside the vector", BODY, GOOD | {"offset": 2}),
    ("a file cut off", BODY[:-2], GOOD),
    ("an empty file", b"", GOOD),
    ("no file", None, GOOD),
    ("another version of the file", b"\x02" + BODY[1:], GOOD),
    ("another magic number", b"\x01" + record(struct.pack("<I", MAGIC + 5) + DATA[4:]), GOOD),
    ("a size below zero", BODY, GOOD | {"sizeInBytes": -1}),
    ("an offset below zero", BODY, GOOD | {"offset": -1}),
    ("a size that is a text", BODY, GOOD | {"sizeInBytes": "9"}),
    ("a storage type that is unknown", BODY, GOOD | {"storageType": "x"}),
    ("a path that is no UUID", BODY, GOOD | {"pathOrInlineDv": "abcde"}),
    ("a path that is empty", BODY, GOOD | {"pathOrInlineDv": ""}),
    ("a path that is not base 85", BODY, GOOD | {"pathOrInlineDv": "é" * 20}),
    ("a path that is null", BODY, GOOD | {"pathOrInlineDv": None}),
    ("inline bytes that are too few", BODY, inline(0, 2) | {"sizeInBytes": 1000}),
    ("inline bytes that are cut off", BODY, inline(0, 2) | {"sizeInBytes": 10}),
    ("inline bytes that are no bitmap", BODY, inline(0, 2) | {"pathOrInlineDv": "0" * 50}),
    ("inline bytes that are no base 85", BODY, inline(0, 2) | {"pathOrInlineDv": "abc"}),
    ("inline rows of another number", BODY, inline(0, 2) | {"cardinality": 1}),
]  # fmt: skip


@pytest.mark.parametrize("body, descriptor", [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_vector_that_is_not_what_its_descriptor_says_is_an_invalid_table(body: bytes | None, descriptor: Action) -> None:
    """PROTOCOL.md, "Deletion Vector Descriptor Schema", "Deletion Vector File Storage Format" """
    log = Log().start(features=["deletionVectors"])
    if body is not None:
        log.storage.put(NAME, body)
    log.commit(log.data("a.parquet", ids(1, 2, 3), dv=descriptor))
    with pytest.raises(InvalidTable):
        log.open().to_arrow()


@pytest.mark.parametrize("descriptor", [GOOD, inline(0, 2), GOOD | {"storageType": "p", "pathOrInlineDv": NAME}],
                         ids=["stored", "inline", "by path"])  # fmt: skip
def test_deleted_rows_are_not_returned(descriptor: Action) -> None:
    """ "these records *must not* be returned in the output"  (Reader Requirements for Deletion Vectors)"""
    log = Log().start(features=["deletionVectors"])
    log.storage.put(NAME, BODY)
    log.commit(log.data("a.parquet", ids(1, 2, 3, 4), dv=descriptor, row_group_size=2), log.data("b.parquet", ids(5)))
    table = log.open()
    assert table.to_arrow()["id"].to_pylist() == [2, 4, 5]
    assert table.to_arrow(where="id < 4", columns=["id", "_pos"]).to_pylist() == [{"id": 2, "_pos": 1}]
    assert table.files()["deleted"].to_pylist() == [2, 0]


def test_a_vector_is_heeded_where_the_property_is_not_set() -> None:
    """ "even when the `delta.enableDeletionVectors` table property is not set"  (Deletion Vectors)"""
    log = Log().start(features=["deletionVectors"], delta__enableDeletionVectors="false")
    log.commit(log.data("a.parquet", ids(1, 2), dv=inline(0)))
    assert log.open().to_arrow()["id"].to_pylist() == [2]


def test_a_vector_that_deletes_rows_which_are_not_there_is_an_invalid_table() -> None:
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", ids(1, 2), dv=inline(5)))
    with pytest.raises(InvalidTable, match="row 5"):
        log.open().to_arrow()


def test_a_vector_that_deletes_every_row_leaves_none() -> None:
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", ids(1, 2), dv=inline(0, 1)))
    assert log.open().to_arrow().num_rows == 0


def test_the_offset_of_a_stored_vector_is_zero_where_it_is_absent() -> None:
    """newest text, C16: "if absent for storage types other than `i`, treat as 0" """
    assert parse_descriptor({k: v for k, v in GOOD.items() if k != "offset"}, "x").offset is None


@pytest.mark.parametrize("path", ["../x.bin", "a/../../x.bin", "%2e%2e/x.bin", "..%2fx.bin", "..\\x.bin", "./x.bin"])
def test_a_vector_does_not_lead_out_of_the_table_by_a_relative_path(path: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(BODY)
    log = Log(LocalStorage(str(tmp_path / "table"))).start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", ids(1, 2, 3), dv=GOOD | {"storageType": "p", "pathOrInlineDv": path}))
    with pytest.raises(EskerError):
        log.open().to_arrow()
    prefix = path[: -len("x.bin")]
    log.commit(log.data("a.parquet", ids(1, 2, 3), dv=GOOD | {"pathOrInlineDv": prefix + GOOD["pathOrInlineDv"]}), version=1)
    (tmp_path / NAME).write_bytes(BODY)
    with pytest.raises(EskerError):
        log.open().to_arrow()

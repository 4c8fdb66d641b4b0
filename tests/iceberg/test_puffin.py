"""Puffin specification; Iceberg specification, "Deletion Vectors"."""

import struct
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.puffin import PuffinFile as TheirPuffin

from esker.core.bitmap import Bitmap
from esker.errors import EskerError, InvalidTable, Unsupported
from esker.iceberg.puffin import (
    Blob,
    NewBlob,
    blob_bytes,
    parse_puffin,
    parse_vector,
    puffin_file,
    vector_blob,
    vector_bytes,
)  # fmt: skip


@pytest.mark.parametrize(
    ("positions", "stored"),
    [
        ([1, 5], "00000024d1d339640100000000000000000000003a3000000100000000000100100000000100"
                 "05003e6e302f"),
        ([], "0000000cd1d339640000000000000000bf18480c"),
    ],
)  # fmt: skip
def test_the_test_vectors_of_deletion_vectors(positions, stored):
    assert vector_bytes(Bitmap.of(positions)).hex() == stored
    assert parse_vector(bytes.fromhex(stored), "here").to_numpy().tolist() == positions


@given(st.lists(st.sets(st.integers(0, 2**40), max_size=50), max_size=5))
def test_deletion_vectors_come_back_from_a_puffin_file(sets):
    file = puffin_file([vector_blob(Bitmap.of(s), f"file:///d/{i}.parquet") for i, s in enumerate(sets)], "Esker")
    read = parse_puffin(file.data, "here")
    assert read == file
    for i, (blob, positions) in enumerate(zip(read.blobs, sets, strict=True)):
        assert blob.properties == {"referenced-data-file": f"file:///d/{i}.parquet", "cardinality": str(len(positions))}
        assert set(parse_vector(blob_bytes(read, blob), "here").to_numpy().tolist()) == positions


def test_pyiceberg_reads_the_vectors_that_are_written():
    file = puffin_file([vector_blob(Bitmap.of([1, 5, 2**33]), "file:///d/a.parquet")], "Esker")
    assert TheirPuffin(file.data).to_vector()["file:///d/a.parquet"].to_pylist() == [1, 5, 2**33]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_blobs_are_read(codec):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(b"sketch" * 100)
    blob = NewBlob(sink.getvalue().to_pybytes(), Blob("apache-datasketches-theta-v1", 0, 0, (1,), 7, 8, codec, {"ndv": "3"}))
    file = parse_puffin(puffin_file([blob], "Esker").data, "here")
    assert file.blobs[0].snapshot_id == 7
    assert blob_bytes(file, file.blobs[0]) == b"sketch" * 100


def test_a_compressed_footer_is_read():
    plain = puffin_file([vector_blob(Bitmap.of([3]), "a")], "Esker").data
    (size,) = struct.unpack("<i", plain[-12:-8])
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(plain[-12 - size : -12])
    packed = sink.getvalue().to_pybytes()
    data = plain[: -12 - size] + packed + struct.pack("<iI", len(packed), 1) + b"PFA1"
    assert parse_puffin(data, "here").blobs == parse_puffin(plain, "here").blobs


def test_a_file_that_is_cut_off_anywhere_is_refused():
    data = puffin_file([vector_blob(Bitmap.of([1, 5]), "a")], "Esker").data
    for end in range(len(data)):
        with pytest.raises(EskerError):
            parse_puffin(data[:end], "here")


@pytest.mark.parametrize(
    "damage",
    [
        lambda v: v[:-1], lambda v: v[:-1] + bytes([v[-1] ^ 1]), lambda v: v[:20] + b"\7" + v[21:], lambda v: v[:8],
        lambda v: struct.pack(">I", 4) + v[4:8] + struct.pack(">I", zlib.crc32(v[4:8])),
    ],
)  # fmt: skip
def test_a_vector_of_another_length_or_checksum_is_refused(damage):
    with pytest.raises(InvalidTable):
        parse_vector(damage(vector_bytes(Bitmap.of([1, 5]))), "here")


def test_flags_that_are_not_known_are_refused():
    data = bytearray(puffin_file([], "Esker").data)
    data[-5] = 1
    with pytest.raises(Unsupported, match="flags"):
        parse_puffin(bytes(data), "here")

"""Are deletion vectors, and what is said of files that have them, as the protocol asks?"""

import json
import zlib
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esker.core.bitmap import Bitmap
from esker.delta.actions import Add
from esker.delta.dead_rows import TouchedFile, wide_stats, with_vector
from esker.delta.deletion_vector_writer import vector_file
from esker.delta.deletion_vectors import DeletionVector, load
from esker.delta.row_edits import uses_vectors
from esker.storage.memory import MemoryStorage
from tests.delta.tables import Log

_ID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sets(st.integers(0, 2**40), min_size=1), min_size=1, max_size=4))
def test_one_file_holds_many_vectors(sets: list[set[int]]):
    """Deletion Vector File Storage Format: a version, then each vector with its size and its checksum."""
    written = vector_file({i: Bitmap.of(positions) for i, positions in enumerate(sets)}, _ID)
    storage = MemoryStorage("memory://vectors/t")
    storage.put(written.path, written.data)
    read = load(written.vectors, lambda path: (storage, path), storage.url)
    assert {i: set(bitmap.to_numpy().tolist()) for i, bitmap in read.items()} == dict(enumerate(sets))
    assert written.data[0] == 1
    for vector in written.vectors.values():
        assert vector.offset is not None
        start = vector.offset + 4
        body = written.data[start : start + vector.size]
        assert int.from_bytes(written.data[vector.offset : start], "big") == vector.size
        assert int.from_bytes(written.data[start + len(body) : start + len(body) + 4], "big") == zlib.crc32(body)


def test_a_file_with_a_vector_says_how_many_records_it_has():
    """Writer Requirement for Deletion Vectors: "that logical file must have correct `numRecords` information" """
    add = Add("f.parquet", {}, 10, 0, False, None, base_row_id=7, default_row_commit_version=2)
    vector = DeletionVector("u", "x" * 20, 4, 1, 1)
    touched = TouchedFile(0, add, 3, Bitmap.of([]), Bitmap.of([1]))
    after = with_vector(touched, vector)
    assert json.loads(after.stats or "") == {"numRecords": 3, "tightBounds": False}
    assert (after.deletion_vector, after.base_row_id, after.default_row_commit_version, after.data_change) == (vector, 7, 2, True)


@pytest.mark.parametrize("stats", [None, "", "not JSON", "[1]", "null"])
def test_statistics_that_say_nothing_are_replaced(stats: str | None):
    assert json.loads(wide_stats(stats, 5)) == {"numRecords": 5, "tightBounds": False}


def test_bounds_keep_every_digit_when_rows_die():
    text = '{"numRecords":1,"minValues":{"d":1.10000000000000000000000000001},"maxValues":{"n":9223372036854775807}}'
    widened = wide_stats(text, 4)
    assert "1.10000000000000000000000000001" in widened
    assert json.loads(widened)["maxValues"] == {"n": 9223372036854775807}


@pytest.mark.parametrize(
    ("features", "switch", "expected"),
    [(("deletionVectors",), "true", True), (("deletionVectors",), "false", False), ((), "true", False)],
)
def test_vectors_are_written_only_where_they_are_enabled(features: tuple[str, ...], switch: str, expected: bool):
    """Deletion Vectors: "Writers must only write new Deletion Vectors (DVs) when this property is set to `true`." """
    log = Log().start(features=features, delta__enableDeletionVectors=switch)
    assert uses_vectors(log.snapshot()) is expected

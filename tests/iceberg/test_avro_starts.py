"""Is every row read from where it starts, whether that was found by its path or by reading all rows before it?"""

import io
import random

import fastavro
import numpy as np
import pytest

from esker.core.types import Struct
from esker.errors import InvalidTable
from esker.iceberg import avro_columns
from esker.iceberg.avro_columns import read_columns
from esker.iceberg.avro_file import AvroFile, parse_avro
from esker.iceberg.manifest_schemas import manifest_schema

ROOT = "s3://bucket/table/data"


def manifest(rows, version=3, block=700) -> AvroFile:
    sink = io.BytesIO()
    schema = fastavro.parse_schema(manifest_schema(version, Struct()))
    fastavro.writer(sink, schema, rows, codec="deflate", sync_interval=block)
    return parse_avro(sink.getvalue(), "here")


def row(number, chance, path=None, **file):
    """An entry whose head is as long as chance has it."""
    path = path or f"{ROOT}/p={chance.choice('abc')}/{'x' * chance.choice((0, 3, 90))}{number}.parquet"
    sequence = chance.choice((None, 1, 63, 64, 10**6))
    counts = [{"key": i, "value": chance.choice((0, 64, 10**9))} for i in range(1, chance.choice((1, 5)))]
    bounds = [{"key": i, "value": bytes([chance.randrange(256)] * i)} for i in (1, 2, 300)]
    return {
        "status": chance.choice((0, 1, 2)), "snapshot_id": chance.choice((None, 5, 2**62 + number)),
        "sequence_number": sequence, "file_sequence_number": sequence,
        "data_file": {
            "content": 0, "file_path": path, "file_format": "PARQUET", "partition": {}, "record_count": number,
            "file_size_in_bytes": 10**number % 2**60, "column_sizes": chance.choice((None, [], counts)), "value_counts": counts,
            "null_value_counts": counts, "nan_value_counts": None, "lower_bounds": bounds, "upper_bounds": bounds, **file,
        },
    }  # fmt: skip


@pytest.fixture
def in_step(monkeypatch):
    """Reads rows one after another."""

    def read(files, **wanted):
        with monkeypatch.context() as patch:
            patch.setattr(avro_columns, "read_side_by_side", lambda *_: False)
            return rows_of(files, **wanted)

    return read


def rows_of(files, **wanted):
    return read_columns(files, "here", **wanted)[0].to_pylist()


@pytest.fixture
def side_by_side(monkeypatch):
    """What was told of each batch: whether its rows were read side by side."""
    told = []
    read = avro_columns.read_side_by_side

    def noted(*arguments):
        told.append(read(*arguments))
        return told[-1]

    monkeypatch.setattr(avro_columns, "read_side_by_side", noted)
    return told


PATHS = {
    "plain": {},
    "named again in each row": {"referenced_data_file": f"{ROOT}/p=a/1.parquet"},
    "named again in all bounds": {"lower_bounds": [{"key": 1, "value": f"{ROOT}/p=".encode()}]},
}


@pytest.mark.parametrize("more", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("wanted", [{}, {"without": ("108", "110")}, {"keys": (2, 300)}, {"without": ("125",), "keys": ()}])
def test_rows_are_the_same_side_by_side_as_in_step(more, wanted, in_step, side_by_side):
    chance = random.Random(8)
    files = [manifest([row(i, chance, **more) for i in range(n)]) for n in (1, 250, 40)]
    found = rows_of(files, **wanted)
    assert side_by_side == [True]
    assert found == in_step(files, **wanted)


def test_only_the_chosen_keys_of_maps_are_kept():
    for entry in rows_of([manifest([row(i, random.Random(1)) for i in range(30)])], keys=(2, 300)):
        assert [key for key, _ in entry["2"]["125"]] == [2, 300]
        assert {key for key, _ in entry["2"]["109"]} <= {2}


CONFUSING = {
    "in some bounds": lambda i, c: row(i, c, lower_bounds=[{"key": 1, "value": f"{ROOT}/p=a".encode()}] if i % 3 else []),
    "nothing in common": lambda i, c: row(i, c, path=f"{i}.parquet"),
    "nothing": lambda i, c: row(i, c, path=""),
    "the same head within a bound": lambda i, c: row(i, c, lower_bounds=[{"key": 1, "value": b"\2\0\2\2\2\2\2\2\0\x50" + ROOT.encode()}]),
}


@pytest.mark.parametrize("make", CONFUSING.values(), ids=CONFUSING)
def test_paths_that_tell_nothing_or_lead_astray_change_no_row(make, in_step):
    chance = random.Random(3)
    files = [manifest([make(i, chance) for i in range(120)])]
    assert rows_of(files) == in_step(files)


def test_a_block_that_counts_its_rows_wrong_is_refused():
    file = manifest([row(i, random.Random(2)) for i in range(50)], block=10**6)
    (block,) = file.blocks
    for count in (49, 51):
        told = type(block)(count, block.body, block.codec, block.where)
        with pytest.raises(InvalidTable):
            rows_of([AvroFile(file.schema, file.metadata, (told,))])


def test_damaged_rows_are_the_same_side_by_side_as_in_step_or_refused_by_both(in_step):
    chance = random.Random(5)
    sink = io.BytesIO()
    rows = [row(i, chance) for i in range(20)]
    fastavro.writer(sink, fastavro.parse_schema(manifest_schema(3, Struct())), rows, codec="null", sync_interval=500)
    whole = sink.getvalue()
    refused = 0
    for at in np.random.default_rng(1).integers(len(whole) // 2, len(whole), 300):
        damaged = whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :]
        outcomes = [_outcome(read, damaged) for read in (rows_of, in_step)]
        assert outcomes[0] == outcomes[1]
        refused += outcomes[0] is None
    assert 0 < refused < 300


def _outcome(read, data):
    """The rows as text, in which NaN equals NaN; None where they are refused."""
    try:
        return str(read([parse_avro(data, "here")]))
    except InvalidTable:
        return None

"""Does Arrow read a file of any storage at random?"""

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from esker.errors import NotFound
from esker.storage import Storage, open_input, open_storage
from esker.storage.cloud import CloudStorage
from esker.testing.faults import Counting

ROWS = pa.table({"id": range(10_000), "name": [f"name {n}" for n in range(10_000)]})


@pytest.fixture(params=["local", "memory", "cloud"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    match request.param:
        case "local":
            return open_storage(tmp_path / "100% é")
        case "memory":
            return open_storage(f"memory://{uuid4()}")
    return CloudStorage(MemoryStore(), "s3://bucket/table")


def _put_rows(storage: Storage) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink, row_group_size=1000)
    data = sink.getvalue().to_pybytes()
    storage.put("a b.parquet", data)
    return len(data)


@pytest.mark.parametrize("pre_buffer", [False, True])
def test_a_parquet_file_reads_equal_from_every_storage(storage: Storage, pre_buffer: bool) -> None:
    size = _put_rows(storage)
    with open_input(storage, "a b.parquet", size) as source:
        assert source.size() == size
        assert pq.read_table(source, pre_buffer=pre_buffer).equals(ROWS)
    assert source.closed


def test_a_file_whose_size_is_not_known_is_asked_for_it(storage: Storage) -> None:
    size = _put_rows(storage)
    with open_input(storage, "a b.parquet") as source:
        assert source.size() == size
        assert pq.ParquetFile(source).metadata.num_rows == ROWS.num_rows


def test_a_file_is_read_as_a_whole_in_parts_and_past_its_end(storage: Storage) -> None:
    storage.put("a", b"0123456789")
    with open_input(storage, "a", 10) as source:
        assert source.read() == b"0123456789"
        source.seek(-3, 2)
        assert (source.read(2), source.tell(), source.read(5), source.read(5)) == (b"78", 9, b"9", b"")
        source.seek(2)
        assert source.read_buffer(3).to_pybytes() == b"234"


def test_a_missing_file_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound):
        open_input(storage, "nothing")


def test_one_column_of_one_row_group_does_not_read_the_file() -> None:
    storage = Counting(open_storage(f"memory://{uuid4()}"))
    size = _put_rows(storage)
    with open_input(storage, "a b.parquet", size) as source:
        pq.ParquetFile(source, pre_buffer=True).read_row_group(3, columns=["id"])
    assert storage.calls["head"] == 0
    assert storage.calls["read"] <= 3

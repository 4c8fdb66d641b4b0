"""Files whose footers others write in their own way.  (Parquet, `parquet.thrift`: `SchemaElement`)"""

import io
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esker.arrow.parquet_files import open_parquet, without_unknown_groups

ROWS = pa.table(
    {
        "m": pa.array([[(1, "a")], None, [(2, None)]], pa.map_(pa.int32(), pa.string())),
        "n": pa.nulls(3),  # a column of nulls may have the type
        "s": pa.array([{"x": 1}, None, {"x": 3}], pa.struct([("x", pa.int64())])),
    }
)
UNKNOWN = b"\x5c\xbc\x00\x00"  # the field 10, five after num_children: a union with the field 11, an empty struct


def footer_of(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


def with_footer(data: bytes, footer: bytes) -> bytes:
    return data[: -8 - len(footer_of(data))] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def file(is_marked: bool) -> bytes:
    """The rows; the group within the map is marked as parquet-mr marked it."""
    sink = io.BytesIO()
    pq.write_table(ROWS, sink)
    data = sink.getvalue()
    footer = footer_of(data)
    end = footer.index(b"key_value") + len(b"key_value") + 2  # the number of children: its header and one byte
    assert footer[end] == 0
    return with_footer(data, footer[:end] + UNKNOWN + footer[end:]) if is_marked else data


def test_a_group_of_the_type_unknown_is_read_as_what_it_is() -> None:
    data = file(is_marked=True)
    with pytest.raises(OSError, match="Null cannot be applied"):
        pq.ParquetFile(io.BytesIO(data))
    assert open_parquet(pa.BufferReader(data)).read() == ROWS


def test_columns_keep_the_type_unknown_and_a_usual_footer_stays_as_it_is() -> None:
    assert without_unknown_groups(footer_of(file(is_marked=True))) == footer_of(file(is_marked=False))
    assert without_unknown_groups(footer_of(file(is_marked=False))) == footer_of(file(is_marked=False))


def test_a_broken_footer_raises_nothing_but_an_os_error() -> None:
    footer, random = footer_of(file(is_marked=True)), Random(7)
    for _ in range(500):
        broken = bytearray(footer[: random.randrange(len(footer))])
        for _ in range(3):
            if broken:
                broken[random.randrange(len(broken))] = random.randrange(256)
        try:
            without_unknown_groups(bytes(broken))
        except OSError:
            continue

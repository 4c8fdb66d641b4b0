"""How is a Parquet file opened?  (Parquet, "File format", `parquet.thrift`: `SchemaElement`; Thrift's compact protocol)

Some releases of parquet-mr wrote for what was `MAP_KEY_VALUE`, the group within a map, the logical type UNKNOWN, which is for
columns of nulls alone. Others pass over it; Arrow does not open such a file, so it is shown a footer without these types.
"""

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAGIC = b"PAR1"
_REFUSED = "Logical type Null cannot be applied to group node"
_TAIL = 8  # the footer's length and the magic


def open_parquet(source: pa.NativeFile, **options: Any) -> pq.ParquetFile:
    """The file, which is read as `options` say."""
    try:
        return pq.ParquetFile(source, **options)
    except OSError as error:
        if _REFUSED not in str(error):
            raise
    return pq.ParquetFile(source, metadata=_metadata(source), **options)


def _metadata(source: pa.NativeFile) -> pq.FileMetaData:
    size = source.size()
    source.seek(size - _TAIL)
    length = int.from_bytes(source.read(4), "little")
    source.seek(size - _TAIL - length)
    footer = without_unknown_groups(source.read(length))
    return pq.read_metadata(io.BytesIO(MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC))


def without_unknown_groups(footer: bytes) -> bytes:
    """The footer, in which no group has the logical type UNKNOWN. Raises `OSError` where it is no footer."""
    try:
        gone = list(_Reader(footer).unknown_groups())
    except (IndexError, RecursionError) as error:
        raise OSError("the footer of the Parquet file ends early, or never") from error
    kept, at = b"", 0
    for start, end in gone:
        kept, at = kept + footer[at:start], end
    return kept + footer[at:]


_SCHEMA, _CHILDREN, _LOGICAL_TYPE, _UNKNOWN = 2, 5, 10, 11  # ids of fields
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_VARINTS = (4, 5, 6)


class _Reader:
    """Goes through Thrift's compact protocol, from field to field."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unknown_groups(self) -> Iterator[tuple[int, int]]:
        """Where the logical types begin and end that groups are not to have."""
        for _, field, kind in self._fields():
            if field != _SCHEMA:
                self._skip(kind)
                continue
            for _ in range(self._list()[0]):
                yield from self._element()
            return

    def _element(self) -> Iterator[tuple[int, int]]:
        is_group, unknown, last = False, None, 0
        for start, field, kind in self._fields():
            last = field
            if field == _LOGICAL_TYPE:
                inner = [self._skipped(choice, its_kind) for _, choice, its_kind in self._fields()]
                unknown = (start, self._at) if inner == [_UNKNOWN] else None
            else:
                is_group |= field == _CHILDREN
                self._skip(kind)
        if is_group and unknown is not None:
            if last != _LOGICAL_TYPE:  # what follows is numbered from it
                raise OSError("a group of the Parquet file has the logical type UNKNOWN, and something after it")
            yield unknown

    def _fields(self) -> Iterator[tuple[int, int, int]]:
        """Where each field of a struct begins, its id and its type; whoever takes one goes past its value."""
        field = 0
        while True:
            start, head = self._at, self._byte()
            if not head:
                return
            field = field + (head >> 4) if head >> 4 else _unzigzag(self._varint())
            yield start, field, head & 0x0F

    def _skipped(self, field: int, kind: int) -> int:
        self._skip(kind)
        return field

    def _skip(self, kind: int) -> None:
        if kind in _VARINTS:
            self._varint()
        elif kind == _BYTE:
            self._at += 1
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            length = self._varint()
            self._at += length
        elif kind in (_LIST, _SET):
            count, element = self._list()
            for _ in range(count):
                self._skip(_BYTE if element in (_TRUE, _FALSE) else element)
        elif kind == _MAP:
            raise OSError("the footer of the Parquet file holds a map, which none of its structs has")
        elif kind == _STRUCT:
            for _, _, inner in self._fields():
                self._skip(inner)
        elif kind not in (_TRUE, _FALSE):
            raise OSError(f"the footer of the Parquet file has a value of the type {kind}, which there is not")

    def _list(self) -> tuple[int, int]:
        """How many elements a list has, and of which type."""
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._varint()), head & 0x0F

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7


def _unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)

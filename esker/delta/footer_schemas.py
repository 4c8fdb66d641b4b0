"""Which schema have Parquet files, one and all?  (PROTOCOL.md, "Delta Data Type to Parquet Type Mappings")"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.types import Array, Decimal, Field, Map, Struct, Type
from esker.errors import InvalidRequest, Unsupported

Path = tuple[str, ...]


def stored_schema(footer: pq.FileMetaData) -> Struct:
    """The schema of a file in Delta's types, everything nullable. Raises `Unsupported`, naming every column without one."""
    reader = _Reader(footer)
    schema = reader.struct(footer.schema.to_arrow_schema(), ())
    if reader.problems:
        raise Unsupported("the file has columns of types that Delta does not have", problems=reader.problems)
    return schema


def merged(files: Iterable[tuple[str, Struct]]) -> Struct:
    """The columns of all files. Raises `InvalidRequest`, naming columns and files, where one has a column as another type."""
    distinct: dict[Struct, str] = {}
    for path, schema in files:
        distinct.setdefault(schema, path)
    merging = _Merging()
    whole = Struct()
    for schema, path in distinct.items():
        whole = merging.struct(whole, schema, (), path)
    if merging.problems:
        raise InvalidRequest("the files have columns of one name and different types", problems=merging.problems)
    return whole


@dataclass
class _Reader:
    """Walks a file's schema; Arrow's leaves and Parquet's columns come in the same order."""

    footer: pq.FileMetaData
    problems: list[str] = field(default_factory=list)
    _next: int = 0

    def struct(self, members: Iterable[pa.Field], path: Path) -> Struct:
        return Struct(tuple(Field(f.name, self.type(f.type, (*path, f.name))) for f in members))

    def type(self, kind: pa.DataType, path: Path) -> Type:
        if pa.types.is_struct(kind) and kind.num_fields:
            return self.struct(kind, path)
        if pa.types.is_map(kind):
            return Map(self.type(kind.key_type, (*path, "key")), self.type(kind.item_type, (*path, "value")))
        if any(is_list(kind) for is_list in _LISTS):
            return Array(self.type(kind.value_type, (*path, "element")))
        if pa.types.is_dictionary(kind):
            return self.type(kind.value_type, path)
        column = self.footer.schema.column(self._next)
        self._next += 1
        found = _leaf(kind, column.physical_type)
        if found is None:
            self.problems.append(f"the column {spelled(path)} is of type {kind}")
        return found or t.VOID


_LISTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view,
)  # fmt: skip


def _leaf(kind: pa.DataType, physical: str) -> Type | None:
    if pa.types.is_timestamp(kind):
        # INT96 is an instant, and the one form in nanoseconds that the protocol knows
        if physical == "INT96" or (kind.tz is not None and kind.unit != "ns"):
            return t.TIMESTAMP
        return None if kind.unit == "ns" else t.TIMESTAMP_NTZ
    if pa.types.is_decimal128(kind):
        return Decimal(kind.precision, kind.scale)
    return next((ours for ours, is_it in _LEAVES.items() if is_it(kind)), None)


_LEAVES: Mapping[Type, Callable[[pa.DataType], bool]] = {
    t.BOOLEAN: pa.types.is_boolean, t.BYTE: pa.types.is_int8, t.SHORT: pa.types.is_int16, t.INTEGER: pa.types.is_int32,
    t.LONG: pa.types.is_int64, t.FLOAT: pa.types.is_float32, t.DOUBLE: pa.types.is_float64, t.DATE: pa.types.is_date32,
    t.STRING: lambda kind: kind in (pa.string(), pa.large_string(), pa.string_view()),
    t.BINARY: lambda kind: kind in (pa.binary(), pa.large_binary(), pa.binary_view()),
}  # fmt: skip


@dataclass
class _Merging:
    """Schemas become one; each column remembers the file that had it first."""

    problems: list[str] = field(default_factory=list)
    _first: dict[Path, str] = field(default_factory=dict)

    def struct(self, old: Struct, new: Struct, path: Path, file: str) -> Struct:
        found = {member.name.lower(): member for member in old}
        for member in new:
            known = found.setdefault(member.name.lower(), member)
            here = (*path, known.name)
            if known is member:
                self._first[here] = file
            else:
                found[member.name.lower()] = replace(known, type=self.type(known.type, member.type, here, file))
        return Struct(tuple(found.values()))

    def type(self, old: Type, new: Type, path: Path, file: str) -> Type:
        match old, new:
            case Struct(), Struct():
                return self.struct(old, new, path, file)
            case Array(), Array():
                return Array(self.type(old.element, new.element, (*path, "element"), file))
            case Map(), Map():
                key = self.type(old.key, new.key, (*path, "key"), file)
                return Map(key, self.type(old.value, new.value, (*path, "value"), file))
        if old != new:
            self.problems.append(f"{spelled(path)} is of type {old} in {self._origin(path)}, and {new} in {file}")
        return old

    def _origin(self, path: Path) -> str:
        above: Iterator[Path] = (path[:end] for end in range(len(path), 0, -1))
        return next(self._first[place] for place in above if place in self._first)

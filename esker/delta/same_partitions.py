"""Which live files lie in the partitions that rows were written to?  (PROTOCOL.md, "Partition Value Serialization")

By values, not by texts: writers may spell the same value in different ways, and an empty text is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from esker.core.predicate import IsIn, IsNull, Predicate, Truth, all_of, any_of
from esker.core.types import Field
from esker.core.write import WrittenFile
from esker.delta.actions import Add
from esker.delta.column_mapping import physical_name
from esker.delta.live_adds import live_adds
from esker.delta.partitions import parse_values
from esker.delta.snapshot import Snapshot


@dataclass(frozen=True)
class SamePartitions:
    """The live files, and a condition that is TRUE for all rows that belong with them."""

    files: tuple[Add, ...]
    condition: Predicate


def same_partitions(snapshot: Snapshot, written: Sequence[WrittenFile]) -> SamePartitions:
    """What lies in the partitions of the written files."""
    live = tuple(live_adds(snapshot))
    wanted = set(_keys(snapshot, [file.partition for file in written]))
    there = _keys(snapshot, [add.partition_values for add in live])
    files = tuple(add for add, key in zip(live, there, strict=True) if key in wanted)
    columns = [_values(snapshot, field, [file.partition for file in written]) for field in snapshot.partition_fields]
    conditions = (_is_one_of(field, values) for field, values in zip(snapshot.partition_fields, columns, strict=True))
    return SamePartitions(files, all_of(*conditions) if written else Truth(False))


def _keys(snapshot: Snapshot, partitions: Sequence[Mapping[str, str | None]]) -> list[tuple[object, ...]]:
    """What two partitions have in common exactly if they are the same."""
    columns = [_values(snapshot, field, partitions) for field in snapshot.partition_fields]
    return list(zip(*(map(_key, values) for values in columns), strict=True)) if columns else [()] * len(partitions)


def _key(value: pa.Scalar) -> object:
    plain = value.cast(pa.int64()) if pa.types.is_timestamp(value.type) else value
    found = plain.cast(pa.int32()).as_py() if pa.types.is_date(value.type) else plain.as_py()
    return "NaN" if found != found else found


def _values(snapshot: Snapshot, field: Field, partitions: Sequence[Mapping[str, str | None]]) -> pa.Array:
    texts = pa.array([partition.get(physical_name(field, snapshot.mapping)) for partition in partitions], pa.string())
    return parse_values(texts, field.type, field.name, snapshot.location)


def _is_one_of(field: Field, values: pa.Array) -> Predicate:
    try:
        plain = set(values.unique().to_pylist())
    except (ValueError, OverflowError):  # a time that Python cannot say
        return Truth(True)
    parts: list[Predicate] = [IsIn((field.name,), tuple(v for v in plain if v is not None))] if plain - {None} else []
    return any_of(*parts, *([IsNull((field.name,))] if None in plain else []))

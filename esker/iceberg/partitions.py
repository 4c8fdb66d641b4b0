"""Which partition does a file lie in?  (spec, "Partitioning", "Manifests": "The `partition` struct")

Partition values are Arrow columns, one for each partition field, in the type that the transform gives now. What is written in
manifests may be older: an `int` for a day, a narrower number before a promotion, members without ids in version 1.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.arrow_types import to_arrow
from esker.core.types import Field, Struct, Type, relaxed
from esker.errors import InvalidTable
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.transforms import IDENTITY, VOID, Unknown, parse_transform, result_type


def source_field(metadata: TableMetadata, field_id: int) -> Field | None:
    """The column of an id, in the current schema or in the newest that still had it."""
    for schema in (metadata.schema, *sorted(metadata.schemas, key=lambda s: -s.schema_id)):
        if (found := schema.by_id().get(field_id)) is not None:
            return found[1]
    return None


def partition_type(metadata: TableMetadata, field: PartitionField) -> Type:
    """The type of a partition field's values; what nothing is known of is text."""
    source = source_field(metadata, field.source_ids[0])
    transform = parse_transform(field.transform)
    if source is None or isinstance(transform, Unknown):
        return t.STRING
    return relaxed(result_type(transform, source.type))


def partition_values(tuples: pa.StructArray, spec: PartitionSpec, field: PartitionField, kind: Type) -> pa.Array:
    """The values of a field of the spec that the tuples were written under."""
    names = [tuples.type.field(i).name for i in range(tuples.type.num_fields)]
    # "In v2, the partition struct's field ids must match the ids from the partition spec"; before, places and names tell
    at = next((names.index(name) for name in (str(field.field_id), field.name) if name in names), None)
    if at is None and len(names) == len(spec.fields):
        at = spec.fields.index(field)
    return (
        pa.nulls(len(tuples), to_arrow(kind)) if at is None else retyped(tuples.field(at), to_arrow(kind), field.name)
    )


def retyped(values: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    """The same values in another type; what counts days or units of time may be a bare number."""
    if values.type == wanted:
        return values
    try:
        if pa.types.is_temporal(wanted) and not pa.types.is_date(values.type):
            return values.cast(pa.int32() if wanted.bit_width == 32 else pa.int64()).view(wanted)
        return values.cast(wanted)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidTable(f"the partition values of {name} are {values.type}, not {wanted}: {error}") from error


def partition_fields(metadata: TableMetadata) -> tuple[PartitionField, ...]:
    """The partition fields that any spec has, each once, by their ids and under the names that they had last.

    A field that became `void` is what it was before.
    """
    found: dict[tuple[int, tuple[int, ...], str], PartitionField] = {}
    names: dict[tuple[int, tuple[int, ...]], str] = {}
    for field in (f for spec in metadata.partition_specs for f in spec.fields):
        found.setdefault((field.field_id, field.source_ids, field.transform), field)
        names[field.field_id, field.source_ids] = field.name
    telling = {(f.field_id, f.source_ids) for f in found.values() if parse_transform(f.transform) != VOID}
    kept = [f for f in found.values() if parse_transform(f.transform) != VOID or (f.field_id, f.source_ids) not in telling]
    taken: set[str] = set()
    fields: list[PartitionField] = []
    for field in sorted(kept, key=lambda f: f.field_id):
        name = names[field.field_id, field.source_ids]
        while name in taken:
            name = f"{name}_{field.field_id}"
        taken.add(name)
        fields.append(replace(field, name=name))
    return tuple(fields)


def union_type(metadata: TableMetadata) -> Struct:
    """The struct of all partition fields that any spec has. Their ids, which columns may have too, are left out."""
    return Struct(tuple(Field(f.name, partition_type(metadata, f), True) for f in partition_fields(metadata)))


def identity_sources(spec: PartitionSpec) -> dict[int, PartitionField]:
    """The partition fields that are the columns themselves, by the ids of the columns."""
    return {f.source_ids[0]: f for f in spec.fields if parse_transform(f.transform) == IDENTITY}


def partition_numbers(columns: Sequence[pa.Array], count: int) -> npt.NDArray[np.int64]:
    """A number for each tuple, the same for equal tuples. Floats are equal where their bits are."""
    numbers = np.zeros(count, np.int64)
    for column in columns:
        codes = _bits(column).dictionary_encode(null_encoding="encode").indices
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        own = codes.to_numpy(zero_copy_only=False).astype(np.int64)
        _, numbers = np.unique(numbers * (own.max(initial=0) + 1) + own, return_inverse=True)
    return numbers


def _bits(values: pa.Array) -> pa.Array:
    """ "Float partition equality uses Java floatToIntBits", in which there is one NaN."""
    if not pa.types.is_floating(values.type):
        return values
    one_nan = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
    return one_nan.view(pa.int32() if values.type.bit_width == 32 else pa.int64())

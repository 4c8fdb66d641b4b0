"""Which moments are instants, where Parquet has no way to say so?

INT96 is a moment without an annotation, and by custom an instant; pyarrow gives it without a zone. Where the table says what a
column is, that settles it. Within a variant nothing does: "TIMESTAMP" and "TIMESTAMP_NTZ" are different values there.
(VariantEncoding.md of the Parquet format, "Encoding types"; Spark 4.0 shreds timestamps into INT96)
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq


def with_instants(file: pq.ParquetFile) -> list[pa.Field]:
    """The columns of a file, each with the zone that belongs to its moments in INT96. Values can be viewed in these types."""
    physical = [file.schema.column(at).physical_type for at in range(len(file.schema))]
    if "INT96" not in physical:
        return list(file.schema_arrow)
    leaves = iter(physical)
    return [_with_instants(field, leaves) for field in file.schema_arrow]


def in_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of a column in the type that `with_instants` gives it."""
    if column.type == kind:
        return column
    return (column.storage if isinstance(column, pa.ExtensionArray) else column).view(kind)


def _with_instants(field: pa.Field, leaves: Iterator[str]) -> pa.Field:
    """The leaves of a column are the next ones in the file."""
    kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_with_instants(member, leaves) for member in kind]))
    if pa.types.is_map(kind):
        key, item = _with_instants(kind.key_field, leaves), _with_instants(kind.item_field, leaves)
        return field.with_type(pa.map_(key, item))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_with_instants(kind.value_field, leaves)))
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(_with_instants(kind.value_field, leaves)))
    if pa.types.is_fixed_size_list(kind):
        return field.with_type(pa.list_(_with_instants(kind.value_field, leaves), kind.list_size))
    return field.with_type(pa.timestamp(kind.unit, "UTC")) if next(leaves) == "INT96" else field

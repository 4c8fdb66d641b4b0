"""How must files of this table look, and what does the table say of written ones?  (spec, "Writer requirements", "Sorting")

The second of the three doors: a table that Esker may not write, and rows that do not fit it, are refused here, before a file is
written.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from uuid import uuid4

import pyarrow as pa

from esker.core.arrow_types import to_arrow
from esker.core.predicate import Path
from esker.core.row_fit import mismatches, not_null_checks
from esker.core.types import Array, Field, Map, Struct, Type
from esker.core.write import (
    Absent,
    ColumnValue,
    Constant,
    Derived,
    Given,
    SortKey,
    WriteColumn,
    WriteSpec,
    WrittenFile,
)
from esker.errors import InvalidRequest, Unsupported
from esker.iceberg.commit import check_writable
from esker.iceberg.data_files import DataFile
from esker.iceberg.defaults import default_value
from esker.iceberg.metadata import PartitionSpec, SortOrder
from esker.iceberg.metrics import metrics, modes
from esker.iceberg.schema import WRITE_DEFAULT, all_fields, minimum_version, problems
from esker.iceberg.state import TableState
from esker.iceberg.transform_sql import transform_sql
from esker.iceberg.transforms import Transform, Unknown, Void, misfit, parse_transform, result_type, transformed
from esker.storage.paths import join_url, resolve_literal, trimmed

DATA_PATH = "write.data.path"
FORMAT = "write.format.default"
CODEC = "write.parquet.compression-codec"
_CODECS = ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed", "none")
DATA = "data"


def write_spec(
    state: TableState, given: Struct, folder: str | None = None, extra: Sequence[WriteColumn] = ()
) -> WriteSpec:
    """How rows with the columns `given` are written, where they fit the table; `extra` columns are stored besides."""
    check_rows_writable(state)
    schema = state.schema.struct
    if found := (*_ambiguities(given), *mismatches(schema, given, lambda f: WRITE_DEFAULT in f.metadata)):
        raise InvalidRequest(
            "the rows do not fit the table", where=state.location, problems=found,
            hint="merge_schema=True adds columns that the table lacks.",
        )  # fmt: skip
    columns = (WriteColumn(field, field, _value(field, given)) for field in schema)
    return WriteSpec(
        location=data_root(state),
        folder=folder or fresh_folder(state),
        columns=(*columns, *extra),
        partition_values=partition_values(state, state.metadata.spec),
        sort_by=sort_keys(state, state.metadata.sort_order),
        checks=tuple(not_null_checks(schema)),
        compression=state.metadata.properties.get(CODEC),
        nested_ids=dict(nested_ids(schema)),
        storage_options=state.place.options,
    )


def check_rows_writable(state: TableState) -> None:
    """Raise where Esker cannot write rows to the table."""
    check_writable(state)
    found = [*problems(state.schema)]
    asked = minimum_version(state.schema.struct)
    if asked > state.metadata.format_version:
        found.append(f"the columns have types of format version {asked}, and the table is of {state.metadata.format_version}")
    for field in state.metadata.spec.fields:
        # "Writers must not commit with a partition spec that contains an unknown transform."
        if isinstance(parse_transform(field.transform), Unknown):
            found.append(f"the partition field {field.name} has the unknown transform {field.transform}")
    written = state.metadata.properties.get(FORMAT, "parquet")
    if written.lower() != "parquet":
        found.append(f"{FORMAT} is {written}; Esker writes parquet")
    codec = state.metadata.properties.get(CODEC, "zstd")
    if codec.lower() not in _CODECS:
        found.append(f"{CODEC} is {codec!r}; there are {', '.join(_CODECS)}")
    if found:
        raise Unsupported("no rows can be written to this table", where=state.location, problems=found)


def data_root(state: TableState) -> str:
    """The URL below which data files are written."""
    elsewhere = state.metadata.properties.get(DATA_PATH)
    return state.location if elsewhere is None else trimmed(resolve_literal(state.location, elsewhere))


def fresh_folder(state: TableState) -> str:
    """A folder for the files of one write, below the data root."""
    return f"{DATA}/{uuid4()}" if DATA_PATH not in state.metadata.properties else str(uuid4())


def recorded_path(state: TableState, path: str) -> str:
    """The path under which the metadata names a file that lies below the data root."""
    elsewhere = state.metadata.properties.get(DATA_PATH)
    return join_url(state.metadata.location if elsewhere is None else elsewhere, path)


def data_files(files: Iterable[WrittenFile], state: TableState, is_sorted: bool = True) -> tuple[DataFile, ...]:
    """What the table says of the files."""
    wanted = modes(state.schema.struct, state.metadata.properties)
    spec, order = state.metadata.spec, state.metadata.sort_order
    return tuple(
        DataFile(
            recorded_path(state, file.path), "PARQUET", file.statistics.rows, file.size, spec.spec_id, file.values,
            metrics=metrics(file.statistics, state.schema.struct, wanted),
            split_offsets=file.statistics.row_groups or None,
            sort_order_id=order.order_id if is_sorted else 0,
        )
        for file in files
    )  # fmt: skip


def partition_values(state: TableState, spec: PartitionSpec) -> tuple[Derived, ...]:
    """The values by which rows are kept apart, one for each field of the spec."""
    columns = state.schema.by_id()
    found = []
    for field in spec.fields:
        transform = parse_transform(field.transform)
        if field.source_ids[0] in columns:
            path, column = columns[field.source_ids[0]]
            found.append(_derived(field.name, path, column.type, transform, state.location))
        elif isinstance(transform, Void):
            first = state.schema.struct.fields[0]
            found.append(Derived(field.name, (first.name,), first.type, partial(_nothing, first.type), "NULL"))
        else:
            raise Unsupported(
                f"the partition field {field.name} goes by a column that is gone", where=state.location,
                hint="Drop the field from the partition spec.",
            )  # fmt: skip
    return tuple(found)


def sort_keys(state: TableState, order: SortOrder) -> tuple[SortKey, ...]:
    """What rows are sorted by. An order by what cannot be computed is not followed."""
    columns = state.schema.by_id()
    found: list[SortKey] = []
    for field in order.fields:
        transform = parse_transform(field.transform)
        if field.source_ids[0] not in columns or misfit(transform, columns[field.source_ids[0]][1].type) is not None:
            return ()
        path, column = columns[field.source_ids[0]]
        value = _derived(field.transform, path, column.type, transform, state.location)
        found.append(SortKey(value, field.direction == "desc", field.null_order == "nulls-first"))
    return tuple(found)


def _derived(name: str, path: Path, source: Type, transform: Transform, where: str) -> Derived:
    if (problem := misfit(transform, source)) is not None:
        raise Unsupported(f"the partition field {name}: {problem}", where=where)
    kind = result_type(transform, source)
    return Derived(name, path, kind, partial(_computed, transform, source), transform_sql(transform, source))


def _computed(transform: Transform, source: Type, values: pa.Array) -> pa.Array:
    return transformed(transform, values, source)


def _nothing(kind: Type, values: pa.Array) -> pa.Array:
    return pa.nulls(len(values), to_arrow(kind))


def nested_ids(schema: Struct) -> Iterator[tuple[Path, int]]:
    """The ids of elements, keys and values, by their paths."""
    for path, field in all_fields(schema):
        match field.type:
            case Array(element_id=int() as element):
                yield (*path, "element"), element
            case Map(key_id=int() as key, value_id=int() as value):
                yield from (((*path, "key"), key), ((*path, "value"), value))


def _value(field: Field, given: Struct) -> ColumnValue:
    if (brought := given.find(field.name)) is not None:
        return Given(brought.name)
    # "write-default: value written when a writer supplies none"
    if WRITE_DEFAULT in field.metadata:
        return Constant(default_value(field, field.metadata[WRITE_DEFAULT]))
    return Absent()


def _ambiguities(given: Struct) -> Iterator[str]:
    names = [field.name.lower() for field in given]
    yield from (f"the rows have the column {name} twice" for name in sorted({n for n in names if names.count(n) > 1}))

"""How must files of this table look, and which actions do written ones become?  (PROTOCOL.md, "Data Files", "Column Mapping")

The second of the three doors: a table that Esker may not write, and rows that do not fit it, are refused here, before a file
is written.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import quote
from uuid import uuid4

from esker.core.features import Operation
from esker.core.predicate import Path
from esker.core.types import Struct
from esker.core.write import WriteColumn, WriteSpec, WrittenFile
from esker.delta import column_mapping, column_mapping_ids, column_metadata, identity, properties, row_rules
from esker.delta.actions import Add, AddCdc, Metadata, with_schema
from esker.delta.column_mapping import Mode
from esker.delta.plan import check
from esker.delta.schema_fit import mismatches
from esker.delta.snapshot import Snapshot
from esker.delta.written_stats import stats_json
from esker.errors import InvalidRequest, Unsupported

_SAFE = "/=-_.~!$&'()*+,;:@"
"""What a URI's path may hold as it is."""


def write_spec(snapshot: Snapshot, given: Struct, folder: str | None = None, extra: Sequence[WriteColumn] = ()) -> WriteSpec:
    """How rows with the columns `given` are written, where they fit the table; `extra` columns are stored besides."""
    snapshot.gate(Operation.WRITE)
    check(snapshot)
    metadata, protocol = snapshot.metadata, snapshot.protocol
    if problems := (*mismatches(snapshot.schema, given), *row_rules.uninvited(snapshot.schema, given, protocol)):
        raise InvalidRequest(
            "the rows do not fit the table", where=snapshot.location, problems=problems,
            hint="merge_schema=True adds columns that the table lacks.",
        )  # fmt: skip
    if problems := row_rules.unwritable(snapshot.schema):
        raise Unsupported("no rows can be written with these columns", where=snapshot.location, problems=problems)
    columns = (
        WriteColumn(f, column_mapping.physical(f, snapshot.mapping), row_rules.value(f, given, protocol)) for f in snapshot.schema
    )
    return WriteSpec(
        location=snapshot.location,
        folder=folder or str(uuid4()),
        columns=(*columns, *extra),
        partition_by=tuple(f.name for f in snapshot.partition_fields),
        stores_partitions=properties.stores_partitions(protocol, metadata.configuration),
        checks=row_rules.rules(metadata, protocol),
        compression=_codec(metadata),
        has_v2_pages=properties.value(properties.PAGE_VERSION, metadata.configuration) != properties.PAGE_VERSION.default,
        nested_ids=dict(column_mapping_ids.nested_ids(snapshot.schema, snapshot.mapping)),
        storage_options=snapshot.place.options,
    )


def _codec(metadata: Metadata) -> str | None:
    is_asked = properties.COMPRESSION_CODEC.name in metadata.configuration
    return properties.compression_codec(metadata.configuration) if is_asked else None


def identity_marks(metadata: Metadata, files: Iterable[WrittenFile], mapping: Mode) -> Metadata:
    """The metadata with the high-water marks of identity columns moved past what was written."""
    bounds: dict[str, tuple[int, int]] = {}
    for field in metadata.schema:
        if column_metadata.numbering(field) is not None:
            path = (column_mapping.physical_name(field, mapping),)
            found = [file.statistics.columns[path] for file in files if path in file.statistics.columns]
            lows = [b.lower for b in found if isinstance(b.lower, int)]
            highs = [b.upper for b in found if isinstance(b.upper, int)]
            if lows and highs:
                bounds[field.name] = (min(lows), max(highs))
    schema = identity.advanced(metadata.schema, bounds)
    return metadata if schema == metadata.schema else with_schema(metadata, schema)


def added(
    files: Iterable[WrittenFile], metadata: Metadata, mapping: Mode, data_change: bool = True, clustering: Iterable[Path] = ()
) -> tuple[Add, ...]:
    """The `add` of each file; `clustering` are the visible paths of the clustering columns."""
    indexed = list(properties.indexed_columns(metadata, clustering))
    return tuple(
        Add(
            quote(file.path, safe=_SAFE), file.partition, file.size, file.modified, data_change,
            stats_json(file.statistics, metadata.schema, mapping, indexed),
        )
        for file in files
    )  # fmt: skip


def changed(files: Iterable[WrittenFile]) -> tuple[AddCdc, ...]:
    """The `cdc` of each file of changed rows."""
    return tuple(AddCdc(quote(file.path, safe=_SAFE), file.partition, file.size) for file in files)


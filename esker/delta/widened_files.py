"""Which files still hold a column under the type that it had before it was widened?  (PROTOCOL.md, "Type Widening")

Only the footers tell: the log does not say which types a file was written with. In doubt a file is taken for one that does.
"""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.columns import Mask, mask_of
from esker.core.nesting import walk
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.column_mapping import Mode, physical, physical_name
from esker.delta.footer_schemas import stored_schema
from esker.delta.snapshot import Snapshot
from esker.delta.type_widening import TYPE_CHANGES
from esker.errors import InvalidTable, Unsupported
from esker.storage import open_input


def widened_files(snapshot: Snapshot, known: Collection[str] = ()) -> Mask:
    """For each live file whether it has to be rewritten; `known` are paths of files that are as the schema says."""
    paths: list[str] = snapshot.files.table.column("path").to_pylist()
    changed = [f for f in snapshot.schema if _was_widened(f)]
    partitions = {f.name for f in snapshot.partition_fields}
    stored = [f for f in changed if f.name not in partitions]
    is_stale = np.zeros(len(paths), dtype=bool)
    for field in changed:
        if field.name in partitions:
            is_stale |= _dates(snapshot, field)
    asked = [at for at, path in enumerate(paths) if stored and path not in known and not is_stale[at]]
    with ThreadPoolExecutor(16) as pool:
        is_stale[asked] = list(pool.map(lambda at: _is_stale(snapshot, paths[at], stored), asked))
    return is_stale


def _was_widened(field: Field) -> bool:
    return any(TYPE_CHANGES in member.metadata for _, member in walk(Struct((field,))))


def _dates(snapshot: Snapshot, field: Field) -> Mask:
    """Of a partition column that became a time of day, the files whose value is still written as a date."""
    name = physical_name(field, snapshot.mapping)
    texts = pc.struct_field(snapshot.files.table.column("partitionValues").combine_chunks(), name)
    if field.type != t.TIMESTAMP_NTZ:
        return np.zeros(len(texts), dtype=bool)
    return mask_of(pc.fill_null(pc.invert(pc.match_substring(texts, ":")), False))


def _is_stale(snapshot: Snapshot, path: str, fields: list[Field]) -> bool:
    storage, name = snapshot.place.locate(path)
    try:
        with open_input(storage, name) as source:
            held = stored_schema(pq.read_metadata(source))
    except Unsupported:
        return True
    except (pa.ArrowException, OSError) as error:
        raise InvalidTable(f"the footer cannot be read: {error}", where=f"{storage.url}/{name}") from error
    for field in fields:
        wanted = physical(field, snapshot.mapping)
        found = held.find(wanted.name)
        # A column that is found by its id may have any name in a file.
        if snapshot.mapping is Mode.ID if found is None else not _is_same(wanted.type, found.type):
            return True
    return False


def _is_same(wanted: Type, found: Type) -> bool:
    """Whether what a file holds has the types that are wanted; members that it lacks, or that went since, do not matter."""
    match wanted, found:
        case Struct(), Struct():
            return all(_is_same(own.type, member.type) for member in found if (own := wanted.find(member.name)) is not None)
        case Array(), Array():
            return _is_same(wanted.element, found.element)
        case Map(), Map():
            return _is_same(wanted.key, found.key) and _is_same(wanted.value, found.value)
    return wanted == found

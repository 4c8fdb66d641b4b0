"""How are the rows of a version read?

By Lance's own library, fragment by fragment. What it is handed is settled here: the version, the fragments, the columns. Names
are those of the table; besides its columns a reader may ask for a row's id.
"""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from esker.core.features import Operation
from esker.core.fragments import FragmentColumn, FragmentScan, RowFact
from esker.core.types import LONG, Field, Struct
from esker.errors import InvalidRequest, InvalidTable, Unsupported
from esker.lance.filters import pushed
from esker.lance.flags import has_reuse_index
from esker.lance.manifest import Fragment
from esker.lance.relocation import relocated_manifest
from esker.lance.schema import widened
from esker.lance.snapshot import Snapshot

ROW_ID = "_rowid"
_UNKNOWN_SIZE = 64 << 20


def plan(snapshot: Snapshot, columns: Sequence[str] | None) -> FragmentScan:
    """The scan of these columns, by default of all; `*` stands for the table's own. Refuses what cannot be read right."""
    snapshot.gate(Operation.READ)
    _check_files(snapshot)
    chosen = _chosen(snapshot, columns)
    manifest = snapshot.manifest
    return FragmentScan(
        location=snapshot.place.storage.url,
        version=snapshot.version,
        branch=snapshot.place.branch,
        columns=chosen,
        fragments=tuple(fragment.id for fragment in snapshot.fragments),
        sizes=tuple(_size(fragment) for fragment in snapshot.fragments),
        filterable=filterable(snapshot.schema),
        push=partial(pushed, schema=snapshot.columns),
        goes_by_indices=not has_reuse_index(manifest),
        manifest=relocated_manifest(snapshot) if snapshot.place.is_moved(manifest) else None,
        storage_options=snapshot.place.options,
    )


def filterable(schema: Struct) -> Struct:
    """What a filter may name: the columns, and the row's id where none of them hides it."""
    own = widened(schema)
    return own if own.find(ROW_ID) is not None else Struct((*own, Field(ROW_ID, LONG)))


def _check_files(snapshot: Snapshot) -> None:
    """Every path leads to a file of the table, and no fragment needs what Esker does not know."""
    for fragment in snapshot.fragments:
        if fragment.overlays:
            raise InvalidTable(f"the fragment {fragment.id} has overlays, and no flag says so", where=snapshot.location)
        for file in fragment.files:
            snapshot.place.data_file(snapshot.manifest, file)
        if fragment.deletion is not None:
            snapshot.place.deletion_file(snapshot.manifest, fragment.id, fragment.deletion)


def _chosen(snapshot: Snapshot, columns: Sequence[str] | None) -> tuple[FragmentColumn, ...]:
    schema = snapshot.columns
    if again := sorted({name for name in schema.struct.names if schema.struct.names.count(name) > 1}):
        raise InvalidTable(f"more than one column is called {', '.join(again)}", where=snapshot.location)
    names: list[str] = []
    for name in schema.struct.names if columns is None else columns:
        found = schema.find(name)
        if found is not None:
            names.append(found.field.name)
        elif name == "*":
            names += schema.struct.names
        elif name == ROW_ID:
            names.append(ROW_ID)
        else:
            raise InvalidRequest(
                f"there is no column {name}", where=snapshot.location, hint=f"the columns are {', '.join(schema.struct.names)}"
            )
    once = list(dict.fromkeys(names))
    own = [name for name in once if schema.find(name) is not None]
    if "*" in own and len(own) > 1:
        what = "pylance takes the name of the column * for those of all"
        raise Unsupported(what, where=snapshot.location, hint="Read that column by itself, and the others without it.")
    types = schema.arrow(own, snapshot.location)
    return tuple(_column(snapshot, name, types) for name in once)


def _column(snapshot: Snapshot, name: str, types: pa.Schema) -> FragmentColumn:
    found = snapshot.columns.find(name)
    if found is None:
        return FragmentColumn(Field(ROW_ID, LONG), pa.int64(), RowFact.ID)
    return FragmentColumn(found.field, types.field(name).type, name, found.is_blob)


def _size(fragment: Fragment) -> int:
    sizes = [file.size for file in fragment.files]
    return sum(size or _UNKNOWN_SIZE for size in sizes)

"""Which rows are dead because they equal deleted ones?  (spec, "Equality Delete Files", "Scan Planning")

Delete files that compare the same columns make up one relation of deleted rows. Whether one of them concerns a data file is told
by two numbers that both carry: the sequence number, and the partition, which a delete file of an unpartitioned spec does not
have.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from esker.core import types as t
from esker.core.columns import Mask, Rows, int64
from esker.core.predicate import Path
from esker.core.scan import SCOPE, SEQUENCE, EqualityDeletes, FromConstant, FromFile, ScanColumn
from esker.core.types import Field, relaxed
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.data_files import Content
from esker.iceberg.file_plan import Constants, file_plan
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.state import TableState


def equality_deletes(
    state: TableState, live: LiveFiles, column_of: Callable[[Field], ScanColumn]
) -> tuple[tuple[EqualityDeletes, ...], Mask]:
    """The deletes, and which data files they concern. `column_of` says how a column of the data files is read."""
    keep = live.deletes.numbers("content") == Content.EQUALITY_DELETES
    if not keep.any():
        return (), np.zeros(len(live.data), dtype=bool)
    deletes, scopes = (
        live.deletes.only(keep),
        np.where(_is_global(live.deletes)[keep], _EVERYWHERE, live.scopes[1][keep]),
    )
    groups: dict[tuple[int, ...], list[int]] = {}
    for at, ids in enumerate(deletes.column("equality_ids").to_pylist()):
        if not ids:
            raise InvalidTable("an equality delete file has no equality_ids", where=state.location)
        groups.setdefault(tuple(sorted(ids)), []).append(at)
    found = tuple(_group(state, deletes, scopes, ids, rows, column_of) for ids, rows in groups.items())
    return found, _concerned(live, deletes, scopes)


def scope_constants(live: LiveFiles) -> Constants:
    """What the data files have to carry so that deleted rows can be told to concern them."""
    return {
        SEQUENCE: (Field(SEQUENCE, t.LONG), int64(live.data.numbers("sequence_number"))),
        SCOPE: (Field(SCOPE, t.LONG), int64(live.scopes[0])),
    }


_EVERYWHERE = -1


def _is_global(deletes: Files) -> Mask:
    """ "Equality delete files stored with an unpartitioned spec are applied as global deletes." """
    unpartitioned = [s.spec_id for s in deletes.metadata.partition_specs if s.is_unpartitioned]
    return np.isin(deletes.spec_ids, unpartitioned)


def _concerned(live: LiveFiles, deletes: Files, scopes: Rows) -> Mask:
    """The data files that are older than a delete file of their partition, or than a global one."""
    ages, delete_ages = live.data.numbers("sequence_number"), deletes.numbers("sequence_number")
    youngest = np.full(int(max(live.scopes[0].max(initial=0), scopes.max(initial=0))) + 1, -1, np.int64)
    here = scopes != _EVERYWHERE
    np.maximum.at(youngest, scopes[here], delete_ages[here])
    everywhere = int(delete_ages[~here].max(initial=-1))
    found: Mask = ages < np.maximum(youngest[live.scopes[0]], everywhere)
    return found


def _group(
    state: TableState,
    deletes: Files,
    scopes: Rows,
    ids: tuple[int, ...],
    rows: list[int],
    column_of: Callable[[Field], ScanColumn],
) -> EqualityDeletes:
    keep = np.zeros(len(deletes), dtype=bool)
    keep[rows] = True
    keys = [_key(state.metadata, field_id, state.location) for field_id in ids]
    tops = {top.id: top for top, _ in keys}
    stored = [ScanColumn(Field(_name(top), relaxed(top.type)), FromFile(top)) for top in tops.values()]
    numbers = [ScanColumn(Field(name, t.LONG), FromConstant(name)) for name in (SEQUENCE, SCOPE)]
    own = scopes[keep]
    constants: Constants = {
        SEQUENCE: (Field(SEQUENCE, t.LONG), int64(deletes.numbers("sequence_number")[keep])),
        SCOPE: (Field(SCOPE, t.LONG), pa.array(own, pa.int64(), mask=own == _EVERYWHERE)),
    }
    return EqualityDeletes(
        columns=tuple(_renamed(column_of(top), _name(top)) for top in tops.values()),
        keys=tuple((_name(top), *path[1:]) for top, path in keys),
        rows=replace(file_plan(state, deletes.only(keep), [*stored, *numbers], constants), has_all_columns=True),
    )


def _key(metadata: TableMetadata, field_id: int, where: str) -> tuple[Field, Path]:
    """The column that holds a field, and the field's path: as it is now, or was last.

    "If a delete column in an equality delete file is later dropped from the table, it must still be used."
    """
    for struct in _schemas(metadata):
        found = next(((path, field) for path, field in _struct_fields(struct) if field.id == field_id), None)
        if found is not None:
            path, field = found
            if field.type in t.FRACTIONAL:
                raise InvalidTable(
                    f"an equality delete file compares {'.'.join(path)}, and "
                    "\"float and double columns cannot be used as delete columns\"", where=where,
                )  # fmt: skip
            if isinstance(field.type, t.Struct | t.Array | t.Map):
                raise Unsupported(f"an equality delete file that compares {'.'.join(path)}, which has parts", where=where)
            top = struct.find(path[0])
            assert top is not None
            return top, path
    raise InvalidTable(
        f"an equality delete file compares the field {field_id}, which no schema has in structs", where=where
    )


def _schemas(metadata: TableMetadata) -> Iterator[t.Struct]:
    yield metadata.schema.struct
    for schema in sorted(metadata.schemas, key=lambda s: -s.schema_id):
        yield schema.struct


def _struct_fields(struct: t.Struct, above: Path = ()) -> Iterator[tuple[Path, Field]]:
    """Fields at any depth of structs: no key lies in a list or map."""
    for field in struct:
        yield (*above, field.name), field
        if isinstance(field.type, t.Struct):
            yield from _struct_fields(field.type, (*above, field.name))


def _name(top: Field) -> str:
    return f"__key_{top.id}"


def _renamed(column: ScanColumn, name: str) -> ScanColumn:
    return ScanColumn(column.field.renamed(name), column.source)

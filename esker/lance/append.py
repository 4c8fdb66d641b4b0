"""How are rows added, or put in the place of others?"""

import pyarrow as pa

from esker.core.change import RowEditor, addressed
from esker.core.expressions import row_condition
from esker.core.features import Operation
from esker.core.types import Field, Struct
from esker.core.write import Check, RowSource, WriteOptions, WrittenFile
from esker.errors import InvalidRequest, Unsupported
from esker.lance.committing import check_history, committed, retried, reworked, writable
from esker.lance.dead_rows import bury
from esker.lance.file_versions import DEFAULT, STABLE, check_types
from esker.lance.flags import check_flags
from esker.lance.library import Append, ChangeRows, Library, Overwrite
from esker.lance.plan import plan
from esker.lance.promises import Effect, check_promises
from esker.lance.row_specs import appended, check_fit, fresh
from esker.lance.schema import arrow_field, as_written
from esker.lance.snapshot import Snapshot, load


def append(snapshot: Snapshot, rows: RowSource, options: WriteOptions, library: Library) -> Snapshot:
    """Add the rows. Columns that the table lacks are added first, where that is asked for, by a version of their own."""
    _check(snapshot, options)
    base = writable(snapshot)
    if options.merge_schema:
        base = retried(base, lambda newest: _with_columns_of(newest, rows.schema, library))
    written = rows.write(appended(base, rows.schema))
    return committed(base, library, Append(records(written)), options.user_metadata) if written else base


def overwrite(snapshot: Snapshot, rows: RowSource, options: WriteOptions, library: Library) -> Snapshot:
    """Put the rows in the place of all others."""
    _check(snapshot, options)

    def attempt(found: Snapshot) -> Snapshot:
        # Files of a version that cannot be written are no hindrance: none of them stays.
        for operation in Operation:
            check_flags(found.manifest, operation, found.location)
        check_history(found)
        base = _with_columns_of(found, rows.schema, library) if options.merge_schema else found
        columns, schema = _overwriting(base, rows.schema, options.overwrite_schema)
        version = base.manifest.file_version
        written = version if version in STABLE else DEFAULT
        check_types(columns, written, base.location)
        check_promises(base, Effect(file_version=written))
        spec = fresh(base.place, columns, schema, rows.schema, written)
        change = Overwrite(records(rows.write(spec)), schema, written)
        return load(base.place, library.commit(base, change, options.user_metadata))

    return reworked(snapshot, attempt)


def overwrite_where(
    snapshot: Snapshot, rows: RowSource, where: str, options: WriteOptions, editor: RowEditor, library: Library
) -> Snapshot:
    """Put the rows in the place of those for which the condition is TRUE, as it must be for each of them."""
    _check(snapshot, options)
    if options.merge_schema:
        raise Unsupported("merge_schema with where", where=snapshot.location, hint="Add the columns first.")

    def attempt(base: Snapshot) -> Snapshot:
        scan = plan(base, None)
        predicate = row_condition(where, scan.filterable, editor.zone)
        (found,) = editor.matching(addressed(scan.filtered(predicate)), [where])
        written = rows.write(appended(base, rows.schema, (Check(f"the condition {where}", where),)))
        if not found and not written:
            return base
        deaths = bury(base, found)
        change = ChangeRows(deaths.deletions, deaths.removed, records(written), where)
        return committed(base, library, change, options.user_metadata)

    return retried(snapshot, attempt)


def records(written: tuple[WrittenFile, ...]) -> tuple[str, ...]:
    """What the library said of what was written."""
    return tuple(file.record for file in written)


def _check(snapshot: Snapshot, options: WriteOptions) -> None:
    if options.transaction is not None:
        raise Unsupported("Lance keeps no numbers of applications' transactions", where=snapshot.location)
    if options.partition_by:
        raise Unsupported("Lance has no partitions", where=snapshot.location)


def _with_columns_of(snapshot: Snapshot, rows: Struct, library: Library) -> Snapshot:
    """The table with the columns that only the rows have."""
    lacking = [field for field in rows if snapshot.schema.find(field.name) is None]
    if not lacking:
        return snapshot
    known = Struct(tuple(field for field in rows if field not in lacking))
    check_fit(snapshot, known)
    check_types(lacking, snapshot.manifest.file_version, snapshot.location)
    fields = [arrow_field(Field(field.name, field.type)) for field in lacking]
    return load(snapshot.place, library.add_columns(writable(snapshot), fields))


def _overwriting(snapshot: Snapshot, rows: Struct, is_new: bool) -> tuple[Struct, pa.Schema]:
    if is_new:
        if not rows.fields:
            raise InvalidRequest("a table has columns", where=snapshot.location)
        return rows, pa.schema([arrow_field(field) for field in rows])
    check_fit(snapshot, rows)
    return snapshot.schema, as_written(snapshot.columns.arrow(snapshot.schema.names, snapshot.location))

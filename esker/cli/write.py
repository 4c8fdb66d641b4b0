"""How are rows written from the command line?

Files are read and appended by Arrow. What looks for rows to change is done on Spark.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import pyarrow as pa
import typer

import esker
from esker.cli.action import perform, tell
from esker.cli.options import (
    AsJson,
    Comment,
    Engine,
    Force,
    Location,
    Relocate,
    StorageOption,
    Where,
    names,
    opened,
    pairs,
)
from esker.cli.report import outcome
from esker.cli.sources import read_files, source_for
from esker.cli.terminal import progress
from esker.core.table import IfExists
from esker.core.types import Struct
from esker.errors import InvalidRequest
from esker.rows import Rows
from esker.spark import arrow_frame


def _readable(paths: list[Path] | None) -> list[Path] | None:
    """Refuse a file of an unknown kind before anything else happens."""
    for path in paths or ():
        source_for(path)
    return paths


Files: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="FILE...", callback=_readable, help="The rows: .parquet, .csv, .json or .jsonl.")
]
MergeSchema: TypeAlias = Annotated[bool, typer.Option("--merge-schema", help="Add columns that the table lacks.")]
Transaction: TypeAlias = Annotated[
    str | None,
    typer.Option("--transaction", metavar="APP=N", help="Write only if this application has not yet written N or more."),
]
UserMetadata: TypeAlias = Annotated[str | None, typer.Option("--user-metadata", metavar="TEXT", help="A text for the history.")]
WrittenBy: TypeAlias = Annotated[
    Engine, typer.Option("--engine", "-e", help="Who writes the rows; Spark needs Java, and computes columns.")
]
AllRows: TypeAlias = Annotated[bool, typer.Option("--all", help="All rows, where there is no --where.")]


def create(
    table: Location,
    schema: Annotated[
        str | None, typer.Option("--schema", "-s", metavar="DDL", help="The columns: 'id bigint NOT NULL, name string'.")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", callback=_readable, help="Columns and rows of this file. May be repeated."),
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help="Its format: delta, iceberg or lance.")] = "delta",
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="A,B", help="Keep the rows of each value apart from others.")
    ] = None,
    cluster_by: Annotated[str | None, typer.Option("--cluster-by", metavar="A,B", help="Keep like values together.")] = None,
    property_: Annotated[
        list[str] | None, typer.Option("--property", "-p", metavar="KEY=VALUE", help="A table property. May be repeated.")
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option("--feature", metavar="NAME", help="A feature to support. May be repeated.")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option("--constraint", metavar="NAME=SQL", help="True for each row. May be repeated.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="The table's name.")] = None,
    comment: Comment = None,
    if_exists: Annotated[
        str, typer.Option("--if-exists", metavar="WHAT", help="Where there is a table: error, ignore or replace.")
    ] = "error",
    force: Force = False, as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Create a table: from a list of columns, or from files with their rows."""
    if (schema is None) == (not source):
        raise InvalidRequest("--schema or --from, one of them")
    with progress("creating"):
        made = esker.create(
            table, schema if schema is not None else read_files(source or (), Struct()), format=format,
            partition_by=names(partition_by, "--partition-by") or (),
            cluster_by=names(cluster_by, "--cluster-by") or (),
            properties=pairs(property_, "--property", "KEY=VALUE"), features=feature or (),
            constraints=pairs(constraint, "--constraint", "NAME=SQL"), name=name, comment=comment,
            if_exists=_if_exists(if_exists), force=force, storage_options=pairs(storage_option, "--storage-option", "KEY=VALUE"),
        )  # fmt: skip
    tell(outcome(made), as_json)


def append(
    table: Location, files: Files, merge_schema: MergeSchema = False, transaction: Transaction = None,
    user_metadata: UserMetadata = None, engine: WrittenBy = Engine.ARROW,
    as_json: AsJson = False, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Add the rows of files, all in one version."""
    found = opened(table, None, None, None, storage_option)
    perform(
        found, "appending", as_json,
        lambda: found.append(
            _rows(files, found, engine), merge_schema=merge_schema, transaction=_transaction(transaction),
            user_metadata=user_metadata,
        ),
    )  # fmt: skip


def overwrite(
    table: Location, files: Files, where: Where = None,
    dynamic: Annotated[bool, typer.Option("--dynamic", help="Only the partitions that the new rows are in.")] = False,
    overwrite_schema: Annotated[
        bool, typer.Option("--overwrite-schema", help="The columns of the files take the place of the table's.")
    ] = False,
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="A,B", help="With --overwrite-schema; by default as before.")
    ] = None,
    merge_schema: MergeSchema = False, transaction: Transaction = None, user_metadata: UserMetadata = None,
    engine: WrittenBy = Engine.ARROW, as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Put the rows of files in the place of all rows, or of those that --where means."""
    found = opened(table, None, None, relocate, storage_option)
    perform(
        found, "overwriting", as_json,
        lambda: found.overwrite(
            _rows(files, found, engine, brings_types=overwrite_schema), where=where, dynamic=dynamic,
            merge_schema=merge_schema, overwrite_schema=overwrite_schema,
            partition_by=names(partition_by, "--partition-by"), transaction=_transaction(transaction),
            user_metadata=user_metadata,
        ),
    )  # fmt: skip


def delete(
    table: Location, where: Where = None, all_: AllRows = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Delete rows, on Spark."""
    _check_meant(where, all_, "delete")
    found = opened(table, None, None, relocate, storage_option)
    perform(found, "deleting", as_json, lambda: found.delete(where))


def update(
    table: Location,
    set_: Annotated[
        list[str], typer.Option("--set", metavar="COLUMN=SQL", help="What the column becomes. May be repeated.")
    ],
    where: Where = None, all_: AllRows = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Set columns of rows to other values, on Spark."""
    _check_meant(where, all_, "update")
    values = pairs(set_, "--set", "COLUMN=SQL")
    found = opened(table, None, None, relocate, storage_option)
    perform(found, "updating", as_json, lambda: found.update(values, where))


def merge(
    table: Location, files: Files,
    on: Annotated[str, typer.Option("--on", metavar="SQL", help="When rows match: 'target.id = source.id'.")],
    update_all: Annotated[bool, typer.Option("--update-all", help="Rows that match become as in the files.")] = False,
    insert_all: Annotated[bool, typer.Option("--insert-all", help="Rows of the files that match none are added.")] = False,
    delete_when: Annotated[
        str | None, typer.Option("--delete-when", metavar="SQL", help="Rows that match are deleted where this is true.")
    ] = None,
    delete_missing: Annotated[
        bool, typer.Option("--delete-missing", help="Rows that no row of the files matches are deleted.")
    ] = False,
    merge_schema: MergeSchema = False,
    as_json: AsJson = False, relocate: Relocate = None, storage_option: StorageOption = None,
) -> None:  # fmt: skip
    """Merge the rows of files into the table, on Spark."""
    found = opened(table, None, None, relocate, storage_option)
    merging = found.merge(read_files(files, found.schema), on)
    if delete_when is not None:
        merging = merging.when_matched_delete(delete_when)
    merging = merging.when_matched_update_all() if update_all else merging
    merging = merging.when_not_matched_insert_all() if insert_all else merging
    merging = merging.when_not_matched_by_source_delete() if delete_missing else merging
    merging = merging.with_schema_evolution() if merge_schema else merging
    perform(found, "merging", as_json, merging.execute)


def _rows(files: list[Path], table: esker.Table, engine: Engine, brings_types: bool = False) -> Rows:
    """The rows of the files: in the types of the table, or in those that their values suggest where the file `brings_types`."""
    rows: pa.Table = read_files(files, Struct() if brings_types else table.schema)
    return arrow_frame(None, rows) if engine is Engine.SPARK else rows


def _check_meant(where: str | None, is_all: bool, what: str) -> None:
    if (where is None) == (not is_all):
        raise InvalidRequest("--where or --all, one of them", hint=f"--all is to {what} every row of the table.")


def _transaction(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    application, _, number = text.rpartition("=")
    if not application or not number.isdecimal():
        raise InvalidRequest(f"--transaction {text} is not of the form APP=N")
    return application, int(number)


def _if_exists(text: str) -> IfExists:
    match text:
        case "error" | "ignore" | "replace":
            return text
    raise InvalidRequest(f"--if-exists {text} is none of error, ignore and replace")

"""What can a user do with a table?

The handle: each method is a few lines into a module. It is pinned to the version it was opened at.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import pyarrow as pa

from esker.arrow.scan import read_rows
from esker.catalogs import CatalogSpec
from esker.check.model import Finding
from esker.compat.promises import broken
from esker.compat.report import Compatibility, changed, compatibility
from esker.contracting import Contracting
from esker.core.arrange import Layout, OptimizePlan
from esker.core.binding import bind
from esker.core.calendar import moment
from esker.core.demands import PROMISES
from esker.core.features import FeaturePresence, Presence, Removable
from esker.core.fragments import FragmentScan, Scan, arrow_schema
from esker.core.merge import Merge
from esker.core.predicate import Predicate, Truth
from esker.core.predicate import columns as columns_of
from esker.core.protocol_changes import ProtocolChange
from esker.core.references import references
from esker.core.scan import ScanPlan
from esker.core.sql import parse
from esker.core.table import Creation, Description, IfExists, TableDefinition
from esker.core.types import Struct
from esker.core.write import WriteOptions
from esker.errors import InvalidRequest, Unsupported
from esker.formats import (
    check_format,
    check_opened,
    convert_format,
    create_format,
    create_in_catalog,
    open_format,
    open_in_catalog,
)
from esker.iceberg_actions import IcebergActions
from esker.merging import MergeBuilder
from esker.rows import Rows, Schema, column_definitions, is_rows, row_source
from esker.spark import Relation, read_plan, row_arranger, row_editor, row_merger, run_job, session_zone

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Replay: TypeAlias = Literal["auto", "driver", "spark"]
LARGE_STATE = 2 << 30
"""Bytes of metadata above which `replay="auto"` leaves the list of live files to Spark."""


def open(
    location: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: datetime | str | None = None,
    ref: str | None = None,
    catalog: CatalogSpec | None = None,
    relocate: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> "Table":
    """Open the table at a path or URL, whatever its format, at its newest version or at another.

    For Iceberg the location may also be a metadata file, a version is a snapshot id, and `ref` names a branch or tag. With a
    `catalog`, the location is a table's name in it, as `lake.events`; the catalog is a name that pyiceberg's configuration
    describes, or its properties: `{"type": "rest", "uri": ...}`.
    `timestamp` is a `datetime` or an ISO text; without a zone it is in UTC. `relocate` maps prefixes of absolute paths that
    the table names to where those files are now. `storage_options` go to the object store's client.
    """
    options, moves = storage_options or {}, relocate or {}
    if catalog is None:
        table = Table(open_format(location, options, moves))
    else:
        table = Table(open_in_catalog(os.fspath(location), catalog, options, moves))
    return table if version is None and timestamp is None and ref is None else table.at(version, timestamp, ref)


def create(
    location: str | os.PathLike[str],
    schema: "Schema | Rows",
    *,
    format: str = "delta",
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    features: Sequence[str] = (),
    constraints: Mapping[str, str] | None = None,
    name: str | None = None,
    comment: str | None = None,
    if_exists: IfExists = "error",
    force: bool = False,
    catalog: CatalogSpec | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> "Table":
    """Create a table at a path or URL, or in a catalog by a name, from a schema or with the rows of a frame.

    The schema is a text as in CREATE TABLE, a Spark `StructType` or an Arrow schema. Where there is a table, `if_exists` says
    whether that is an `error`, whether to `ignore` the call and open it, or to `replace` it, keeping its history and its
    promises; with `force`, also by a table that breaks them.
    """
    rows = row_source(schema) if is_rows(schema) else None
    definition = TableDefinition(
        columns=column_definitions(schema if rows is None else rows.schema),
        partition_by=tuple(partition_by), cluster_by=tuple(cluster_by), properties=dict(properties or {}),
        features=tuple(features), constraints=dict(constraints or {}), name=name, comment=comment,
    )  # fmt: skip
    wanted, options = Creation(definition, rows, if_exists, None if force else broken), storage_options or {}
    if catalog is None:
        return Table(create_format(format, location, wanted, options))
    if format != "iceberg":
        raise Unsupported(f"tables of the format {format} in a catalog; Esker keeps Iceberg tables in catalogs")
    return Table(create_in_catalog(os.fspath(location), catalog, wanted, options))


def check_table(
    location: str | os.PathLike[str],
    *,
    version: int | None = None,
    deep: bool = False,
    relocate: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Every rule of its specification that the table at a path or URL breaks, also of one that cannot be opened.

    `deep` reads all data files too.
    """
    return tuple(check_format(location, version, deep, storage_options or {}, relocate or {}))


def convert(
    location: str | os.PathLike[str],
    *,
    partition_by: "Schema | None" = None,
    infer_types: bool = True,
    storage_options: Mapping[str, str] | None = None,
) -> "Table":
    """Make a Delta table of the Parquet files below a path or URL, where they lie.

    `partition_by` declares the columns that the folders state, as `day date, country string`. By default they are named as
    the folders have it, with types inferred from the values, or all of them strings where `infer_types` is False.
    """
    partitions = None if partition_by is None else Struct(tuple(c.field for c in column_definitions(partition_by)))
    return Table(convert_format(location, partitions, infer_types, storage_options or {}))


class Table(Contracting):
    """A handle on a table at one version. What changes the table moves the handle to the version that it made."""

    def __repr__(self) -> str:
        return f"<{self.format} table {self.location} version {self.version}>"

    @property
    def format(self) -> str:
        """`delta`, `iceberg` or `lance`."""
        return self._table.format

    @property
    def location(self) -> str:
        """The table's URL."""
        return self._table.location

    @property
    def version(self) -> int:
        """The version this handle is pinned to."""
        return self._table.version

    @property
    def schema(self) -> Struct:
        """The columns at this version."""
        return self._table.schema

    def at(
        self, version: int | None = None, timestamp: datetime | str | None = None, ref: str | None = None
    ) -> "Table":
        """A handle on another version, by default the newest; `ref` is a branch or tag of an Iceberg table."""
        return Table(self._table.at(version, None if timestamp is None else moment(timestamp), ref))

    def describe(self) -> Description:
        """What the table says of itself; no list of files is read."""
        return self._table.describe()

    def features(self, *, history: bool = False) -> tuple[FeaturePresence[Any], ...]:
        """Each feature with its presence: absent < supported < active < in use.

        With `history` the whole log is read, to tell whether an older version that can still be read uses the feature.
        """
        return self._table.features(history)

    def compat(
        self, clients: Sequence[str] = (), *, after: ProtocolChange | None = None, latest: bool = False
    ) -> Compatibility:
        """Which clients read, write, refuse or misread the table, by what is known of them, and what would help.

        `clients` picks some, each with a release or without: `deltalake`, `deltalake==1.2.0`. `latest` leaves out all but the
        newest releases. With `after`, as in `after=esker.enable("deletionVectors")`, the report is on the table as it would be,
        with the clients that would be gained and lost. Nothing is changed.
        """
        removable = {p.name: isinstance(p.removal, Removable) for p in self.features() if p.presence > Presence.ABSENT}
        promises = self.describe().properties.get(PROMISES)
        if after is None:
            return compatibility(self._table.contract(), clients, removable, latest, promises)
        foreseen = self._table.foresee(after)
        before, then = (
            compatibility(contract, clients, removable, latest, promises) for contract in (foreseen.before, foreseen.after)
        )
        return changed(before, then)

    def check(self, *, deep: bool = False) -> tuple[Finding, ...]:
        """Every rule of its specification that the table breaks. `deep` reads all data files too."""
        return tuple(check_opened(self._table, deep))

    def files(self) -> pa.Table:
        """A row for each live file, with its partition and statistics."""
        return self._table.files()

    def history(self, limit: int | None = None) -> pa.Table:
        """A row for each version, newest first; at most `limit` of them."""
        return self._table.history(limit)

    def metadata(self, name: str) -> pa.Table:
        """A metadata table of an Iceberg table: snapshots, history, refs, manifests, entries, files, partitions and others."""
        return self._table.metadata(name)

    def verify(self) -> tuple[str, ...]:
        """Where the state differs from what its writer recorded of it; nothing where it agrees or no record was left."""
        return self._table.verify()

    def to_arrow(self, columns: Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        """The rows as an Arrow table, without Spark."""
        plan, predicate, shown = self._planned(columns, where)
        return pa.Table.from_batches(read_rows(plan, predicate), arrow_schema(plan)).select(shown)

    def to_batches(self, columns: Sequence[str] | None = None, where: str | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow record batches, one after another, without Spark."""
        plan, predicate, shown = self._planned(columns, where)
        for batch in read_rows(plan, predicate):
            yield batch.select(shown)

    def to_df(
        self,
        spark: "SparkSession | None" = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        relation: Relation = "auto",
        replay: Replay = "auto",
    ) -> "DataFrame":
        """The rows as a lazy Spark DataFrame, by default in `esker.session()`.

        Filters on the frame reach the file planner when Spark plans the query; `where` reaches it also on Spark Connect.
        `replay` says where the list of live files is made: on the `driver`, or by `spark` where the metadata is too much for
        it; `auto` goes by its size. `relation` is for tests and diagnosis: `native`, `portable`, or `auto` to choose.
        """
        zone = session_zone(spark)
        # without the session's zone there is no telling what a time in the filter means, so it skips no file
        predicate = None if where is None or zone is None else self._bound(where, zone)
        table = self._table
        if replay == "spark" or (replay == "auto" and table.state_size > LARGE_STATE):
            table = table.replayed(lambda job: run_job(spark, job), predicate)
        # Spark prunes columns by itself, and a filter that only Spark understands may name any of them
        named = [*(columns or ()), *(path[0] for path in columns_of(predicate or Truth(True)))]
        hidden = dict.fromkeys(name for name in named if name != "*" and self.schema.find(name) is None)
        plan = table.plan(["*", *hidden], predicate)
        frame = read_plan(spark, _narrowed(plan, predicate, self._used(columns, where)), where, relation)
        return frame.select(*(_quoted(name) for name in self._names(columns or ["*"])))

    def changes(
        self,
        from_version: int | None = None,
        to_version: int | None = None,
        *,
        from_timestamp: datetime | str | None = None,
        to_timestamp: datetime | str | None = None,
        columns: Sequence[str] | None = None,
    ) -> "Changes":
        """The rows that changed between two versions or moments, both counted; up to this version by default."""
        first = _bound(from_version, from_timestamp, "from")
        if first is None:
            raise InvalidRequest("changes needs from_version or from_timestamp", where=self.location)
        return Changes(self._table.changes(first, _bound(to_version, to_timestamp, "to"), columns))

    def append(
        self,
        rows: Rows,
        *,
        merge_schema: bool = False,
        transaction: tuple[str, int] | None = None,
        user_metadata: str | None = None,
    ) -> "Table":
        """Add the rows of a Spark frame, an Arrow table or a pandas frame.

        `merge_schema` adds the columns that the table lacks. `transaction` is an application's id and a number that it raises:
        what was written under this number or a later one is not written again.
        """
        return self._moved(self._table.append(row_source(rows), WriteOptions(merge_schema, transaction, user_metadata)))

    def overwrite(
        self,
        rows: Rows,
        *,
        where: str | None = None,
        dynamic: bool = False,
        merge_schema: bool = False,
        overwrite_schema: bool = False,
        partition_by: Sequence[str] | None = None,
        transaction: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        spark: "SparkSession | None" = None,
    ) -> "Table":
        """Put the rows in the place of all that are there; with `dynamic`, of those in the same partitions only.

        With `where`, of those for which the condition is true; it must then be true for each of the given rows. With
        `overwrite_schema` their columns take the place of the table's, which is then partitioned by `partition_by`, or as before.
        """
        partitions = None if partition_by is None else tuple(partition_by)
        options = WriteOptions(merge_schema, transaction, user_metadata, overwrite_schema, partitions)
        if overwrite_schema and (where is not None or dynamic or merge_schema):
            raise InvalidRequest("overwrite_schema replaces all rows: no where, dynamic or merge_schema", where=self.location)
        if partition_by is not None and not overwrite_schema:
            raise InvalidRequest("partition_by goes with overwrite_schema", where=self.location)
        if where is not None:
            if dynamic:
                raise InvalidRequest("where or dynamic, not both", where=self.location)
            return self._moved(self._table.overwrite_where(row_source(rows), where, options, row_editor(spark)))
        return self._moved(self._table.overwrite(row_source(rows), options, dynamic))

    def delete(self, where: str | None = None, *, spark: "SparkSession | None" = None) -> "Table":
        """Delete the rows for which the condition is true, or all. Where there are none, no version is made."""
        return self._moved(self._table.delete(where, row_editor(spark)))

    def update(
        self, values: "Mapping[str, str | Column]", where: str | None = None, *, spark: "SparkSession | None" = None
    ) -> "Table":
        """Set columns, or members of structs, to values in the rows for which the condition is true, or in all.

        A value is an SQL expression over the table's columns, or a Spark column.
        """
        return self._moved(self._table.update(values, where, row_editor(spark)))

    def merge(
        self,
        source: Rows,
        on: str,
        *,
        target_name: str = "target",
        source_name: str = "source",
        spark: "SparkSession | None" = None,
    ) -> "MergeBuilder[Table]":
        """Merge rows of a Spark frame, an Arrow table or a pandas frame: give clauses, then `execute`.

        `on` says when a row of the table and one of the source match: `"target.id = source.id"`.
        """

        def run(merge: Merge) -> Table:
            with row_merger(spark, row_source(source), merge) as merger:
                return self._moved(self._table.merge(merge, merger))

        return MergeBuilder(Merge(on, target=target_name, source=source_name), run)

    @overload
    def optimize(
        self,
        where: str | None = None,
        *,
        z_order_by: Sequence[str] = (),
        full: bool = False,
        target_size: int | None = None,
        dry_run: Literal[False] = False,
        spark: "SparkSession | None" = None,
    ) -> "Table": ...

    @overload
    def optimize(
        self,
        where: str | None = None,
        *,
        z_order_by: Sequence[str] = (),
        full: bool = False,
        target_size: int | None = None,
        dry_run: Literal[True],
        spark: "SparkSession | None" = None,
    ) -> OptimizePlan: ...

    def optimize(
        self,
        where: str | None = None,
        *,
        z_order_by: Sequence[str] = (),
        full: bool = False,
        target_size: int | None = None,
        dry_run: bool = False,
        spark: "SparkSession | None" = None,
    ) -> "Table | OptimizePlan":
        """Pack small files into larger ones, lay rows out by columns (`z_order_by`), or cluster those of a clustered table.

        `where` is a condition on partition columns. A clustered table's files that are clustered are left alone, unless
        `full`. `target_size` is how large files should be, in bytes. No row changes; where there is nothing to gain, no
        version is made. With `dry_run` the files that would be rewritten are told, and nothing is done.
        """
        layout = Layout(where, tuple(z_order_by), full, target_size)
        if dry_run:
            return self._table.plan_optimize(layout, row_arranger(spark))
        return self._moved(self._table.optimize(layout, row_arranger(spark)))

    def purge(self, where: str | None = None, *, spark: "SparkSession | None" = None) -> "Table":
        """Rewrite the files of which rows were deleted, so that the rows are gone from them; `where` is as for `optimize`."""
        return self._moved(self._table.purge(where, row_arranger(spark)))

    @property
    def iceberg(self) -> IcebergActions:
        """What can be done with an Iceberg table alone: branches, tags, partition specs, format versions and upkeep."""
        return IcebergActions(self._table, self._moved)

    def cluster_by(self, *columns: str) -> "Table":
        """Have `optimize` keep rows together that are near one another in these columns; none to end that."""
        return self._moved(self._table.cluster_by(columns))

    def checkpoint(self) -> "Table":
        """Write the state of this version down in one piece, so that opening it reads little."""
        return self._moved(self._table.checkpoint())

    def clean_log(self) -> int:
        """Delete the history that is older than the table's properties keep it; how many files that were."""
        return self._table.clean_log()

    def compact_log(self, first: int, last: int) -> None:
        """Write the changes from one version to another, both counted, down as one, so that opening reads fewer files."""
        self._table.compact_log(first, last)

    def _planned(
        self, columns: Sequence[str] | None, where: str | None
    ) -> tuple[Scan, Predicate | None, list[str]]:
        """The plan for these columns and those that the filter needs, the filter, and the columns to show."""
        if where is None:
            plan = self._table.plan(columns)
            return plan, None, list(plan.schema.names)
        predicate = self._bound(where, UTC)
        wanted = list(columns or ["*"])
        have = {name.lower() for name in self._names(wanted)}
        extra = dict.fromkeys(c[0] for c in columns_of(predicate) if c[0].lower() not in have)
        plan = self._table.plan([*wanted, *extra], predicate)
        return plan, predicate, list(plan.schema.names[: len(plan.columns) - len(extra)])

    def _bound(self, where: str, zone: tzinfo) -> Predicate:
        """The filter over the table's own names and types; texts and literals without a zone are in `zone`."""
        return bind(parse(where, zone), self._table.filterable, zone)

    def _used(self, columns: Sequence[str] | None, where: str | None) -> list[str] | None:
        """The columns that are shown or named by the filter, as the table spells them; None for all."""
        named = frozenset() if where is None else references(where)
        if columns is None or named is None:
            return None
        return self._names([*columns, *(path[0] for path in named)])

    def _names(self, columns: Sequence[str]) -> list[str]:
        """The names of these columns as the table spells them, `*` spelled out."""
        names: list[str] = []
        for name in columns:
            field = self.schema.find(name)
            names += self.schema.names if field is None and name == "*" else [name if field is None else field.name]
        return names


class Changes:
    """Changed rows, to be read with or without Spark."""

    def __init__(self, plans: tuple[Scan, ...]):
        self._plans = plans

    def to_arrow(self) -> pa.Table:
        """The changes as an Arrow table."""
        rows = (batch for plan in self._plans for batch in read_rows(plan))
        return pa.Table.from_batches(rows, arrow_schema(self._plans[0]))

    def to_df(self, spark: "SparkSession | None" = None, *, relation: Relation = "auto") -> "DataFrame":
        """The changes as a lazy Spark DataFrame."""
        first, *rest = (read_plan(spark, plan, relation=relation) for plan in self._plans)
        for frame in rest:
            first = first.unionByName(frame)
        return first


def _narrowed(plan: Scan, predicate: Predicate | None, used: Sequence[str] | None) -> Scan:
    """The plan without what the filter rules out, and without columns that Spark would not leave out by itself."""
    match plan:
        case ScanPlan():
            return plan if predicate is None else plan.only(plan.matching(predicate))
        case FragmentScan():
            return (plan if used is None else plan.showing(used)).filtered(predicate)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _bound(version: int | None, timestamp: datetime | str | None, which: str) -> int | datetime | None:
    if version is not None and timestamp is not None:
        raise InvalidRequest(f"{which}_version or {which}_timestamp, not both")
    return version if timestamp is None else moment(timestamp)

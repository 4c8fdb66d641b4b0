"""A table for each rule that breaks it and no other, but for those that it cannot help breaking."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from esker.core import types as t
from esker.core.types import Decimal, Field, Struct, Type
from esker.iceberg.bounds import to_bytes
from esker.iceberg.manifest_lists import ManifestFile
from esker.iceberg.metadata import PartitionSpec
from esker.iceberg.schema import Schema
from tests.check.iceberg.tables import DATA, OLD, SCHEMA, Table, added, parquet, sound

Build: TypeAlias = Callable[[], Table]
Node: TypeAlias = dict[str, Any]
UNPARTITIONED = PartitionSpec()


def telling(change: Callable[[Node], object], version: int = 2) -> Build:
    """A sound table whose metadata says something else."""

    def build() -> Table:
        table = sound(version)
        table.tell.append(lambda node: (change(node), None)[1])
        return table

    return build


def put(key: str, value: Any, version: int = 2) -> Build:
    return telling(lambda node: node.update({key: value}), version)


def without(key: str, version: int = 2) -> Build:
    return telling(lambda node: node.pop(key), version)


def newest(**told: Any) -> Build:
    """A sound table whose newest snapshot says something else."""
    return telling(lambda node: node["snapshots"][1].update({key.replace("_", "-"): value for key, value in told.items()}))


def of_column(kind: Type = t.STRING, version: int = 2, nullable: bool = True, id: int = 2, name: str = "city", **told: Any) -> Build:
    """A table without files whose second column is this."""

    def build() -> Table:
        table = sound(version)
        column = Field(name, kind, nullable, id=id, metadata={key.replace("_", "-"): value for key, value in told.items()})
        table.schemas = (Schema(Struct((SCHEMA.struct.fields[0], column))),)
        table.spec, table.entries = UNPARTITIONED, []
        return table

    return build


def field_told(change: Callable[[Node], object]) -> Build:
    """A sound table whose second column says something else."""
    return telling(lambda node: change(node["schemas"][0]["fields"][1]))


def spec_told(**told: Any) -> Build:
    change = {key.replace("_", "-"): value for key, value in told.items()}
    return telling(lambda node: node["partition-specs"][0]["fields"][0].update(change))


def of_two_schemas() -> Table:
    table = sound()
    table.schemas = (Schema(Struct((replace(SCHEMA.struct.fields[0], type=t.DATE), SCHEMA.struct.fields[1]))), replace(SCHEMA, schema_id=1))
    return table


def data(**told: Any) -> Build:
    """A table of one file that is not what the manifest says."""

    def build() -> Table:
        table = sound()
        table.entries = [added(table.data(**told))]
        return table

    return build


def measured(**told: Any) -> Build:
    def build() -> Table:
        table = sound()
        file = table.data()
        table.entries = [added(replace(file, metrics=replace(file.metrics, **told)))]
        return table

    return build


def listing(change: Callable[[list[ManifestFile]], list[ManifestFile]], version: int = 2) -> Build:
    def build() -> Table:
        table = sound(version)
        table.listed = change
        return table

    return build


def first(**told: Any) -> Build:
    return listing(lambda manifests: [replace(manifests[0], **told), *manifests[1:]])


def entry(**told: Any) -> Build:
    def build() -> Table:
        table = sound()
        table.entries = [replace(table.entries[0], **told)]
        return table

    return build


def vector(version: int = 3, rows: tuple[int, ...] = (1,), times: int = 1, spoil: bool = False, **told: Any) -> Build:
    def build() -> Table:
        table = sound(version)
        file = table.entries[0].file
        table.deletes = [added(table.vector(file, rows, f"data/v{i}.puffin", **told)) for i in range(times)]
        if spoil:
            bytes_of = bytearray(table.storage.read("data/v0.puffin"))
            bytes_of[20] ^= 255
            table.put("data/v0.puffin", bytes(bytes_of))
        return table

    return build


def deletes_in_version_1() -> Table:
    table = sound(1)
    table.deletes = [added(table.position_deletes(table.entries[0].file), sequence_number=0, file_sequence_number=0)]
    table.manifest_version = 2
    return table


def position_deletes(rows: tuple[int, ...] = (0, 1)) -> Build:
    def build() -> Table:
        table = sound()
        table.deletes = [added(table.position_deletes(table.entries[0].file, rows))]
        return table

    return build


def equality_deletes(columns: dict[str, int] | None = None, **told: Any) -> Build:
    def build() -> Table:
        table = sound()
        file = table.equality_deletes(table.entries[0].file, **told)
        if columns is not None:
            size = table.put("data/e.parquet", parquet(pa.table({name: pa.array([2], pa.int64()) for name in columns}), columns))
            file = replace(file, file_size_in_bytes=size)
        table.deletes = [added(file)]
        return table

    return build


def missing(*paths: str) -> Build:
    def build() -> Table:
        table = sound()
        table.missing.update(paths)
        return table

    return build


def spoiled(path: str) -> Build:
    """The file is there and is not what it should be."""

    def build() -> Table:
        table = sound()
        size = table.put(path, b"PAR1 and nothing else") if path == DATA else 0
        table.entries = [added(replace(table.entries[0].file, file_size_in_bytes=size))]
        return table

    return build


def of_files(*files: Callable[[Table], Any], version: int = 2) -> Build:
    def build() -> Table:
        table = sound(version)
        table.entries = [added(file(table)) for file in files]
        return table

    return build


def torn() -> Table:
    table = sound()
    write = table.write

    def torn_write() -> Any:
        place = write()
        table.put("metadata/m0.avro", b"Obj\x01")
        return place

    table.write = torn_write  # type: ignore[method-assign]
    return table


def nameless() -> Table:
    """A data file without field ids."""
    table = sound()
    size = table.put(DATA, parquet(pa.table({"id": pa.array([1, 2, 3], pa.int64()), "city": ["Oslo"] * 3}), {}))
    table.entries = [added(replace(table.entries[0].file, file_size_in_bytes=size))]
    return table


def twice(manifests: list[ManifestFile]) -> list[ManifestFile]:
    return [manifests[0], manifests[0]]


def two_manifests_of_one_range() -> Table:
    table = sound(3)
    other = table.data("data/b.parquet", (7,))

    def listed(manifests: list[ManifestFile]) -> list[ManifestFile]:
        more = Table._manifest(table, "m2", [added(other)], False)
        return [*manifests, *more]

    table.listed = listed
    table.tell.append(lambda node: node["snapshots"][1]["summary"].update({"total-data-files": "2"}))
    return table


def _drop_last(node: Node) -> None:
    node["snapshots"] = node["snapshots"][:1]


def _ref(**told: Any) -> Callable[[Node], None]:
    def change(node: Node) -> None:
        node["refs"]["kept"] = {"snapshot-id": OLD, "type": "tag"} | {key.replace("_", "-"): value for key, value in told.items()}

    return change


def _statistics(key: str) -> Build:
    return put(key, [{"snapshot-id": 99, "statistics-path": "s.puffin", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}])


SENSE = {"metadata.sense"}

BROKEN: dict[str, tuple[Build, set[str]]] = {
    "metadata.there": (missing("metadata/v2.metadata.json"), set()),
    "metadata.sense": (put("last-updated-ms", "soon"), set()),
    "metadata.format-version": (put("format-version", 4, 3), set()),
    "metadata.required": (without("next-row-id", 3), set()),
    "metadata.version-1": (without("partition-spec", 1), set()),
    "metadata.uuid": (put("table-uuid", "mine"), set()),
    "metadata.properties": (put("properties", {"a": 1}), set()),
    "metadata.schema-ids": (telling(lambda node: node["schemas"].append(node["schemas"][0])), SENSE),
    "metadata.current-schema": (put("current-schema-id", 7), SENSE),
    "metadata.spec-ids": (telling(lambda node: node["partition-specs"].append(node["partition-specs"][0])), SENSE),
    "metadata.default-spec": (put("default-spec-id", 7), SENSE),
    "metadata.order-ids": (telling(lambda node: node["sort-orders"].append(node["sort-orders"][1])), SENSE),
    "metadata.default-order": (put("default-sort-order-id", 7), SENSE),
    "metadata.unsorted": (telling(lambda node: node["sort-orders"][1].update({"fields": []})), set()),
    "metadata.snapshot-ids": (telling(lambda node: node["snapshots"].append(node["snapshots"][1])), SENSE),
    "metadata.current-snapshot": (telling(_drop_last), {*SENSE, "metadata.ref-snapshots"}),
    "metadata.ref-snapshots": (telling(_ref(snapshot_id=99)), SENSE),
    "metadata.ref-kinds": (telling(_ref(type="twig")), SENSE),
    "metadata.ref-retention": (telling(_ref(min_snapshots_to_keep=2)), set()),
    "metadata.main-branch": (telling(lambda node: node["refs"]["main"].update({"type": "tag"})), SENSE),
    "metadata.main": (telling(lambda node: node["refs"]["main"].update({"snapshot-id": OLD})), SENSE),
    "metadata.last-column-id": (put("last-column-id", 1), set()),
    "metadata.last-partition-id": (put("last-partition-id", 999), set()),
    "metadata.last-sequence-number": (put("last-sequence-number", 1), set()),
    "metadata.next-row-id": (put("next-row-id", 1, 3), set()),
    "metadata.snapshot-log": (telling(lambda node: node["snapshot-log"][0].update({"timestamp-ms": 2_500_000})), set()),
    "metadata.snapshot-log-end": (telling(lambda node: node["snapshot-log"].pop()), set()),
    "metadata.metadata-log": (put("metadata-log", [{"timestamp-ms": 2_000_000, "metadata-file": "b"}, {"timestamp-ms": 1, "metadata-file": "a"}]), set()),
    "metadata.last-updated": (put("last-updated-ms", 1_900_000), set()),
    "metadata.statistics": (_statistics("statistics"), set()),
    "metadata.partition-statistics": (_statistics("partition-statistics"), set()),
    "schema.sense": (field_told(lambda field: field.update({"type": 7})), SENSE),
    "schema.unique-ids": (of_column(id=1), set()),
    "schema.reserved-ids": (of_column(id=2147483500), {"metadata.last-column-id"}),
    "schema.names": (of_column(name="id"), set()),
    "schema.types": (of_column(Decimal(39, 2)), set()),
    "schema.type-versions": (of_column(t.VARIANT), set()),
    "schema.default-versions": (of_column(initial_default="Oslo"), set()),
    "schema.defaults": (of_column(t.INTEGER, 3, initial_default="seven"), set()),
    "schema.unknown-optional": (of_column(t.VOID, 3, nullable=False), set()),
    "schema.promotions": (of_two_schemas, set()),
    "schema.identifiers": (telling(lambda node: node["schemas"][0].update({"identifier-field-ids": [2]})), set()),
    "spec.transforms": (spec_told(transform="zorder[3]", name="city_z"), set()),
    "spec.sources": (spec_told(transform="day", name="city_day"), set()),
    "spec.field-ids": (telling(lambda node: node["partition-specs"].append({"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "name": "id", "transform": "identity"}]})), set()),
    "spec.names": (spec_told(name="id"), set()),
    "order.sources": (telling(lambda node: node["sort-orders"][1]["fields"][0].update({"source-id": 9})), set()),
    "snapshot.manifests": (telling(lambda node: node["snapshots"][0].pop("manifest-list")), SENSE),
    "snapshot.operation": (newest(summary={"operation": "add"}), set()),
    "snapshot.sequence-number": (telling(lambda node: node["snapshots"][0].update({"sequence-number": 2})), set()),
    "snapshot.time": (telling(lambda node: node["snapshots"][0].update({"timestamp-ms": 2_500_000})), set()),
    "snapshot.schema": (newest(schema_id=7), set()),
    "snapshot.row-ids": (telling(lambda node: node["snapshots"][1].pop("added-rows"), 3), set()),
    "list.there": (missing("metadata/list.avro"), set()),
    "list.once": (listing(twice), {"entry.live-once", "snapshot.totals"}),
    "list.specs": (first(partition_spec_id=7), set()),
    "list.sequence-numbers": (first(sequence_number=9), set()),
    "list.deletes": (deletes_in_version_1, set()),
    "list.row-ids": (two_manifests_of_one_range, {"entry.row-ids"}),
    "list.counts": (first(added_files_count=4), set()),
    "snapshot.totals": (telling(lambda node: node["snapshots"][1]["summary"].update({"total-data-files": "5"})), set()),
    "manifest.there": (torn, set()),
    "manifest.length": (first(manifest_length=7), set()),
    "entry.content": (first(is_deletes=True), set()),
    "entry.sequence-number": (entry(sequence_number=9, file_sequence_number=9), {"list.sequence-numbers"}),
    "entry.lowest-sequence-number": (first(min_sequence_number=2, sequence_number=1), {"list.sequence-numbers"}),
    "entry.snapshot-id": (entry(snapshot_id=OLD), set()),
    "entry.format": (data(file_format="CSV"), set()),
    "entry.size": (data(file_size_in_bytes=-1), {"file.size"}),
    "entry.partition": (telling(lambda node: node["partition-specs"][0].update({"fields": []})), set()),
    "entry.live-once": (of_files(Table.data, Table.data), set()),
    "entry.equality-ids": (equality_deletes(equality_ids=None), set()),
    "entry.vector": (vector(content_offset=None), set()),
    "entry.vector-version": (vector(2), {"entry.vector"}),
    "entry.one-vector": (vector(times=2), set()),
    "entry.dangling": (vector(referenced_data_file="file:///elsewhere.parquet"), set()),
    "entry.counts": (measured(nan_value_counts={1: 9}), set()),
    "entry.bounds": (measured(lower_bounds={1: b"short"}, upper_bounds={}), {"file.statistics"}),
    "entry.row-ids": (of_files(lambda table: table.data(first_row_id=0), lambda table: table.data("data/b.parquet", first_row_id=1), version=3), set()),
    "file.there": (missing(DATA), set()),
    "file.whole": (spoiled(DATA), set()),
    "file.size": (data(file_size_in_bytes=7), set()),
    "file.rows": (data(record_count=2), set()),
    "file.field-ids": (nameless, set()),
    "file.partition": (data(partition=("Bergen",)), set()),
    "file.statistics": (measured(upper_bounds={1: to_bytes(2, t.LONG)}), set()),
    "file.vector": (vector(spoil=True), set()),
    "file.position-deletes": (position_deletes((1, 0)), set()),
    "file.equality-deletes": (equality_deletes({"other": 7}), set()),
}  # fmt: skip

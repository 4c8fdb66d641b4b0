"""What is wrong with a metadata file, and what does it say?  (spec, "Table Metadata", Appendix C, Appendix E)

`parse_metadata` gathers every rule that a file breaks and raises once. What only later versions have is read where it is there;
what version 1 spells by deprecated fields alone is completed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import orjson

from esker.core.types import Json
from esker.errors import InvalidTable, Unsupported
from esker.iceberg.metadata import (
    BRANCH,
    MAIN,
    NO_SNAPSHOT,
    SUPPORTED_VERSIONS,
    TAG,
    UNASSIGNED_PARTITION_ID,
    BlobMetadata,
    EncryptionKey,
    MetadataLogEntry,
    PartitionField,
    PartitionSpec,
    PartitionStatisticsFile,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    SortField,
    SortOrder,
    StatisticsFile,
    TableMetadata,
)
from esker.iceberg.schema import Schema, parse_schema

T = TypeVar("T")


def parse_metadata(node: Json, where: str) -> TableMetadata:
    """The record of a metadata file's JSON; `Unsupported` where its version is above what is supported."""
    if not isinstance(node, dict):
        raise InvalidTable("the metadata file holds no object", where=where)
    version = node.get("format-version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InvalidTable(f"format-version is {version!r:.40}, not a number", where=where)
    # "Implementations must throw an exception if a table's version is higher than the supported version."
    if version not in SUPPORTED_VERSIONS:
        raise Unsupported(
            f"format version {version}; Esker knows {', '.join(map(str, SUPPORTED_VERSIONS))}", where=where
        )
    return _Reader(node, version, where).metadata()


def parse_partition_fields(nodes: Json, where: str) -> tuple[PartitionField, ...]:
    """The fields of a spec, as a manifest's `partition-spec` has them."""
    reader = _Reader({}, 1, where)
    fields = reader.partition_fields(nodes)
    reader.raise_problems()
    return fields


def parse_snapshot(node: Json, version: int, where: str) -> Snapshot:
    reader = _Reader({}, version, where)
    snapshot = reader.snapshot(node)
    reader.raise_problems()
    assert snapshot is not None  # or there were problems
    return snapshot


_KNOWN = frozenset(
    (
        "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id", "schema",
        "schemas", "current-schema-id", "partition-spec", "partition-specs", "default-spec-id", "last-partition-id",
        "default-sort-order-id", "sort-orders", "properties", "current-snapshot-id", "next-row-id", "encryption-keys",
        "refs", "snapshots", "statistics", "partition-statistics", "snapshot-log", "metadata-log",
    )
)  # fmt: skip


class _Reader:
    """Reads the parts of one metadata file and notes what is wrong with them."""

    def __init__(self, node: Mapping[str, Json], version: int, where: str) -> None:
        self._node = node
        self._version = version
        self._where = where
        self._problems: list[str] = []

    def raise_problems(self) -> None:
        if self._problems:
            raise InvalidTable(
                "the metadata breaks the specification", where=self._where, problems=dict.fromkeys(self._problems)
            )

    def metadata(self) -> TableMetadata:
        node = self._node
        schemas, current_schema_id = self._schemas()
        specs, default_spec_id = self._specs()
        orders, default_order_id = self._sort_orders()
        snapshots = tuple(s for s in map(self.snapshot, self._list(node, "snapshots")) if s is not None)
        current = self._int(node, "current-snapshot-id", None)
        current = None if current == NO_SNAPSHOT else current
        found = TableMetadata(
            format_version=self._version,
            location=self._text(node, "location"),
            table_uuid=self._text(node, "table-uuid") if self._version > 1 else self._text(node, "table-uuid", ""),
            last_updated_ms=self._required_int(node, "last-updated-ms"),
            last_column_id=self._required_int(node, "last-column-id"),
            schemas=schemas,
            current_schema_id=current_schema_id,
            partition_specs=specs,
            default_spec_id=default_spec_id,
            last_partition_id=self._last_partition_id(specs),
            sort_orders=orders,
            default_sort_order_id=default_order_id,
            # "last-sequence-number must default to 0" when reading version 1
            last_sequence_number=self._required_int(node, "last-sequence-number") if self._version > 1 else 0,
            properties=self._texts(node, "properties"),
            current_snapshot_id=current,
            snapshots=snapshots,
            refs=self._refs(current),
            snapshot_log=tuple(self._snapshot_log()),
            metadata_log=tuple(self._metadata_log()),
            statistics=tuple(self._statistics()),
            partition_statistics=tuple(self._partition_statistics()),
            # required in version 3, and asked for by writers alone: without it the rows can still be read
            next_row_id=self._int(node, "next-row-id", None) if self._version >= 3 else None,
            encryption_keys=tuple(self._encryption_keys()),
            unknown={key: value for key, value in node.items() if key not in _KNOWN},
        )
        self._check(found)
        self.raise_problems()
        return found

    def _check(self, found: TableMetadata) -> None:
        if len({s.snapshot_id for s in found.snapshots}) < len(found.snapshots):
            self._problems.append("two snapshots have the same id")
        if found.current_snapshot_id is not None and found.current_snapshot is None:
            self._problems.append(f"current-snapshot-id is {found.current_snapshot_id}, and there is no such snapshot")
        for name, ref in found.refs.items():
            if found.snapshot(ref.snapshot_id) is None:
                self._problems.append(f"the {ref.type} {name} is at the snapshot {ref.snapshot_id}, which is not there")
        main = found.refs.get(MAIN)
        if main is not None and main.type != BRANCH:
            self._problems.append("main is a tag; it must be a branch")
        # "must be the same as the current ID of the main branch in refs"
        if main is not None and main.snapshot_id != found.current_snapshot_id:
            self._problems.append(
                f"the branch main is at {main.snapshot_id}, and current-snapshot-id is {found.current_snapshot_id}"
            )

    def _schemas(self) -> tuple[tuple[Schema, ...], int]:
        nodes = self._node.get("schemas")
        if nodes is None:
            if self._version > 1:
                self._problems.append("schemas must exist from version 2 on")
            deprecated = self._node.get("schema")
            if deprecated is None:
                self._problems.append("there is no schema")
                return (), 0
            only = self._parsed(deprecated, lambda node: parse_schema(node, self._where))
            return ((only,), only.schema_id) if only is not None else ((), 0)
        parsed = [
            self._parsed(node, lambda n: parse_schema(n, self._where)) for node in self._list(self._node, "schemas")
        ]
        schemas = tuple(s for s in parsed if s is not None)
        current = self._node.get("current-schema-id")
        if current is None and self._version == 1 and self._node.get("schema") is not None:
            # written before schemas had ids: the deprecated field says which of them it is
            deprecated_schema = self._parsed(self._node["schema"], lambda node: parse_schema(node, self._where))
            current = deprecated_schema.schema_id if deprecated_schema is not None else None
        current_id = current if isinstance(current, int) else None
        if current_id is None:
            self._problems.append("there is no current-schema-id")
        elif all(s.schema_id != current_id for s in schemas):
            self._problems.append(f"current-schema-id is {current_id}, and there is no such schema")
        self._unique("schemas", [s.schema_id for s in schemas])
        return schemas, current_id or 0

    def _specs(self) -> tuple[tuple[PartitionSpec, ...], int]:
        if self._node.get("partition-specs") is None:
            if self._version > 1:
                self._problems.append("partition-specs must exist from version 2 on")
            elif self._node.get("partition-spec") is None:
                self._problems.append("there is no partition-spec")
            return (PartitionSpec(0, self.partition_fields(self._node.get("partition-spec") or [])),), 0
        specs = tuple(
            PartitionSpec(self._required_int(node, "spec-id"), self.partition_fields(node.get("fields")))
            for node in self._objects(self._node, "partition-specs")
        )
        default = self._required_int(self._node, "default-spec-id")
        if all(s.spec_id != default for s in specs):
            self._problems.append(f"default-spec-id is {default}, and there is no such spec")
        self._unique("partition-specs", [s.spec_id for s in specs])
        return specs, default

    def partition_fields(self, nodes: Json) -> tuple[PartitionField, ...]:
        """In version 1 a field may have no id: "assigned field ids sequentially in each spec starting at 1,000"."""
        fields = []
        for at, node in enumerate(self._objects({"fields": nodes}, "fields")):
            fields.append(
                PartitionField(
                    source_ids=self._source_ids(node),
                    field_id=self._int(node, "field-id", 1000 + at) or 0,
                    name=self._text(node, "name"),
                    transform=self._text(node, "transform"),
                )
            )
        self._unique("partition fields", [f.field_id for f in fields])
        return tuple(fields)

    def _last_partition_id(self, specs: Iterable[PartitionSpec]) -> int:
        greatest = max((f.field_id for s in specs for f in s.fields), default=UNASSIGNED_PARTITION_ID)
        if self._version > 1:
            return self._required_int(self._node, "last-partition-id")
        return self._int(self._node, "last-partition-id", greatest) or greatest

    def _source_ids(self, node: Mapping[str, Json]) -> tuple[int, ...]:
        many = node.get("source-ids")
        if isinstance(many, list) and many and all(isinstance(i, int) for i in many):
            return tuple(i for i in many if isinstance(i, int))
        return (self._required_int(node, "source-id"),)

    def _sort_orders(self) -> tuple[tuple[SortOrder, ...], int]:
        if self._node.get("sort-orders") is None:
            if self._version > 1:
                self._problems.append("sort-orders must exist from version 2 on")
            return (SortOrder(),), 0
        orders = tuple(
            SortOrder(self._required_int(node, "order-id"), tuple(self._sort_fields(node)))
            for node in self._objects(self._node, "sort-orders")
        )
        default = self._required_int(self._node, "default-sort-order-id")
        if default and all(o.order_id != default for o in orders):
            self._problems.append(f"default-sort-order-id is {default}, and there is no such sort order")
        self._unique("sort-orders", [o.order_id for o in orders])
        if all(o.order_id != default for o in orders):
            orders = (SortOrder(), *orders)  # the order 0 is unsorted, whether it is listed or not
        return orders, default

    def _sort_fields(self, node: Mapping[str, Json]) -> Iterator[SortField]:
        for field in self._objects(node, "fields"):
            direction, null_order = self._text(field, "direction"), self._text(field, "null-order")
            if direction.lower() not in ("asc", "desc"):
                self._problems.append(f"a sort field has the direction {direction!r:.40}")
            if null_order.lower() not in ("nulls-first", "nulls-last"):
                self._problems.append(f"a sort field has the null order {null_order!r:.40}")
            yield SortField(
                self._source_ids(field), self._text(field, "transform"), direction.lower(), null_order.lower()
            )

    def snapshot(self, node: Json) -> Snapshot | None:
        if not isinstance(node, dict):
            self._problems.append(f"snapshots holds {node!r:.40}")
            return None
        manifest_list = node.get("manifest-list")
        manifests = [] if manifest_list is not None else self._list(node, "manifests")
        snapshot_id = self._required_int(node, "snapshot-id")
        if manifest_list is None and node.get("manifests") is None:
            self._problems.append(f"the snapshot {snapshot_id} has no manifest-list")
        return Snapshot(
            snapshot_id=snapshot_id,
            timestamp_ms=self._required_int(node, "timestamp-ms"),
            manifest_list=None if manifest_list is None else self._text(node, "manifest-list"),
            manifests=tuple(str(m) for m in manifests),
            parent_snapshot_id=self._int(node, "parent-snapshot-id", None),
            # "Snapshot field sequence-number must default to 0"; snapshots of version 1 stay as they are in an upgraded table
            sequence_number=self._int(node, "sequence-number", 0) or 0,
            summary=self._texts(node, "summary"),
            schema_id=self._int(node, "schema-id", None),
            first_row_id=self._int(node, "first-row-id", None),
            added_rows=self._int(node, "added-rows", None),
            key_id=self._text(node, "key-id", "") or None,
        )

    def _refs(self, current: int | None) -> Mapping[str, SnapshotRef]:
        """ "There is always a main branch reference pointing to the current-snapshot-id even if the refs map is null." """
        nodes = self._node.get("refs")
        if nodes is not None and not isinstance(nodes, dict):
            self._problems.append("refs is no object")
        refs: dict[str, SnapshotRef] = {}
        for name, node in (nodes if isinstance(nodes, dict) else {}).items():
            if not isinstance(node, dict):
                self._problems.append(f"refs holds {node!r:.40}")
                continue
            kind = self._text(node, "type").lower()
            if kind not in (BRANCH, TAG):
                self._problems.append(f"the reference {name} is a {kind!r:.40}")
            refs[name] = SnapshotRef(
                self._required_int(node, "snapshot-id"),
                kind,
                self._int(node, "min-snapshots-to-keep", None),
                self._int(node, "max-snapshot-age-ms", None),
                self._int(node, "max-ref-age-ms", None),
            )
        if MAIN not in refs and current is not None:
            refs[MAIN] = SnapshotRef(current, BRANCH)
        return refs

    def _snapshot_log(self) -> Iterator[SnapshotLogEntry]:
        for node in self._objects(self._node, "snapshot-log"):
            yield SnapshotLogEntry(self._required_int(node, "timestamp-ms"), self._required_int(node, "snapshot-id"))

    def _metadata_log(self) -> Iterator[MetadataLogEntry]:
        for node in self._objects(self._node, "metadata-log"):
            yield MetadataLogEntry(self._required_int(node, "timestamp-ms"), self._text(node, "metadata-file"))

    def _statistics(self) -> Iterator[StatisticsFile]:
        for node in self._objects(self._node, "statistics"):
            yield StatisticsFile(
                self._long(node, "snapshot-id"),
                self._text(node, "statistics-path"),
                self._required_int(node, "file-size-in-bytes"),
                self._required_int(node, "file-footer-size-in-bytes"),
                tuple(self._blob(blob) for blob in self._objects(node, "blob-metadata")),
                self._text(node, "key-metadata", "") or None,
            )

    def _blob(self, node: Mapping[str, Json]) -> BlobMetadata:
        return BlobMetadata(
            self._text(node, "type"),
            self._long(node, "snapshot-id"),
            self._required_int(node, "sequence-number"),
            tuple(i for i in self._list(node, "fields") if isinstance(i, int)),
            self._texts(node, "properties"),
        )

    def _partition_statistics(self) -> Iterator[PartitionStatisticsFile]:
        for node in self._objects(self._node, "partition-statistics"):
            yield PartitionStatisticsFile(
                self._long(node, "snapshot-id"),
                self._text(node, "statistics-path"),
                self._required_int(node, "file-size-in-bytes"),
            )

    def _encryption_keys(self) -> Iterator[EncryptionKey]:
        for node in self._objects(self._node, "encryption-keys"):
            # an example in the specification says key-metadata, its table encrypted-key-metadata
            name = "encrypted-key-metadata" if "encrypted-key-metadata" in node else "key-metadata"
            yield EncryptionKey(
                self._text(node, "key-id"),
                self._text(node, name),
                self._text(node, "encrypted-by-id", "") or None,
                self._texts(node, "properties"),
            )

    def _parsed(self, node: Json, parse: Callable[[Json], T]) -> T | None:
        try:
            return parse(node)
        except InvalidTable as error:
            self._problems.append(error.what)
            return None

    def _unique(self, what: str, ids: list[int]) -> None:
        if len(set(ids)) < len(ids):
            self._problems.append(f"two of the {what} have the same id")

    def _list(self, node: Mapping[str, Json], key: str) -> list[Json]:
        value = node.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._problems.append(f"{key} is {value!r:.40}, not a list")
            return []
        return value

    def _objects(self, node: Mapping[str, Json], key: str) -> Iterator[Mapping[str, Json]]:
        for item in self._list(node, key):
            if isinstance(item, dict):
                yield item
            else:
                self._problems.append(f"{key} holds {item!r:.40}, not an object")

    def _text(self, node: Mapping[str, Json], key: str, default: str | None = None) -> str:
        value = node.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            self._problems.append(f"{key} is {value!r:.40}, not a text" if key in node else f"there is no {key}")
            return ""
        return value

    def _texts(self, node: Mapping[str, Json], key: str) -> Mapping[str, str]:
        value = node.get(key)
        if value is not None and not isinstance(value, dict):
            self._problems.append(f"{key} is {value!r:.40}, not an object")
        pairs: dict[str, Any] = value if isinstance(value, dict) else {}
        return {name: text if isinstance(text, str) else orjson.dumps(text).decode() for name, text in pairs.items()}

    def _int(self, node: Mapping[str, Json], key: str, default: int | None) -> int | None:
        value = node.get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            self._problems.append(f"{key} is {value!r:.40}, not a number")
            return default
        return value

    def _required_int(self, node: Mapping[str, Json], key: str) -> int:
        value = self._int(node, key, None)
        if value is None:
            if node.get(key) is None:
                self._problems.append(f"there is no {key}")
            return 0
        return value

    def _long(self, node: Mapping[str, Json], key: str) -> int:
        """A number that an older text of the specification calls a string."""
        value = node.get(key)
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value)
        return self._required_int(node, key)

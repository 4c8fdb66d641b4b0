"""Which features can a Delta table have?  (PROTOCOL.md, "Table Features" and each feature's own section)

The registry, and the predicates that tell from a snapshot's metadata whether a feature is active or in use. What has no
name for `readerFeatures` or `writerFeatures` (UniForm, the void type, the checkpoint statistics of writer version 3) is
no record here: a protocol that lists such a word lists an unknown one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from esker.core.features import (
    Enabling,
    Feature,
    Operation,
    Permanent,
    Registry,
    Removable,
    Scope,
    Section,
    Status,
    Support,
    always,
    leaves_no_trace,
)
from esker.core.types import (
    TIMESTAMP_NS,
    TIMESTAMP_NTZ,
    TIMESTAMP_NTZ_NS,
    VARIANT,
    Array,
    Field,
    Map,
    Primitive,
    Struct,
    Type,
    any_type,
)
from esker.delta.constraints import constraints


@dataclass(frozen=True, slots=True)
class Facts:
    """What the predicates look at. None: not known, because that part of the log was not read."""

    configuration: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema: Struct = Struct()
    domains: frozenset[str] | None = None
    has_deletion_vectors: bool | None = None
    has_row_ids: bool | None = None
    has_change_files: bool | None = None
    checkpoint_is_v2: bool | None = None


def is_true(key: str) -> Callable[[Facts], bool]:
    """Whether the table property is `true`."""
    return lambda facts: facts.configuration.get(key, "").lower() == "true"


def is_set(key: str) -> Callable[[Facts], bool]:
    """Whether the table property has a value."""
    return lambda facts: bool(facts.configuration.get(key))


def any_field_has(*keys: str) -> Callable[[Facts], bool]:
    """Whether a field, at any depth, has one of these keys in its metadata."""
    return lambda facts: any(key in member.metadata for member in _fields(facts.schema) for key in keys)


def any_column_is(*types: Type) -> Callable[[Facts], bool]:
    """Whether one of these types occurs in the schema, at any depth."""
    return lambda facts: any(any_type(facts.schema, wanted) for wanted in types)


def has_domain(name: str) -> Callable[[Facts], bool | None]:
    """Whether the snapshot has the metadata domain."""
    return lambda facts: None if facts.domains is None else name in facts.domains


def _types(root: Type) -> Iterator[Type]:
    """The type and all that it is made of."""
    yield root
    match root:
        case Struct():
            for member in root:
                yield from _types(member.type)
        case Array():
            yield from _types(root.element)
        case Map():
            yield from _types(root.key)
            yield from _types(root.value)


def _fields(schema: Struct) -> Iterator[Field]:
    for part in _types(schema):
        if isinstance(part, Struct):
            yield from part


def _has_invariants(facts: Facts) -> bool:
    """Whether a column has a condition, or may not be null outside of arrays and maps: Delta's own writers count both."""
    return any_field_has("delta.invariants")(facts) or _any_required(facts.schema)


def _any_required(schema: Struct) -> bool:
    return any(not f.nullable or (isinstance(f.type, Struct) and _any_required(f.type)) for f in schema)


def _has_constraints(facts: Facts) -> bool:
    return bool(constraints(facts.configuration))


def _feeds_changes(facts: Facts) -> bool:
    return any(is_true(key)(facts) for key in ("delta.enableChangeDataFeed", "delta.enableChangeDataCapture"))


def _maps_columns(facts: Facts) -> bool:
    return facts.configuration.get("delta.columnMapping.mode", "").lower() in ("name", "id")


def _has_domains(facts: Facts) -> bool | None:
    return None if facts.domains is None else bool(facts.domains)


def _protects_checkpoints(facts: Facts) -> bool:
    version = facts.configuration.get("delta.requireCheckpointProtectionBeforeVersion", "0")
    return version.isdecimal() and int(version) > 0


def _has_geo_columns(facts: Facts) -> bool:
    leaves = (part.name for part in _types(facts.schema) if isinstance(part, Primitive))
    return any(leaf.startswith(("geometry", "geography")) for leaf in leaves)


def _not_known(facts: Facts) -> None:
    """Only the data files themselves could tell."""


def _protocol(anchor: str) -> Section:
    return Section("PROTOCOL.md", anchor)


def _rfc(name: str) -> Section:
    return Section(f"protocol_rfcs/{name}.md")


_SPARK = Section("spark/src/main/scala/org/apache/spark/sql/delta/TableFeature.scala")

_FULL = Support(frozenset({Operation.READ, Operation.WRITE}))
_READ = Support(frozenset({Operation.READ}), "Esker does not write such tables yet")
_CATALOG = Support(frozenset(), "the table must be read through its catalog; its log on storage may lack commits")

_COPY = "write the rows to a new table without it"
_NOT_DESCRIBED = Permanent("its proposal does not say how it is removed", _COPY)
_REMOVE_NAME = "remove the name from writerFeatures"
_REMOVE_BOTH = "remove the name from readerFeatures and writerFeatures"
_ON_ITS_OWN = Enabling.NEW | Enabling.EXISTING


def _on(name: str) -> tuple[str, str]:
    return name, "true"


def _stays(instead: str) -> Permanent:
    return Permanent("Delta defines no way to remove it", instead)


def _stays_off(name: str) -> Permanent:
    return _stays(f"set {name}=false: the name stays, and asks nothing of writers")


def _unread(reason: str) -> Support:
    return Support(frozenset(), reason)


_LEGACY: tuple[Feature[Facts], ...] = (
    Feature(
        name="appendOnly",
        summary="While its property is true, rows can be added and rearranged but not changed or removed.",
        scope=Scope.WRITE, section=_protocol("#append-only-tables"), implied_by=(1, 2),
        support=_FULL, removal=_stays_off("delta.appendOnly"), enabling=_ON_ITS_OWN, switch=_on("delta.appendOnly"),
        active=is_true("delta.appendOnly"), in_use=leaves_no_trace,
    ),
    Feature(
        name="invariants",
        summary="Columns carry a condition that each new row must fulfil.",
        scope=Scope.WRITE, section=_protocol("#column-invariants"), implied_by=(1, 2),
        support=_FULL, removal=_stays(f"drop the columns that have delta.invariants, or {_COPY}"),
        enabling=_ON_ITS_OWN, enabled_by="column metadata delta.invariants",
        active=_has_invariants, in_use=any_field_has("delta.invariants"),
    ),
    Feature(
        name="checkConstraints",
        summary="The table carries named conditions that each row fulfils.",
        scope=Scope.WRITE, section=_protocol("#check-constraints"), implied_by=(1, 3), support=_FULL,
        removal=Removable("drop every delta.constraints.* property", _REMOVE_NAME),
        enabling=_ON_ITS_OWN, enabled_by="delta.constraints.<name>=<expression>",
        active=_has_constraints, in_use=_has_constraints,
    ),
    Feature(
        name="changeDataFeed",
        summary="Writers record which rows each version changed.",
        scope=Scope.WRITE, section=_protocol("#add-cdc-file"), implied_by=(1, 4),
        support=_FULL, removal=_stays_off("delta.enableChangeDataFeed"),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableChangeDataFeed"),
        active=_feeds_changes, in_use=lambda facts: facts.has_change_files,
    ),
    Feature(
        name="generatedColumns",
        summary="Columns are computed from others when rows are written.",
        scope=Scope.WRITE, section=_protocol("#generated-columns"), implied_by=(1, 4),
        support=_FULL, removal=_stays(f"drop the generated columns, or {_COPY}"),
        enabling=_ON_ITS_OWN, enabled_by="column metadata delta.generationExpression",
        active=any_field_has("delta.generationExpression"), in_use=any_field_has("delta.generationExpression"),
    ),
    Feature(
        name="columnMapping",
        summary="Columns are stored under physical names or ids, so they can be renamed and dropped without a rewrite.",
        scope=Scope.READ_WRITE, section=_protocol("#column-mapping"), implied_by=(2, 5), support=_FULL,
        removal=Removable(
            "refuse if a column name has one of ' ,;{}()\\n\\t='; in one commit rewrite all files under their logical "
            "names, strip delta.columnMapping.* from the fields and unset delta.columnMapping.mode and .maxColumnId",
            _REMOVE_BOTH, traces="metaData with a mode other than none", history_protected=True,
        ),
        enabling=_ON_ITS_OWN, enabled_by="delta.columnMapping.mode=name or id",
        switch=("delta.columnMapping.mode", "name"),
        active=_maps_columns, in_use=any_field_has("delta.columnMapping.physicalName"),
    ),
    Feature(
        name="identityColumns",
        summary="Columns are filled with unique numbers.",
        scope=Scope.WRITE, section=_protocol("#identity-columns"), implied_by=(1, 6),
        support=_FULL, removal=_stays(f"drop the identity columns, or {_COPY}"),
        enabling=_ON_ITS_OWN, enabled_by="column metadata delta.identity.*",
        active=any_field_has("delta.identity.start", "delta.identity.step", "delta.identity.allowExplicitInsert"),
        in_use=any_field_has("delta.identity.start", "delta.identity.step", "delta.identity.allowExplicitInsert"),
    ),
)

_NAMED_IN_THE_SPEC: tuple[Feature[Facts], ...] = (
    Feature(
        name="allowColumnDefaults",
        summary="Columns have default values, used when a write gives none.",
        scope=Scope.WRITE, section=_protocol("#default-columns"),
        support=_FULL, removal=_stays("take the defaults away with set_default(column, None): the name stays"),
        enabling=Enabling.MANUAL, enabled_by="column metadata CURRENT_DEFAULT",
        active=any_field_has("CURRENT_DEFAULT"), in_use=any_field_has("CURRENT_DEFAULT"),
    ),
    Feature(
        name="deletionVectors",
        summary="Rows are deleted by marking them, without rewriting their file.",
        scope=Scope.READ_WRITE, section=_protocol("#deletion-vectors"), support=_FULL,
        removal=Removable(
            "unset delta.enableDeletionVectors, rewrite every file that has a vector, add a remove for each vector "
            "file that an unexpired remove still refers to",
            _REMOVE_BOTH, history_protected=True,
            traces="metaData with the property true; an add, remove or cdc with a vector",
        ),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableDeletionVectors"),
        active=is_true("delta.enableDeletionVectors"), in_use=lambda facts: facts.has_deletion_vectors,
    ),
    Feature(
        name="domainMetadata",
        summary="The log keeps named configurations for other features and for applications.",
        scope=Scope.WRITE, section=_protocol("#domain-metadata"), support=_FULL,
        removal=Removable("drop the features that require it, commit a tombstone for each domain left", _REMOVE_NAME),
        enabling=Enabling.DEPENDENCY | Enabling.MANUAL, active=always, in_use=_has_domains,
    ),
    Feature(
        name="rowTracking",
        summary="Each row keeps an id and the version that last changed it.",
        scope=Scope.WRITE, section=_protocol("#row-tracking"), support=_FULL, requires=("domainMetadata",),
        removal=Removable(
            "set delta.enableRowTracking=false and delta.rowTrackingSuspended=true, recommit all files without "
            "baseRowId and defaultRowCommitVersion",
            f"{_REMOVE_NAME}, unset the four row tracking properties, commit a tombstone for domain delta.rowTracking",
        ),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableRowTracking"),
        active=is_true("delta.enableRowTracking"), in_use=lambda facts: facts.has_row_ids,
    ),
    Feature(
        name="timestampNtz", aliases=("timestampWithoutTimezone",),
        summary="Columns may hold timestamps without a time zone.",
        scope=Scope.READ_WRITE, section=_protocol("#timestamp-without-timezone-timestampntz"),
        support=_FULL, removal=_stays(f"drop the timestamp_ntz columns, or {_COPY}"),
        enabling=Enabling.NEW | Enabling.MANUAL, enabled_by="a timestamp_ntz column",
        active=always, in_use=any_column_is(TIMESTAMP_NTZ),
    ),
    Feature(
        name="v2Checkpoint",
        summary="Checkpoints may have unique names and keep their file lists in sidecars.",
        scope=Scope.READ_WRITE, section=_protocol("#v2-checkpoint-table-feature"), support=_FULL,
        removal=Removable(
            "set delta.checkpointPolicy=classic and write a classic checkpoint, on which the snapshot then rests",
            _REMOVE_BOTH, history_protected=True,
            traces="metaData with policy v2; checkpointMetadata or sidecar actions",
        ),
        enabling=_ON_ITS_OWN, switch=("delta.checkpointPolicy", "v2"),
        active=always, in_use=lambda facts: facts.checkpoint_is_v2,
    ),
    Feature(
        name="vacuumProtocolCheck",
        summary="Whoever removes unused files must be able to write the table.",
        scope=Scope.READ_WRITE, section=_protocol("#vacuum-protocol-check"), status=Status.ACCEPTED, support=_FULL,
        removal=Removable("nothing", _REMOVE_BOTH, history_protected=True),
        enabling=Enabling.DEPENDENCY | Enabling.MANUAL, active=always, in_use=leaves_no_trace,
    ),
    Feature(
        # The body of older editions of PROTOCOL.md spells it inCommitTimestamps.
        name="inCommitTimestamp", aliases=("inCommitTimestamps",),
        summary="Each commit states its own time, later than that of the commit before.",
        scope=Scope.WRITE, section=_protocol("#in-commit-timestamps"), status=Status.ACCEPTED, support=_FULL,
        removal=Removable(
            "in one commit set delta.enableInCommitTimestamps=false and unset delta.inCommitTimestampEnablementVersion "
            "and delta.inCommitTimestampEnablementTimestamp",
            _REMOVE_NAME,
        ),
        enabling=_ON_ITS_OWN | Enabling.DEPENDENCY, switch=_on("delta.enableInCommitTimestamps"),
        active=is_true("delta.enableInCommitTimestamps"), in_use=is_true("delta.enableInCommitTimestamps"),
    ),
    Feature(
        name="clustering",
        summary="Rows with similar values in the clustering columns are kept together.",
        scope=Scope.WRITE, section=_protocol("#clustered-table"), requires=("domainMetadata",),
        support=_FULL,
        removal=_stays("cluster_by() with no columns: the name stays, and files are laid out as they come"),
        enabling=_ON_ITS_OWN, enabled_by="CLUSTER BY",
        active=always, in_use=has_domain("delta.clustering"),
    ),
    Feature(
        name="icebergCompatV1",
        summary="The table stays convertible to Iceberg, without arrays, maps and deletion vectors.",
        scope=Scope.WRITE, section=_protocol("#iceberg-compatibility-v1"),
        requires=("columnMapping",), requires_active=("columnMapping",),
        excludes=("icebergCompatV2", "icebergCompatV3", "deletionVectors", "geospatial"),
        support=_FULL, removal=_stays_off("delta.enableIcebergCompatV1"),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableIcebergCompatV1"),
        active=is_true("delta.enableIcebergCompatV1"), in_use=leaves_no_trace,
    ),
    Feature(
        name="icebergCompatV2",
        summary="The table stays convertible to Iceberg, without deletion vectors.",
        scope=Scope.WRITE, section=_protocol("#iceberg-compatibility-v2"),
        requires=("columnMapping",), requires_active=("columnMapping",),
        excludes=("icebergCompatV1", "icebergCompatV3", "deletionVectors", "geospatial"),
        support=_FULL, removal=_stays_off("delta.enableIcebergCompatV2"),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableIcebergCompatV2"),
        active=is_true("delta.enableIcebergCompatV2"), in_use=leaves_no_trace,
    ),
)

_NEWER: tuple[Feature[Facts], ...] = (
    Feature(
        name="icebergCompatV3",
        summary="The table stays convertible to Iceberg version 3, with row ids and deletion vectors.",
        scope=Scope.WRITE, section=_rfc("iceberg-compat-v3"), status=Status.PROPOSED,
        requires=("columnMapping", "rowTracking"), requires_active=("columnMapping", "rowTracking"),
        excludes=("icebergCompatV1", "icebergCompatV2"),
        support=_READ, removal=Permanent("once enabled it cannot be disabled", _COPY),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableIcebergCompatV3"),
        active=is_true("delta.enableIcebergCompatV3"), in_use=leaves_no_trace,
    ),
    Feature(
        name="icebergWriterCompatV1",
        summary="Files are written as an Iceberg writer would, on top of icebergCompatV2.",
        scope=Scope.WRITE, section=_rfc("iceberg-writer-compat-v1"), status=Status.PROPOSED,
        requires=("icebergCompatV2",), requires_active=("icebergCompatV2",),
        excludes=(
            "invariants", "changeDataFeed", "checkConstraints", "identityColumns", "generatedColumns", "rowTracking",
            "allowColumnDefaults", "collations", "variantType",
        ),
        support=_READ, removal=_stays(_COPY), enabling=Enabling.NEW, switch=_on("delta.enableIcebergWriterCompatV1"),
        active=is_true("delta.enableIcebergWriterCompatV1"), in_use=leaves_no_trace,
    ),
    Feature(
        name="icebergWriterCompatV3",
        summary="Files are written as an Iceberg writer would, on top of icebergCompatV3.",
        scope=Scope.WRITE, section=Section("kernel/kernel-api/src/main/java/io/delta/kernel/internal/icebergcompat"),
        status=Status.IMPLEMENTATION, requires=("icebergCompatV3",), requires_active=("icebergCompatV3",),
        excludes=(
            "invariants", "changeDataFeed", "checkConstraints", "identityColumns", "generatedColumns", "collations",
        ),
        support=_READ, removal=_stays(_COPY), enabling=Enabling.NEW, switch=_on("delta.enableIcebergWriterCompatV3"),
        active=is_true("delta.enableIcebergWriterCompatV3"), in_use=leaves_no_trace,
    ),
    Feature(
        name="typeWidening", aliases=("typeWidening-preview",),
        summary="A column's type may become a wider one while older files keep the narrow type.",
        scope=Scope.READ_WRITE, section=_protocol("#type-widening"), status=Status.ACCEPTED, support=_FULL,
        removal=Removable(
            "unset delta.enableTypeWidening, rewrite the files whose types differ from the schema, remove "
            "delta.typeChanges from the schema",
            f"{_REMOVE_BOTH}; the preview name and the final one are dropped each on its own",
            traces="metaData whose schema has delta.typeChanges", history_protected=True,
        ),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableTypeWidening"),
        active=is_true("delta.enableTypeWidening"), in_use=any_field_has("delta.typeChanges"),
    ),
    Feature(
        name="variantType", aliases=("variantType-preview",),
        summary="Columns may hold semi-structured values.",
        scope=Scope.READ_WRITE, section=_protocol("#variant-data-type"), status=Status.ACCEPTED,
        support=_FULL, removal=_stays(f"drop the variant columns, or {_COPY}"),
        enabling=_ON_ITS_OWN, enabled_by="a variant column",
        active=always, in_use=any_column_is(VARIANT),
    ),
    Feature(
        name="variantShredding", aliases=("variantShredding-preview",),
        summary="Parts of variant values may be stored as typed columns.",
        scope=Scope.READ_WRITE, section=_protocol("#variant-shredding"), status=Status.ACCEPTED,
        requires=("variantType",), support=_FULL,
        removal=_stays("set delta.enableVariantShredding=false: new files are not shredded, and the name stays"),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableVariantShredding"),
        active=is_true("delta.enableVariantShredding"), in_use=_not_known,
    ),
    Feature(
        name="catalogManaged", aliases=("catalogOwned-preview",),
        summary="A catalog decides which commits belong to the table.",
        scope=Scope.READ_WRITE, section=_protocol("#catalog-managed-tables"), status=Status.ACCEPTED,
        requires=("inCommitTimestamp",), requires_active=("inCommitTimestamp",), support=_CATALOG,
        removal=Permanent("a table cannot be taken back from its catalog", _COPY),
        enabling=Enabling.CREATION, enabled_by="delta.feature.catalogManaged=supported, when the table is created",
        active=always, in_use=always,
    ),
    Feature(
        name="checkpointProtection",
        summary="Checkpoints below a version stay, because older clients could not rebuild them.",
        scope=Scope.WRITE, section=_rfc("checkpoint-protection"), status=Status.PROPOSED, support=_FULL,
        removal=Removable(
            "with TRUNCATE HISTORY only: make an empty commit and a checkpoint, clean the history below the protected "
            "version, unset delta.requireCheckpointProtectionBeforeVersion",
            f"{_REMOVE_NAME}, adding no new protection", only_truncating=True,
        ),
        enabling=Enabling.DROP, enabled_by="dropping a history protected feature",
        active=always, in_use=_protects_checkpoints,
    ),
    Feature(
        name="materializePartitionColumns",
        summary="Data files contain the partition columns too.",
        scope=Scope.WRITE, section=_rfc("materialize-partition-columns"), status=Status.PROPOSED, support=_FULL,
        removal=Removable("nothing", f"{_REMOVE_NAME}, unset delta.enableMaterializePartitionColumnsFeature"),
        enabling=_ON_ITS_OWN, switch=_on("delta.enableMaterializePartitionColumnsFeature"),
        active=always, in_use=leaves_no_trace,
    ),
    Feature(
        name="collations", aliases=("collations-preview",),
        summary="String columns may be compared by the rules of a language.",
        scope=Scope.WRITE, section=_rfc("collated-string-type"), status=Status.PROPOSED, requires=("domainMetadata",),
        support=_READ, removal=_stays(f"drop the collated columns, or {_COPY}"),
        enabling=_ON_ITS_OWN, enabled_by="column metadata __COLLATIONS",
        active=any_field_has("__COLLATIONS"), in_use=any_field_has("__COLLATIONS"),
    ),
    Feature(
        name="columnMappingUsageTracking",
        summary="The table remembers whether a column was ever renamed or dropped.",
        scope=Scope.WRITE, section=_rfc("column-mapping-usage-tracking"), status=Status.PROPOSED,
        requires=("columnMapping",), support=_READ, removal=_NOT_DESCRIBED,
        enabling=Enabling.MANUAL, enabled_by="delta.columnMapping.hasDroppedOrRenamed",
        active=always, in_use=is_set("delta.columnMapping.hasDroppedOrRenamed"),
    ),
    Feature(
        name="timestampNanos",
        summary="Columns may hold timestamps with nanoseconds.",
        scope=Scope.READ_WRITE, section=_rfc("nanosecond-timestamps"), status=Status.PROPOSED,
        requires=("timestampNtz",), support=_unread("Esker does not read Delta's nanosecond timestamps"),
        removal=_NOT_DESCRIBED,
        enabling=Enabling(0), enabled_by="a column of nanosecond timestamps",
        active=always, in_use=any_column_is(TIMESTAMP_NS, TIMESTAMP_NTZ_NS),
    ),
    Feature(
        name="geospatial", aliases=("geospatial-dev",),
        summary="Columns may hold geometries and geographies.",
        scope=Scope.READ_WRITE, section=_rfc("geospatial-types"), status=Status.IMPLEMENTATION,
        support=_unread("Esker does not read geometry and geography columns"),
        removal=Removable("drop the geometry and geography columns", _REMOVE_BOTH, history_protected=True),
        enabling=_ON_ITS_OWN, enabled_by="a geometry or geography column",
        active=always, in_use=_has_geo_columns,
    ),
    Feature(
        name="adaptiveMetadata", aliases=("adaptiveMetadata-preview",),
        summary="A tree of manifests takes the place of checkpoints.",
        scope=Scope.READ_WRITE, section=_rfc("iceberg-v4-metadata"), status=Status.PROPOSED,
        requires=("columnMapping", "rowTracking", "domainMetadata", "deletionVectors", "inCommitTimestamp"),
        excludes=("v2Checkpoint",), support=_unread("Esker does not read manifest trees"),
        removal=Removable("write a classic checkpoint of the state", _REMOVE_BOTH, history_protected=True),
        enabling=Enabling.MANUAL, active=always, in_use=_not_known,
    ),
)

_LEFT_BEHIND: tuple[Feature[Facts], ...] = (
    Feature(
        name="inCommitTimestamp-preview",
        summary="The trial form of inCommitTimestamp, with properties of its own.",
        scope=Scope.WRITE, section=_rfc("in-commit-timestamps"), status=Status.RETIRED,
        support=_READ, removal=_stays(_COPY),
        enabling=_ON_ITS_OWN, enabled_by="delta.enableInCommitTimestamps-preview=true",
        active=is_true("delta.enableInCommitTimestamps-preview"),
        in_use=is_true("delta.enableInCommitTimestamps-preview"),
    ),
    Feature(
        name="coordinatedCommits-preview", aliases=("managedCommit",),
        summary="A coordinator decided which commits belong to the table; catalogManaged took its place.",
        scope=Scope.WRITE, section=_rfc("managed-commits"), status=Status.RETIRED,
        requires=("inCommitTimestamp", "vacuumProtocolCheck"), support=_READ,
        removal=Removable("unset the three coordinator properties, backfill the unpublished commits", _REMOVE_NAME),
        enabling=_ON_ITS_OWN, enabled_by="delta.coordinatedCommits.commitCoordinator-preview",
        active=is_set("delta.coordinatedCommits.commitCoordinator-preview"),
        in_use=is_set("delta.coordinatedCommits.commitCoordinator-preview"),
    ),
    Feature(
        name="redirectReaderWriter-preview",
        summary="Reads and writes of the table go to another one.",
        scope=Scope.READ_WRITE, section=_SPARK, status=Status.IMPLEMENTATION,
        support=_unread("Esker does not follow redirections to another table"),
        removal=Removable("unset delta.redirectReaderWriter-preview", _REMOVE_BOTH),
        enabling=Enabling.EXISTING, enabled_by="delta.redirectReaderWriter-preview",
        active=is_set("delta.redirectReaderWriter-preview"), in_use=is_set("delta.redirectReaderWriter-preview"),
    ),
    Feature(
        name="redirectWriterOnly-preview",
        summary="Writes of the table go to another one.",
        scope=Scope.WRITE, section=_SPARK, status=Status.IMPLEMENTATION, support=_READ,
        removal=Removable("unset delta.redirectWriterOnly-preview", _REMOVE_NAME),
        enabling=Enabling.EXISTING, enabled_by="delta.redirectWriterOnly-preview",
        active=is_set("delta.redirectWriterOnly-preview"), in_use=is_set("delta.redirectWriterOnly-preview"),
    ),
)

FEATURES: Registry[Facts] = Registry((*_LEGACY, *_NAMED_IN_THE_SPEC, *_NEWER, *_LEFT_BEHIND))
"""Every feature that a Delta table can name, in the order of the catalogue."""

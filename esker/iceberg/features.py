"""What may an Iceberg table ask of its clients?  (spec, "Format Versioning", "Appendix E: Format version changes")

Iceberg has no list of features: a format version admits things, and a table may or may not hold them. Each thing that a client
can fail at is a record here, `implied_by` the version that admits it. What the version admits is *supported*; what the metadata
asks for is *active*; what lies in the table is *in use*. Only what is active or in use stands in a client's way and is gated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from esker.core import types as t
from esker.core.features import (
    Enabling,
    Feature,
    FeaturePresence,
    Operation,
    Permanent,
    Presence,
    Registry,
    Removable,
    Requirement,
    Scope,
    Section,
    Support,
    always,
)
from esker.core.types import Geography, Geometry, Type
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.schema import INITIAL_DEFAULT, WRITE_DEFAULT, all_fields
from esker.iceberg.transforms import Unknown, parse_transform


@dataclass(frozen=True, slots=True)
class Facts:
    """What the predicates look at. None: not known, because the manifests were not read."""

    metadata: TableMetadata
    has_position_deletes: bool | None = None
    has_equality_deletes: bool | None = None
    has_deletion_vectors: bool | None = None


def required(facts: Facts) -> tuple[Requirement, ...]:
    """All that the table's format version admits."""
    version = facts.metadata.format_version
    why = f"admitted by format version {version}"
    return tuple(
        Requirement(feature.name, feature.scope, why)
        for feature in FEATURES
        if feature.implied_by is not None and feature.implied_by[0] <= version
    )


def presences(facts: Facts) -> tuple[FeaturePresence[Facts], ...]:
    """Every feature, and how far it has come in the table."""
    return FEATURES.presences(required(facts), facts)


def gate(facts: Facts, operation: Operation, location: str) -> None:
    """Raise `Unsupported`, naming each thing in the table that Esker cannot read or write, if there is one."""
    FEATURES.gate(_met(facts), operation, location)


def _met(facts: Facts) -> Iterator[Requirement]:
    """What a client really meets in the table. Where it is not known, whoever reads the manifests meets it there."""
    for found in presences(facts):
        if found.presence >= Presence.ACTIVE:
            yield Requirement(found.name, found.scope, found.why)


WRITE_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
MERGE_ON_READ = "merge-on-read"
DELETES_BY = {"position_deletes": 2, "deletion_vectors": 3}
"""How writers mark dead rows, and the format version whose way of doing it that is."""


def _deletes_by(name: str) -> Callable[[Facts], bool]:
    """Whether writers are to mark dead rows, where this is the version's way of doing it."""

    def active(facts: Facts) -> bool:
        asked = (facts.metadata.properties.get(mode) == MERGE_ON_READ for mode in WRITE_MODES)
        return facts.metadata.format_version == DELETES_BY[name] and any(asked)

    return active


def _has_type(*kinds: Type | type[Type]) -> Callable[[Facts], bool]:
    """Whether one of these types occurs in the current schema, at any depth."""

    def found(facts: Facts) -> bool:
        types = [field.type for _, field in all_fields(facts.metadata.schema.struct)]
        return any(kind == one or (isinstance(one, type) and isinstance(kind, one)) for kind in types for one in kinds)

    return found


def _has_defaults(facts: Facts) -> bool:
    fields = (field for _, field in all_fields(facts.metadata.schema.struct))
    return any(f.metadata.get(key) is not None for f in fields for key in (INITIAL_DEFAULT, WRITE_DEFAULT))


def _has_transforms_of_many(facts: Facts) -> bool:
    specs = (field.source_ids for spec in facts.metadata.partition_specs for field in spec.fields)
    orders = (field.source_ids for order in facts.metadata.sort_orders for field in order.fields)
    return any(len(ids) > 1 for ids in (*specs, *orders))


def _has_unknown_transforms(facts: Facts) -> bool:
    fields = facts.metadata.spec.fields
    return any(isinstance(parse_transform(field.transform), Unknown) for field in fields)


def _has_refs(facts: Facts) -> bool:
    return any(name != "main" for name in facts.metadata.refs)


_FULL = Support(frozenset({Operation.READ, Operation.WRITE}))
_STAYS = Permanent("a format version is never lowered in place; write the rows to a table of the older version")
_COMPACTED = Removable(
    before="rewrite the data files that the deletes apply to", downgrade="a snapshot without delete files",
    traces="older snapshots keep them until they expire",
)  # fmt: skip
_COLUMN = Removable(
    before="drop the columns of this type", downgrade="the new schema", traces="older schemas and snapshots keep them"
)
_OF_VERSION = Enabling.MANUAL


def _spec(anchor: str) -> Section:
    return Section("spec.md", anchor)


FEATURES: Registry[Facts] = Registry((
    Feature(
        name="sequence_numbers",
        summary="Every commit gets a number, by which deletes know the rows they apply to.",
        scope=Scope.READ_WRITE, section=_spec("#sequence-numbers"), implied_by=(2,), support=_FULL, removal=_STAYS,
        enabling=_OF_VERSION, enabled_by="format-version 2", active=always, in_use=always,
    ),
    Feature(
        name="position_deletes", aliases=("position-deletes",),
        summary="Files that name dead rows by data file and position. Version 3 reads them and adds none.",
        scope=Scope.READ_WRITE, section=_spec("#position-delete-files"), implied_by=(2,), support=_FULL, removal=_COMPACTED,
        enabling=_OF_VERSION, enabled_by="a write mode of merge-on-read in version 2",
        active=_deletes_by("position_deletes"), in_use=lambda facts: facts.has_position_deletes,
    ),
    Feature(
        name="equality_deletes", aliases=("equality-deletes",),
        summary="Files that name dead rows by the values of columns.",
        scope=Scope.READ_WRITE, section=_spec("#equality-delete-files"), implied_by=(2,), support=_FULL, removal=_COMPACTED,
        enabling=_OF_VERSION, enabled_by="streaming writers",
        active=lambda facts: False, in_use=lambda facts: facts.has_equality_deletes,
    ),
    Feature(
        name="refs", aliases=("branches", "tags"),
        summary="Snapshots that have names: branches, which move, and tags, which stay.",
        scope=Scope.WRITE, section=_spec("#snapshot-references"), implied_by=(1,), support=_FULL,
        removal=Removable(before="drop branches and tags", downgrade="metadata without them"),
        enabling=_OF_VERSION, enabled_by="a branch or tag", active=_has_refs, in_use=_has_refs,
    ),
    Feature(
        name="statistics",
        summary="Puffin files with statistics of whole columns, such as the number of distinct values.",
        scope=Scope.WRITE, section=_spec("#table-statistics"), implied_by=(1,), support=_FULL,
        removal=Removable(before="nothing", downgrade="metadata without the entries"),
        enabling=_OF_VERSION, enabled_by="an entry in `statistics`",
        active=lambda facts: bool(facts.metadata.statistics), in_use=lambda facts: bool(facts.metadata.statistics),
    ),
    Feature(
        name="partition_statistics", aliases=("partition-statistics",),
        summary="Files with a row for each partition.",
        scope=Scope.WRITE, section=_spec("#partition-statistics"), implied_by=(1,), support=_FULL,
        removal=Removable(before="nothing", downgrade="metadata without the entries"),
        enabling=_OF_VERSION, enabled_by="an entry in `partition-statistics`",
        active=lambda facts: bool(facts.metadata.partition_statistics),
        in_use=lambda facts: bool(facts.metadata.partition_statistics),
    ),
    Feature(
        name="unknown_transforms",
        summary="Partition transforms that Esker does not know: harmless to readers, but a writer has to compute them.",
        scope=Scope.WRITE, section=_spec("#partition-transforms"), implied_by=(1,),
        support=Support(frozenset({Operation.READ}), "its partition transform is not known to this version of Esker"),
        removal=Removable(before="nothing", downgrade="a partition spec without the transform"),
        enabling=_OF_VERSION, enabled_by="the default partition spec",
        active=_has_unknown_transforms, in_use=_has_unknown_transforms,
    ),
    Feature(
        name="row_lineage", aliases=("row-lineage",),
        summary="Every row has an id that stays, and the number of the commit that last changed it.",
        scope=Scope.WRITE, section=_spec("#row-lineage"), implied_by=(3,), support=_FULL, removal=_STAYS,
        enabling=_OF_VERSION, enabled_by="format-version 3", active=always, in_use=always,
    ),
    Feature(
        name="deletion_vectors", aliases=("deletion-vectors",),
        summary="Bitmaps of dead rows, in Puffin files; at most one for a data file.",
        scope=Scope.READ_WRITE, section=_spec("#deletion-vectors"), implied_by=(3,), support=_FULL, removal=_COMPACTED,
        enabling=_OF_VERSION, enabled_by="a write mode of merge-on-read in version 3",
        active=_deletes_by("deletion_vectors"), in_use=lambda facts: facts.has_deletion_vectors,
    ),
    Feature(
        name="default_values", aliases=("default-values",),
        summary="Values of columns for rows that were written before the column was, and for writers that do not bring it.",
        scope=Scope.READ_WRITE, section=_spec("#default-values"), implied_by=(3,), support=_FULL, removal=_COLUMN,
        enabling=_OF_VERSION, enabled_by="initial-default or write-default of a column",
        active=_has_defaults, in_use=_has_defaults,
    ),
    Feature(
        name="type_unknown", aliases=("type-unknown",),
        summary="Columns of which nothing is known yet but that all values are null.",
        scope=Scope.READ_WRITE, section=_spec("#primitive-types"), implied_by=(3,), support=_FULL, removal=_COLUMN,
        enabling=_OF_VERSION, enabled_by="a column", active=_has_type(t.VOID), in_use=_has_type(t.VOID),
    ),
    Feature(
        name="type_timestamp_ns", aliases=("type-timestamp-ns",),
        summary="Timestamps to the nanosecond.",
        scope=Scope.READ_WRITE, section=_spec("#primitive-types"), implied_by=(3,), support=_FULL, removal=_COLUMN,
        enabling=_OF_VERSION, enabled_by="a column",
        active=_has_type(t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS), in_use=_has_type(t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS),
    ),
    Feature(
        name="type_variant", aliases=("type-variant",),
        summary="Values of any shape.",
        scope=Scope.READ_WRITE, section=_spec("#semi-structured-types"), implied_by=(3,), support=_FULL, removal=_COLUMN,
        enabling=_OF_VERSION, enabled_by="a column", active=_has_type(t.VARIANT), in_use=_has_type(t.VARIANT),
    ),
    Feature(
        name="type_geometry", aliases=("type-geo",),
        summary="Shapes on a plane.",
        scope=Scope.READ_WRITE, section=_spec("#primitive-types"), implied_by=(3,), removal=_COLUMN,
        support=Support(frozenset({Operation.READ}), "Esker reads shapes as their bytes and does not write them"),
        enabling=_OF_VERSION, enabled_by="a column", active=_has_type(Geometry), in_use=_has_type(Geometry),
    ),
    Feature(
        name="type_geography",
        summary="Shapes on a globe.",
        scope=Scope.READ_WRITE, section=_spec("#primitive-types"), implied_by=(3,), removal=_COLUMN,
        support=Support(frozenset({Operation.READ}), "Esker reads shapes as their bytes and does not write them"),
        enabling=_OF_VERSION, enabled_by="a column", active=_has_type(Geography), in_use=_has_type(Geography),
    ),
    Feature(
        name="multi_arg_transforms", aliases=("multi-arg-transforms",),
        summary="Partition and sort fields that are made of several columns.",
        scope=Scope.READ_WRITE, section=_spec("#partitioning"), implied_by=(3,),
        support=Support(frozenset({Operation.READ}), "no transform of several columns is known to this version of Esker"),
        removal=Removable(before="nothing", downgrade="a partition spec and sort order without the transform"),
        enabling=_OF_VERSION, enabled_by="source-ids of a partition or sort field",
        active=_has_transforms_of_many, in_use=_has_transforms_of_many,
    ),
    Feature(
        name="encryption_keys", aliases=("encryption-keys",),
        summary="Keys that metadata and data files are encrypted with.",
        scope=Scope.READ_WRITE, section=_spec("#encryption-keys"), implied_by=(3,),
        support=Support(frozenset(), "Esker does not decrypt tables"),
        removal=Removable(before="rewrite all files without encryption", downgrade="metadata without keys"),
        enabling=_OF_VERSION, enabled_by="an entry in `encryption-keys`",
        active=lambda facts: bool(facts.metadata.encryption_keys), in_use=lambda facts: bool(facts.metadata.encryption_keys),
    ),
))  # fmt: skip

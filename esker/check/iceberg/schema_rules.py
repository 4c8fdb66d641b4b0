"""Do schemas, partition specs and sort orders say what they may?  (spec, "Schemas and Data Types", "Partitioning", "Sorting")"""

from collections.abc import Iterator, Mapping

from esker.check.iceberg.evidence import Evidence
from esker.check.iceberg.sections import spec
from esker.check.model import Rule, Severity, Sighting
from esker.core import types as t
from esker.core.types import Array, Decimal, Field, Map, Primitive, Struct, Type
from esker.errors import EskerError, InvalidTable
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.schema import (
    INITIAL_DEFAULT,
    LAST_COLUMN_ID,
    PRIMITIVES,
    WRITE_DEFAULT,
    Schema,
    all_fields,
    minimum_version,
    parse_schema,
)
from esker.iceberg.single_values import parse_json_value
from esker.iceberg.transforms import Identity, Unknown, Void, misfit, parse_transform

_KNOWN = frozenset(PRIMITIVES.values())


def _schemas(evidence: Evidence) -> Iterator[Schema]:
    """The schemas that can be parsed, each for itself."""
    for node in evidence.objects("schemas"):
        try:
            yield parse_schema(dict(node), "schemas")
        except EskerError:
            continue  # schema.sense tells of it


def _sense(evidence: Evidence) -> Iterator[Sighting]:
    for node in evidence.objects("schemas"):
        try:
            parse_schema(dict(node), "schemas")
        except InvalidTable as error:
            yield Sighting(f"schema {node.get('schema-id')}", error.what)


def _fields(evidence: Evidence) -> Iterator[tuple[str, Field]]:
    for schema in _schemas(evidence):
        for path, field in all_fields(schema.struct):
            yield f"schema {schema.schema_id}, {'.'.join(path)}", field


def _unique_ids(evidence: Evidence) -> Iterator[Sighting]:
    for schema in _schemas(evidence):
        seen: dict[int, str] = {}
        for path, field in all_fields(schema.struct):
            here = ".".join(path)
            if field.id is not None and (other := seen.setdefault(field.id, here)) != here:
                yield Sighting(f"schema {schema.schema_id}", f"{other} and {here} have the id {field.id}")


def _reserved_ids(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        if field.id is not None and field.id > LAST_COLUMN_ID:
            yield Sighting(where, f"the id {field.id} is reserved for metadata columns")


def _names(evidence: Evidence) -> Iterator[Sighting]:
    for schema in _schemas(evidence):
        for where, struct in _structs(schema.struct, ()):
            for name in sorted({name for name in struct.names if struct.names.count(name) > 1}):
                yield Sighting(f"schema {schema.schema_id}{where}", f"two columns are called {name}")


def _structs(kind: Type, above: tuple[str, ...]) -> Iterator[tuple[str, Struct]]:
    match kind:
        case Struct():
            yield "".join(f", {name}" for name in above), kind
            for field in kind:
                yield from _structs(field.type, (*above, field.name))
        case Array():
            yield from _structs(kind.element, above)
        case Map():
            yield from _structs(kind.key, above)
            yield from _structs(kind.value, above)


def _types(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        match field.type:
            case Primitive() as kind if kind not in _KNOWN:
                yield Sighting(where, f"the specification has no type {kind}")
            case Decimal() as kind if not (1 <= kind.precision <= 38 and 0 <= kind.scale <= kind.precision):
                yield Sighting(where, f"the type {kind} is impossible: a precision is 38 or less")


def _type_versions(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        if not isinstance(field.type, Struct | Array | Map) and minimum_version(field.type) > evidence.version > 0:
            yield Sighting(where, f"the type {field.type} is none of version {evidence.version}")


def _default_versions(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        if 0 < evidence.version < 3 and field.metadata.get(INITIAL_DEFAULT) is not None:
            yield Sighting(where, f"a default of {field.metadata[INITIAL_DEFAULT]!r:.40} needs version 3")


def _defaults(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        for key in (INITIAL_DEFAULT, WRITE_DEFAULT):
            told = field.metadata.get(key)
            if told is None:
                continue
            if field.type in (t.VOID, t.VARIANT):
                yield Sighting(where, f"{key} of a column of the type {field.type} must be null")
                continue
            try:
                parse_json_value(told, field.type)
            except InvalidTable as error:
                yield Sighting(where, f"{key}: {error.what}")


def _optional_unknown(evidence: Evidence) -> Iterator[Sighting]:
    for where, field in _fields(evidence):
        if field.type == t.VOID and not field.nullable:
            yield Sighting(where, "a column of the type unknown is required, and must be optional")


def _same_id_same_column(evidence: Evidence) -> Iterator[Sighting]:
    """An id stays with its column: from schema to schema its type is promoted and nothing else."""
    last: dict[int, tuple[int, Type]] = {}
    for schema in sorted(_schemas(evidence), key=lambda s: s.schema_id):
        for number, (path, field) in schema.by_id().items():
            before, kind = last.get(number, (schema.schema_id, field.type))
            # a schema with an older type may have been made current again
            if not _is_promotion(kind, field.type) and not _is_promotion(field.type, kind):
                where = f"schema {schema.schema_id}, {'.'.join(path)}"
                yield Sighting(where, f"the id {number} had the type {kind} in schema {before}, and now has {field.type}")
            last[number] = (schema.schema_id, field.type)


def _is_promotion(old: Type, new: Type) -> bool:
    match old, new:
        case (Struct(), Struct()) | (Array(), Array()) | (Map(), Map()):
            return True
        case Decimal(), Decimal():
            return old.scale == new.scale and old.precision <= new.precision
        case _:
            return old == new or old == t.VOID or new in _PROMOTIONS.get(old, ())


_PROMOTIONS: Mapping[Type, tuple[Type, ...]] = {
    t.INTEGER: (t.LONG,), t.FLOAT: (t.DOUBLE,), t.DATE: (t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ_NS),
}  # fmt: skip


def _identifiers(evidence: Evidence) -> Iterator[Sighting]:
    """ "Float, double, and optional fields cannot be used as identifier fields", nor what lies in maps, lists or optional structs."""
    for schema in _schemas(evidence):
        allowed = dict(_identifying(schema.struct))
        for wanted in schema.identifier_field_ids:
            if wanted not in allowed:
                yield Sighting(f"schema {schema.schema_id}", f"the column {wanted} cannot identify rows")


def _identifying(struct: Struct) -> Iterator[tuple[int, str]]:
    for field in struct:
        if field.nullable or field.type in (t.FLOAT, t.DOUBLE) or field.id is None:
            continue
        match field.type:
            case Struct():
                yield from _identifying(field.type)
            case Array() | Map():
                continue
            case _:
                yield field.id, field.name


def _specs(metadata: TableMetadata) -> Iterator[tuple[PartitionSpec, PartitionField]]:
    return ((one, field) for one in metadata.partition_specs for field in one.fields)


def _spec_transforms(evidence: Evidence) -> Iterator[Sighting]:
    for one, field in _specs(evidence.metadata) if evidence.metadata else ():
        if isinstance(parse_transform(field.transform), Unknown):
            yield Sighting(f"partition spec {one.spec_id}, {field.name}", f"the transform {field.transform} is not known")


def _spec_sources(evidence: Evidence) -> Iterator[Sighting]:
    """The default spec goes by columns that are there, in types that its transforms take."""
    metadata = evidence.metadata
    if metadata is None:
        return
    columns = metadata.schema.by_id()
    for field in metadata.spec.fields:
        where, transform = f"partition spec {metadata.default_spec_id}, {field.name}", parse_transform(field.transform)
        for source in field.source_ids if not isinstance(transform, Void | Unknown) else ():
            if source not in columns:
                yield Sighting(where, f"it goes by the column {source}, which the schema does not have")
            elif problem := misfit(transform, columns[source][1].type):
                yield Sighting(where, problem)


def _spec_field_ids(evidence: Evidence) -> Iterator[Sighting]:
    """ "Partition field ids must be reused if an existing partition spec contains an equivalent field", and mean one thing."""
    seen: dict[int, tuple[tuple[int, ...], str]] = {}
    for one, field in _specs(evidence.metadata) if evidence.metadata and evidence.version > 1 else ():
        told = (field.source_ids, field.transform)
        if seen.setdefault(field.field_id, told) != told and field.transform != "void":
            yield Sighting(f"partition spec {one.spec_id}, {field.name}", f"the id {field.field_id} means another field elsewhere")


def _spec_names(evidence: Evidence) -> Iterator[Sighting]:
    metadata = evidence.metadata
    for one in metadata.partition_specs if metadata else ():
        names = [field.name for field in one.fields]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Sighting(f"partition spec {one.spec_id}", f"two fields are called {name}")
    for field in metadata.spec.fields if metadata else ():
        column = metadata.schema.struct.find(field.name) if metadata else None
        is_own = isinstance(parse_transform(field.transform), Identity | Void) and column is not None and column.id in field.source_ids
        if column is not None and column.name == field.name and not is_own:
            yield Sighting(f"partition field {field.name}", "a column that it is not the value of has its name")


def _orders(evidence: Evidence) -> Iterator[Sighting]:
    """The default order goes by columns that are there, in types that its transforms take."""
    metadata = evidence.metadata
    columns = metadata.schema.by_id() if metadata else {}
    for field in metadata.sort_order.fields if metadata else ():
        transform = parse_transform(field.transform)
        for source in field.source_ids if not isinstance(transform, Void | Unknown) else ():
            if source not in columns:
                yield Sighting("default sort order", f"it goes by the column {source}, which the schema does not have")
            elif problem := misfit(transform, columns[source][1].type):
                yield Sighting("default sort order", problem)


_EVOLUTION = spec("#schema-evolution")
_TYPES = spec("#primitive-types")
_PARTITIONS = spec("#partitioning")
_AGAIN = "Add a schema in which it holds, and make it the current one."
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

RULES: tuple[Rule[Evidence], ...] = (
    Rule("schema.sense", _ERROR, spec("#schemas"), "Each schema can be parsed as the specification says.", _AGAIN, _sense),
    Rule("schema.unique-ids", _ERROR, spec("#schemas-and-data-types"), "No two fields of a schema have one id.", _AGAIN, _unique_ids),
    Rule("schema.reserved-ids", _ERROR, spec("#reserved-field-ids"), "Columns leave the reserved ids alone.", _AGAIN, _reserved_ids),
    Rule("schema.names", _ERROR, spec("#nested-types"), "No two fields of a struct have one name.", _AGAIN, _names),
    Rule("schema.types", _ERROR, _TYPES, "Types are those of the specification.", _AGAIN, _types),
    Rule("schema.type-versions", _ERROR, _TYPES, "Types are those of the table's version.", "Upgrade the table, or drop the column.", _type_versions),
    Rule("schema.default-versions", _ERROR, spec("#default-values"), "Before version 3 no column has a default.", "Upgrade the table, or drop the column.", _default_versions),
    Rule("schema.defaults", _ERROR, spec("#default-values"), "Defaults are values of their column's type.", _AGAIN, _defaults),
    Rule("schema.unknown-optional", _ERROR, _TYPES, "Columns of the type unknown are optional.", _AGAIN, _optional_unknown),
    Rule("schema.promotions", _ERROR, _EVOLUTION, "A column's type is only ever promoted.", "Restore the schema before, and add a new column.", _same_id_same_column),
    Rule("schema.identifiers", _ERROR, spec("#identifier-field-ids"), "Identifier fields cannot be null, nor floating-point numbers.", _AGAIN, _identifiers),
    Rule("spec.transforms", _WARNING, spec("#partition-transforms"), "Transforms are those of the specification.", "Evolve the partition spec; until then, readers skip less and Esker does not write.", _spec_transforms),
    Rule("spec.sources", _ERROR, _PARTITIONS, "The default spec goes by columns that are there and fit.", "Evolve the partition spec.", _spec_sources),
    Rule("spec.field-ids", _ERROR, spec("#partition-evolution"), "A partition field's id means one thing.", "Evolve the partition spec.", _spec_field_ids),
    Rule("spec.names", _ERROR, _PARTITIONS, "Partition fields have names of their own.", "Rename the partition field.", _spec_names),
    Rule("order.sources", _ERROR, spec("#sorting"), "The default order goes by columns that are there and fit.", "Replace the sort order.", _orders),
)  # fmt: skip

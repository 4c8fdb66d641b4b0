"""Does the metadata say what a table may say?  (PROTOCOL.md, "Change Metadata" and the requirements of each feature)

Most of these rules are those that Esker asks before it commits metadata itself.
"""

from collections.abc import Callable, Iterator, Mapping

import orjson

from esker.check.delta.evidence import Evidence, Look
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core.column_paths import spelled
from esker.core.features import Section
from esker.core.nesting import walk
from esker.core.types import Field
from esker.delta import contradictions
from esker.delta.clustering import clustering_columns
from esker.delta.column_metadata import invariant, numbering
from esker.delta.constraints import PREFIX as CONSTRAINT_PREFIX
from esker.delta.intended import Intended
from esker.delta.properties import PROPERTIES
from esker.delta.property_changes import PREFIX
from esker.delta.schema import parse_schema
from esker.errors import EskerError, InvalidTable

_KNOWN = {name.lower(): known for known in PROPERTIES for name in (known.name, *known.aliases)}
_MAY_HARM = frozenset({"retention", "symlink-manifests", "features", "columns", "statistics"})
"""Rules that writers in the field pass over, and readers can live with."""


def _schemas(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("metaData"):
        text = action.body.get("schemaString")
        if not isinstance(text, str):
            yield Sighting(action.where, "metaData has no schemaString")
            continue
        try:
            parse_schema(text, evidence.place.url)
        except InvalidTable as error:
            yield Sighting(action.where, error.what)


def _ids(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("metaData"):
        if not isinstance(action.body.get("id"), str) or not action.body["id"]:
            yield Sighting(action.where, "metaData has no id")


def _providers(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("metaData"):
        told = action.body.get("format")
        if not isinstance(told, dict) or told.get("provider") != "parquet":
            yield Sighting(action.where, f"the format is {told!r}, not parquet")


def _partition_columns(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("metaData"):
        told = action.body.get("partitionColumns")
        if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
            yield Sighting(action.where, "metaData.partitionColumns is no list of names")


def _configurations(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("metaData"):
        told = action.body.get("configuration")
        if not isinstance(told, dict) or not all(isinstance(text, str) for text in told.values()):
            yield Sighting(action.where, "metaData.configuration is no map of texts")


def _field_members(evidence: Evidence) -> Iterator[Sighting]:
    """What the fields of schemas lack, at any depth."""
    for action in evidence.actions("metaData"):
        try:
            schema = orjson.loads(str(action.body.get("schemaString")))
        except orjson.JSONDecodeError:
            continue  # metadata.schema tells of it
        for field in _fields_of(schema):
            if missing := [name for name in ("name", "type", "nullable", "metadata") if field.get(name) is None]:
                yield Sighting(action.where, f"the field {field.get('name')} has no {' and no '.join(missing)}")
            yield from (Sighting(action.where, f"in the field {field.get('name')} {what}") for what in _undecided(field.get("type")))


def _undecided(node: object) -> Iterator[str]:
    """Arrays and maps of a field that do not say whether they hold nulls; what is in a struct is of its own fields."""
    match node:
        case {"type": "array", **rest}:
            if not isinstance(rest.get("containsNull"), bool):
                yield "an array has no containsNull"
            yield from _undecided(rest.get("elementType"))
        case {"type": "map", **rest}:
            if not isinstance(rest.get("valueContainsNull"), bool):
                yield "a map has no valueContainsNull"
            for member in ("keyType", "valueType"):
                yield from _undecided(rest.get(member))


def _fields_of(node: object) -> Iterator[dict[str, object]]:
    match node:
        case {"type": "struct", "fields": list(fields)}:
            for field in fields:
                if isinstance(field, dict):
                    yield field
                    yield from _fields_of(field.get("type"))
        case {"type": "array", "elementType": element}:
            yield from _fields_of(element)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _fields_of(key)
            yield from _fields_of(value)


def _unknown_properties(evidence: Evidence) -> Iterator[Sighting]:
    for name in sorted(evidence.configuration):
        key = name.lower()
        if key.startswith(PREFIX) and not key.startswith((CONSTRAINT_PREFIX, "delta.feature.")) and key not in _KNOWN:
            yield Sighting("properties", f"{name} is no property that Esker knows")


def _malformed_properties(evidence: Evidence) -> Iterator[Sighting]:
    for name, text in sorted(evidence.configuration.items()):
        known = _KNOWN.get(name.lower())
        try:
            if known is not None:
                known.parse(text)
        except ValueError as error:
            yield Sighting("properties", f"{name} is {text!r}: {error}")


def _column_metadata(read: Callable[[Field], object]) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        for path, field in () if evidence.snapshot is None else walk(evidence.snapshot.schema):
            try:
                read(field)
            except InvalidTable as error:
                yield Sighting(spelled(path), error.what)

    return look


def _contradiction(name: str) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        snapshot = evidence.snapshot
        if snapshot is None:
            return
        try:
            clustering = clustering_columns(snapshot)
        except EskerError:
            clustering = ()  # metadata.clustering-domain tells of it
        intended = Intended(snapshot.metadata, snapshot.protocol, frozenset(snapshot.domains), clustering)
        _, rule = contradictions.RULES[name]
        yield from (Sighting("metadata", problem) for problem in dict.fromkeys(rule(intended)))

    return look


def _clustering_domain(evidence: Evidence) -> Iterator[Sighting]:
    try:
        if evidence.snapshot is not None:
            clustering_columns(evidence.snapshot)
    except InvalidTable as error:
        yield Sighting("delta.clustering", error.what)


def _section(text: str) -> Section:
    document, mark, anchor = text.partition("#")
    return Section(document, mark + anchor)


_SAYS: Mapping[str, str] = {
    "features": "The protocol has what the metadata needs, and features go together.",
    "columns": "Columns have names and types that Delta knows.",
    "mapping": "Every column has an id and a physical name of its own.",
    "partitions": "Partition columns are simple columns of the table.",
    "clustering": "Clustering columns have statistics, and the table no partitions.",
    "generated-columns": "Generated columns use columns that are there.",
    "defaults": "A default is a column's only source of values.",
    "identity-columns": "Identity columns are bigint columns of the table.",
    "constraints": "Constraints use columns that are there.",
    "statistics": "The columns that are listed for statistics are there, and can have bounds.",
    "row-tracking": "Row tracking has names for its materialised columns.",
    "in-commit-timestamps": "Enablement version and timestamp come together.",
    "change-data-feed": "No column has a name of the change data feed.",
    "iceberg-compat-v1": "What icebergCompatV1 forbids is not there.",
    "iceberg-compat-v2": "What icebergCompatV2 forbids is not there.",
    "iceberg-compat-v3": "What icebergCompatV3 forbids is not there.",
    "uniform": "What UniForm needs is there.",
    "symlink-manifests": "Symlink manifests go without deletion vectors.",
    "retention": "The log is kept as long as deleted files are.",
}
_CHANGE = "Change the metadata so that it holds: columns, properties or features."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("metadata.schema", Severity.WARNING, protocol("#schema-serialization-format"), "schemaString is a schema.", "Restore the version before.", _schemas),
    Rule("metadata.id", Severity.WARNING, protocol("#change-metadata"), "A table has an id.", "Commit metadata with an id.", _ids),
    Rule("metadata.format", Severity.ERROR, protocol("#format-specification"), "Data files are Parquet.", "Commit metadata with the provider parquet.", _providers),
    Rule("metadata.partition-columns", Severity.WARNING, protocol("#change-metadata"), "partitionColumns is a list of names.", "Commit metadata with the partition columns.", _partition_columns),
    Rule("metadata.configuration", Severity.WARNING, protocol("#change-metadata"), "A table has properties, be they none.", "Commit metadata with its properties.", _configurations),
    Rule("metadata.field-members", Severity.WARNING, protocol("#struct-field"), "A field of a schema has a name, a type, nullable and metadata, and arrays and maps say whether they hold nulls.", "Commit metadata with a whole schema.", _field_members),
    Rule("metadata.unknown-property", Severity.NOTICE, protocol("#change-metadata"), "Properties that begin with delta. are known ones.", "See whether it is a slip of the pen.", _unknown_properties),
    Rule("metadata.property", Severity.WARNING, protocol("#change-metadata"), "Properties have values of their types.", "Set the property to a value that it can have.", _malformed_properties),
    Rule("metadata.invariant", Severity.ERROR, protocol("#column-invariants"), "delta.invariants holds an expression.", _CHANGE, _column_metadata(invariant)),
    Rule("metadata.identity", Severity.ERROR, protocol("#identity-columns"), "Identity columns have a start and a step other than 0.", _CHANGE, _column_metadata(numbering)),
    Rule("metadata.clustering-domain", Severity.ERROR, protocol("#clustered-table"), "The clustering domain names columns that are there.", _CHANGE, _clustering_domain),
    *(
        Rule(f"metadata.{name}", Severity.WARNING if name in _MAY_HARM else Severity.ERROR, _section(section), _SAYS[name], _CHANGE, _contradiction(name))
        for name, (section, _) in contradictions.RULES.items()
    ),
)  # fmt: skip

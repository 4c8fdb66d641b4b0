"""Which rules of the specification would a table's metadata break?  (PROTOCOL.md, the writer requirements of each feature)

Pure: for whoever is about to commit metadata or a protocol. Each rule is a function of what is intended, and all stand in one
table under the section that states them.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.nesting import types
from esker.core.predicate import Path
from esker.core.types import Array, Decimal, Fixed, Map, Primitive, Struct, Type, leaves
from esker.delta import column_mapping, column_mapping_ids, column_names, iceberg_rules, properties, value_rules
from esker.delta.column_mapping import physical_name
from esker.delta.column_metadata import numbering
from esker.delta.features import FEATURES, Facts
from esker.delta.intended import Intended
from esker.delta.properties import value
from esker.delta.protocol import is_supported, presences
from esker.delta.required_features import required
from esker.delta.schema import PRIMITIVES

Rule = Callable[[Intended], Iterator[str]]


def contradictions(intended: Intended) -> tuple[str, ...]:
    """Every rule that the metadata breaks, with its section. Raises `InvalidTable` where a property makes no sense."""
    found = (f"{problem} ({section})" for section, rule in RULES.values() for problem in rule(intended))
    return tuple(dict.fromkeys(found))


def _features(intended: Intended) -> Iterator[str]:
    needed = required(intended.schema, intended.configuration, intended.domains)
    wanted = needed if intended.clustering is None else needed | {"clustering"}
    for name in sorted(wanted):
        if not is_supported(intended.protocol, name):
            yield f"the metadata needs {name}, which the protocol does not have"
    facts = Facts(intended.configuration, intended.schema, intended.domains)
    yield from FEATURES.contradictions(presences(intended.protocol, facts))


def _columns(intended: Intended) -> Iterator[str]:
    yield from column_names.problems(intended.schema, intended.mode)
    for path, kind in types(intended.schema):
        if not _is_sayable(kind):
            yield f"the column {spelled(path)} is of type {kind}, which Delta does not have"


def _is_sayable(kind: Type) -> bool:
    match kind:
        case Primitive(name):
            return name in PRIMITIVES
        case Decimal(precision, scale):
            return 1 <= precision <= 38 and 0 <= scale <= precision
    return not isinstance(kind, Fixed)


def _mapping(intended: Intended) -> Iterator[str]:
    yield from column_mapping.problems(intended.schema, intended.mode)
    highest = properties.max_column_id(intended.configuration)
    yield from column_mapping_ids.problems(intended.schema, intended.mode, highest)


def _partitions(intended: Intended) -> Iterator[str]:
    columns = intended.metadata.partition_columns
    if columns and len(columns) >= len(intended.schema):
        yield "all columns are partition columns"
    if len({name.lower() for name in columns}) < len(columns):
        yield "a partition column is named twice"
    for name in columns:
        field = intended.schema.find(name)
        if field is None:
            yield f"the partition column {name} is not in the schema"
        elif isinstance(field.type, Struct | Array | Map) or field.type in (t.VARIANT, t.VOID):
            yield f"the partition column {name} is of type {field.type}"
        elif numbering(field) is not None:
            yield f"the partition column {name} is an identity column"


def _clustering(intended: Intended) -> Iterator[str]:
    # "Writers must not define clustered and partitioned table at the same time."  Clustered Table
    if intended.clustering is not None and intended.metadata.partition_columns:
        yield "the table would be both clustered and partitioned"
    ordered = dict(leaves(intended.schema))
    for path in intended.clustering or ():
        field = ordered.get(path)
        if field is None:
            yield f"the clustering column {spelled(path)} is no simple column of the table"
        elif not isinstance(field.type, Decimal) and field.type not in _ORDERED:
            # "Writers must write out [...] per-column statistics for clustering columns"
            yield f"the clustering column {spelled(path)} is of type {field.type}, which has no statistics"


_ORDERED = (*t.INTEGRAL, *t.FRACTIONAL, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)


def _statistics(intended: Intended) -> Iterator[str]:
    """What the list of columns with statistics names in vain. Spark's writer refuses each change of a table with such a name."""
    listed = value(properties.STATS_COLUMNS, intended.configuration) or ()
    partitions = {name.lower() for name in intended.metadata.partition_columns}
    seen: set[Path] = set()
    for path in listed:
        field, folded = intended.schema.at(path), tuple(name.lower() for name in path)
        what = f"{properties.STATS_COLUMNS.name} names {spelled(path)}"
        if field is None:
            yield f"{what}, which is no column of the table"
        elif folded[0] in partitions:
            yield f"{what}, which is a partition column"
        elif not isinstance(field.type, Struct | Decimal) and field.type not in _ORDERED:
            yield f"{what}, which is of type {field.type} and has no bounds"
        if folded in seen:
            yield f"{what} twice"
        seen.add(folded)


def _row_tracking(intended: Intended) -> Iterator[str]:
    if not properties.row_tracking_enabled(intended.configuration):
        return
    if properties.row_tracking_suspended(intended.configuration):
        yield "row tracking is both enabled and suspended"
    taken = {name.lower() for f in intended.schema for name in (f.name, physical_name(f, intended.mode))}
    for wanted in (properties.ROW_ID_COLUMN, properties.ROW_COMMIT_VERSION_COLUMN):
        name = value(wanted, intended.configuration)
        if name is None:
            yield f"row tracking is enabled without {wanted.name}"
        elif name.lower() in taken:
            # "The assigned column names must be unique. They must not be equal to the name of any other column"
            yield f"{wanted.name} is {name}, which is the name of another column"
        else:
            taken.add(name.lower())


def _timestamps(intended: Intended) -> Iterator[str]:
    since = (properties.TIMESTAMPS_SINCE_VERSION, properties.TIMESTAMPS_SINCE)
    if len({value(wanted, intended.configuration) is None for wanted in since}) > 1:
        yield f"of {since[0].name} and {since[1].name} only one is set"


def _change_data_feed(intended: Intended) -> Iterator[str]:
    if properties.change_data_feed_enabled(intended.configuration):
        for name in ("_change_type", "_commit_version", "_commit_timestamp"):
            if intended.schema.find(name) is not None:
                yield f"the change data feed has a column {name} of its own, and so has the table"


def _manifests(intended: Intended) -> Iterator[str]:
    if intended.is_active(properties.DELETION_VECTORS) and value(properties.SYMLINK_MANIFESTS, intended.configuration):
        yield "symlink manifests cannot say which rows a deletion vector removes"


def _retention(intended: Intended) -> Iterator[str]:
    kept: timedelta = properties.log_retention(intended.configuration)
    if kept < properties.deleted_file_retention(intended.configuration):
        yield f"{properties.LOG_RETENTION.name} is shorter than {properties.DELETED_FILE_RETENTION.name}"


RULES: Mapping[str, tuple[str, Rule]] = {
    "features": ("PROTOCOL.md#table-features", _features),
    "columns": ("PROTOCOL.md#schema-serialization-format", _columns),
    "mapping": ("PROTOCOL.md#writer-requirements-for-column-mapping", _mapping),
    "partitions": ("PROTOCOL.md#change-metadata", _partitions),
    "clustering": ("PROTOCOL.md#writer-requirements-for-clustered-table", _clustering),
    "generated-columns": ("PROTOCOL.md#generated-columns", value_rules.generated_problems),
    "defaults": ("PROTOCOL.md#default-columns", value_rules.default_problems),
    "identity-columns": ("PROTOCOL.md#identity-columns", value_rules.identity_problems),
    "constraints": ("PROTOCOL.md#check-constraints", value_rules.constraint_problems),
    "statistics": ("PROTOCOL.md#per-file-statistics", _statistics),
    "row-tracking": ("PROTOCOL.md#writer-requirements-for-row-tracking", _row_tracking),
    "in-commit-timestamps": ("PROTOCOL.md#writer-requirements-for-in-commit-timestamps", _timestamps),
    "change-data-feed": ("PROTOCOL.md#add-cdc-file", _change_data_feed),
    "iceberg-compat-v1": ("PROTOCOL.md#writer-requirements-for-icebergcompatv1", iceberg_rules.v1_problems),
    "iceberg-compat-v2": ("PROTOCOL.md#writer-requirements-for-icebergcompatv2", iceberg_rules.v2_problems),
    "iceberg-compat-v3": ("protocol_rfcs/iceberg-compat-v3.md", iceberg_rules.v3_problems),
    "uniform": ("UniForm", iceberg_rules.uniform_problems),
    "symlink-manifests": ("PROTOCOL.md#deletion-vectors", _manifests),
    "retention": ("PROTOCOL.md#metadata-cleanup", _retention),
}
"""Each rule under a name, with the section that states it."""

"""May a feature be taken out of a table, and what is left then?  (PROTOCOL.md, "Supported Features"; the removal of each feature)

Pure, and a table of recipes: what has to be turned off, what is stripped from the metadata once the rows are ready, and which
properties go together with the name. How rows become ready is not told here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from esker.core.column_paths import spelled
from esker.core.features import Feature, Permanent, Removable
from esker.core.nesting import each, types
from esker.core.types import Primitive
from esker.delta import column_names, properties, row_tracking
from esker.delta.actions import Metadata, with_schema
from esker.delta.column_mapping import Mode
from esker.delta.column_mapping_ids import without_mapping
from esker.delta.column_metadata import with_metadata
from esker.delta.constraints import constraints
from esker.delta.features import FEATURES, Facts
from esker.delta.protocol import Protocol, supported
from esker.delta.type_widening import TYPE_CHANGES
from esker.errors import InvalidRequest, Unsupported


def _same(metadata: Metadata) -> Metadata:
    return metadata


def _nothing(metadata: Metadata) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a feature leaves the metadata.

    `stops` tells what must be done first, by others. `off` keeps writers from using the feature; `clean` is what the metadata
    becomes once no row needs it. `properties` and `domain` go together with the name.
    """

    stops: Callable[[Metadata], Iterator[str]] = _nothing
    off: Callable[[Metadata], Metadata] = _same
    clean: Callable[[Metadata], Metadata] = _same
    properties: tuple[str, ...] = ()
    domain: str | None = None


def droppable(protocol: Protocol, metadata: Metadata, names: Iterable[str], truncates_history: bool) -> tuple[str, ...]:
    """The names as the table spells them, each once. Raises, with every reason, where they cannot be dropped.

    Features that are out already are left out, if there are others: a drop of several that was broken off goes on.
    """
    asked = tuple(dict.fromkeys(_spelled(protocol, name) for name in names))
    if there := [name for name in asked if name in supported(protocol)]:
        asked = tuple(name for name in asked if name in there or name not in FEATURES)
    if not asked:
        raise InvalidRequest("no feature is named that is to be dropped")
    if unknown := [name for name in asked if name in supported(protocol) and name not in FEATURES]:
        raise Unsupported(
            "Esker does not know these features, so it cannot tell what they left behind", problems=unknown,
            hint="Use a newer Esker, or a client that knows them.",
        )  # fmt: skip
    problems = [problem for name in asked for problem in _problems(protocol, metadata, name, asked)]
    problems += _history_problems(asked, truncates_history) if not problems else []
    if problems:
        raise InvalidRequest("these features cannot be dropped", problems=problems, hint=_hint(asked))
    return asked


def leaving(protocol: Protocol, names: Iterable[str]) -> tuple[Feature[Facts], ...]:
    """The features that leave the table with these names: not those that it then still has by another name."""
    asked = frozenset(names)
    left = supported(protocol) - asked
    return tuple(feature for feature in FEATURES.named(asked) if left.isdisjoint(feature.names))


def is_protected(names: Iterable[str]) -> bool:
    """Whether older versions that need one of these features are left behind."""
    return any(isinstance(f.removal, Removable) and f.removal.history_protected for f in FEATURES.named(names))


def only_truncates(names: Iterable[str]) -> bool:
    """Whether one of these features stays for as long as older versions do."""
    return any(isinstance(f.removal, Removable) and f.removal.only_truncating for f in FEATURES.named(names))


def rounds(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The names in the order in which they go: a feature that another one requires goes after it."""
    left = tuple(names)
    while left:
        needed = {required for feature in FEATURES.named(left) for required in feature.requires}
        now = tuple(name for name in left if (feature := FEATURES.get(name)) is None or feature.name not in needed)
        yield now
        left = tuple(name for name in left if name not in now)


def off(metadata: Metadata, features: Iterable[Feature[Facts]]) -> Metadata:
    """The metadata that keeps writers from using the features."""
    for feature in features:
        metadata = RECIPES[feature.name].off(metadata)
    return metadata


def cleaned(metadata: Metadata, features: Iterable[Feature[Facts]]) -> Metadata:
    """The metadata once no row needs the features."""
    for feature in features:
        metadata = RECIPES[feature.name].clean(metadata)
    return metadata


def downgraded(metadata: Metadata, features: Iterable[Feature[Facts]]) -> Metadata:
    """The metadata that goes with the protocol without the features."""
    return _without([key for feature in features for key in RECIPES[feature.name].properties])(metadata)


def domains_of(features: Iterable[Feature[Facts]]) -> frozenset[str]:
    """The domains that go together with the features."""
    return frozenset(domain for feature in features if (domain := RECIPES[feature.name].domain) is not None)


def _spelled(protocol: Protocol, name: str) -> str:
    """The name that the table has the feature by: the one that was said, else another of the same feature."""
    own, feature = FEATURES.spelled(name), FEATURES.get(name)
    has = supported(protocol)
    return own if own in has or feature is None else next((other for other in feature.names if other in has), own)


def _problems(protocol: Protocol, metadata: Metadata, name: str, asked: tuple[str, ...]) -> Iterator[str]:
    feature = FEATURES.get(name)
    if feature is None:
        is_property = any(name in (known.name, *known.aliases) for known in properties.PROPERTIES)
        yield f"{name} is a property, not a feature; unset it" if is_property else f"there is no feature {name}"
        return
    if name not in supported(protocol):
        yield f"{name} is not in the table's protocol, {protocol}"
        return
    match feature.removal:
        case Permanent(why, instead):
            yield f"{name} stays: {why}{f'. What can be done: {instead}' if instead else ''}"
        case Removable():
            yield from (f"{name} is required by {other}" for other in _dependents(protocol, feature, asked))
            if feature in leaving(protocol, asked):
                yield from (f"{name}: {stop}" for stop in RECIPES[feature.name].stops(metadata))


def _dependents(protocol: Protocol, feature: Feature[Facts], asked: tuple[str, ...]) -> Iterator[str]:
    """The features that would be left without one that they require."""
    if feature not in leaving(protocol, asked):
        return
    for other in sorted(supported(protocol) - set(asked)):
        known = FEATURES.get(other)
        if known is not None and feature.name in known.requires:
            stays = known.removal if isinstance(known.removal, Permanent) else None
            yield f"{other}, which cannot be dropped either" if stays else f"{other}; drop that too"


def _history_problems(asked: tuple[str, ...], truncates_history: bool) -> Iterator[str]:
    only = only_truncates(asked)
    if truncates_history and not (only or is_protected(asked)):
        yield f"no older version needs {', '.join(asked)}, so no history has to be truncated"
    if only and not truncates_history:
        yield "checkpointProtection guards older versions, and goes only together with them: truncate the history"


def _hint(asked: tuple[str, ...]) -> str | None:
    """What a table that must be rid of the feature can do."""
    permanent = [f.name for f in FEATURES if set(f.names) & set(asked) and isinstance(f.removal, Permanent)]
    return f"A copy of the table can do without {', '.join(permanent)}." if permanent else None


def _without(keys: Iterable[str]) -> Callable[[Metadata], Metadata]:
    gone = frozenset(keys)

    def change(metadata: Metadata) -> Metadata:
        kept = {key: text for key, text in metadata.configuration.items() if key not in gone}
        return metadata if len(kept) == len(metadata.configuration) else replace(metadata, configuration=kept)

    return change


def _with(values: Mapping[str, str]) -> Callable[[Metadata], Metadata]:
    return lambda metadata: replace(metadata, configuration={**metadata.configuration, **values})


def _constraints(metadata: Metadata) -> Iterator[str]:
    yield from (f"the constraint {name} is there; drop_constraint first" for name in constraints(metadata.configuration))


def _names_for_files(metadata: Metadata) -> Iterator[str]:
    if properties.column_mapping_mode(metadata.configuration) is not Mode.NONE:
        yield from (f"{problem}; rename it first" for problem in column_names.problems(metadata.schema, Mode.NONE))


def _unmapped(metadata: Metadata) -> Metadata:
    schema = without_mapping(metadata.schema)
    bare = _without([properties.COLUMN_MAPPING_MODE.name, properties.MAX_COLUMN_ID.name])(metadata)
    return bare if schema == metadata.schema else with_schema(bare, schema)


def _suspended(metadata: Metadata) -> Metadata:
    return _with({properties.ROW_TRACKING.name: "false", properties.ROW_TRACKING_SUSPENDED.name: "true"})(metadata)


def _untimed(metadata: Metadata) -> Metadata:
    keys = (properties.TIMESTAMPS_SINCE_VERSION.name, properties.TIMESTAMPS_SINCE.name)
    if properties.in_commit_timestamps_enabled(metadata.configuration):  # else there is nothing to turn off
        metadata = _with({properties.IN_COMMIT_TIMESTAMPS.name: "false"})(metadata)
    return _without(keys)(metadata)


def _classic(metadata: Metadata) -> Metadata:
    is_set = properties.CHECKPOINT_POLICY.name in metadata.configuration
    return _with({properties.CHECKPOINT_POLICY.name: "classic"})(metadata) if is_set else metadata


def _without_type_changes(metadata: Metadata) -> Metadata:
    schema = each(metadata.schema, lambda field: with_metadata(field, {TYPE_CHANGES: None}))
    return metadata if schema == metadata.schema else with_schema(metadata, schema)


def _geo_columns(metadata: Metadata) -> Iterator[str]:
    for path, kind in types(metadata.schema):
        if isinstance(kind, Primitive) and kind.name.startswith(("geometry", "geography")):
            yield f"the column {spelled(path)} is of type {kind}; drop it first"


def _coordinator(metadata: Metadata) -> Iterator[str]:
    if coordinator := metadata.configuration.get(_COORDINATOR[0]):
        yield f"commits may still be with the coordinator {coordinator}, whom Esker cannot ask"


def _manifest_tree(metadata: Metadata) -> Iterator[str]:
    yield "Esker does not read manifest trees, and cannot write a checkpoint of one"


_COORDINATOR = (
    "delta.coordinatedCommits.commitCoordinator-preview", "delta.coordinatedCommits.commitCoordinatorConf-preview",
    "delta.coordinatedCommits.tableConf-preview",
)  # fmt: skip

RECIPES: Mapping[str, Recipe] = {
    "checkConstraints": Recipe(stops=_constraints),
    "columnMapping": Recipe(stops=_names_for_files, clean=_unmapped),
    "deletionVectors": Recipe(off=_without([properties.DELETION_VECTORS.name])),
    "domainMetadata": Recipe(),
    "rowTracking": Recipe(
        off=_suspended,
        properties=(
            properties.ROW_TRACKING.name, properties.ROW_TRACKING_SUSPENDED.name, properties.ROW_ID_COLUMN.name,
            properties.ROW_COMMIT_VERSION_COLUMN.name,
        ),
        domain=row_tracking.DOMAIN,
    ),
    "v2Checkpoint": Recipe(off=_classic),
    "vacuumProtocolCheck": Recipe(),
    "inCommitTimestamp": Recipe(off=_untimed),
    "typeWidening": Recipe(off=_without([properties.TYPE_WIDENING.name]), clean=_without_type_changes),
    "checkpointProtection": Recipe(properties=(properties.CHECKPOINT_PROTECTION.name,)),
    "materializePartitionColumns": Recipe(properties=(properties.MATERIALIZE_PARTITIONS.name,)),
    "geospatial": Recipe(stops=_geo_columns),
    "adaptiveMetadata": Recipe(stops=_manifest_tree),
    "coordinatedCommits-preview": Recipe(stops=_coordinator, off=_without(_COORDINATOR)),
    "redirectReaderWriter-preview": Recipe(off=_without(["delta.redirectReaderWriter-preview"])),
    "redirectWriterOnly-preview": Recipe(off=_without(["delta.redirectWriterOnly-preview"])),
}  # fmt: skip
"""Each removable feature by its name, and how the metadata is freed of it."""

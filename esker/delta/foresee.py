"""What would a table be if features were enabled or dropped, or its protocol raised?  (PROTOCOL.md, "Table Features")

Pure: from the metadata and protocol that are, those that would be; from these, what clients would be asked for. The table is not
touched, and need not be one that Esker can write.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from esker.core.demands import Contract
from esker.core.features import Enabling, Feature, FeaturePresence, Presence, Status, always
from esker.core.predicate import Path
from esker.core.protocol_changes import Drop, Enable, ProtocolChange, Upgrade
from esker.delta import properties
from esker.delta.actions import Metadata
from esker.delta.demands import contract
from esker.delta.drop_rules import cleaned, domains_of, downgraded, droppable, is_protected, leaving, off
from esker.delta.features import FEATURES, Facts
from esker.delta.property_changes import PropertyChanges, applied
from esker.delta.protocol import Protocol, is_supported, presences, without
from esker.delta.required_features import closure, raised
from esker.delta.settled import Settled, settled
from esker.errors import InvalidRequest


def foreseen(
    before: Settled, change: ProtocolChange, version: int, domains: Iterable[str] = (), clustering: tuple[Path, ...] | None = None
) -> Settled:
    """The metadata and protocol after the change of a table that is at this version. Raises where it cannot be made.

    `domains` are those that the table has, `clustering` the visible paths of its clustering columns.
    """
    match change:
        case Enable(features):
            asked = enabling(before, features)
            metadata = replace(before.metadata, configuration=applied(before.metadata.configuration, asked))
            return settled(metadata, before, asked, domains, clustering)
        case Upgrade():
            return Settled(before.metadata, bundled(before.protocol, change))
        case Drop(features, truncates):
            names = droppable(before.protocol, before.metadata, features, truncates)
            return _without_features(before, names, None if truncates or not is_protected(names) else version + 1)
    assert_never(change)


def bundled(protocol: Protocol, wanted: Upgrade) -> Protocol:
    """The protocol with all that the versions imply which are asked for."""
    if wanted.reader is None and wanted.writer is None:
        raise InvalidRequest("neither a reader nor a writer version is asked for")
    return raised(protocol, wanted.reader, wanted.writer)


def foreseen_contract(after: Settled, facts: Facts, change: ProtocolChange) -> Contract:
    """What the table would ask of clients. `facts` are those of the table as it is.

    What is enabled is counted as used: it will be, and a client that only bears it unused is lost then.
    """
    gone = domains_of(FEATURES.named(change.features)) if isinstance(change, Drop) else frozenset()
    then = replace(
        facts,
        configuration=after.metadata.configuration,
        schema=after.metadata.schema,
        domains=None if facts.domains is None else facts.domains - gone,
    )
    fresh = closure(change.features) if isinstance(change, Enable) else frozenset()
    return contract(after.protocol, [_as_used(found, fresh) for found in presences(after.protocol, then)], after.metadata.schema)


def enabling(before: Settled, names: Iterable[str]) -> PropertyChanges:
    """The properties to set and the features to support, so that these are enabled. Raises where they cannot be."""
    wanted = tuple(names)
    if not wanted:
        raise InvalidRequest("no feature is named that is to be enabled")
    asked = closure(wanted)
    problems = [problem for name in sorted(asked) for problem in _enabling_problems(before, name)]
    if problems:
        raise InvalidRequest("these features cannot be enabled", problems=problems)
    facts = Facts(before.metadata.configuration, before.metadata.schema)
    switched = [*FEATURES.named(wanted), *_needed_active(FEATURES.named(wanted))]
    stored: dict[str, str | None] = {f.switch[0]: f.switch[1] for f in switched if f.switch and not _is_on(f, facts)}
    if properties.ROW_TRACKING.name in stored and properties.row_tracking_suspended(facts.configuration):
        # "writers must check that suspension is off before enabling"  Row Tracking
        stored[properties.ROW_TRACKING_SUSPENDED.name] = None
    return PropertyChanges(stored, asked)


def property_differences(before: Metadata, after: Metadata) -> Mapping[str, str | None]:
    """The properties that are set, and None for those that are taken out."""
    old, new = before.configuration, after.configuration
    fresh: dict[str, str | None] = {key: text for key, text in new.items() if old.get(key) != text}
    return fresh | {key: None for key in old if key not in new}


def _without_features(before: Settled, names: tuple[str, ...], protected_before: int | None) -> Settled:
    """All that the recipes do to the metadata, and the protocol without the names."""
    features = leaving(before.protocol, names)
    metadata = downgraded(cleaned(off(before.metadata, features), features), features)
    if protected_before is not None:
        metadata = protecting(metadata, protected_before)
    return Settled(metadata, without(before.protocol, names, protected_before is not None))


def protecting(metadata: Metadata, version: int) -> Metadata:
    """The metadata that has clients keep the checkpoints below a version."""
    return replace(metadata, configuration={**metadata.configuration, properties.CHECKPOINT_PROTECTION.name: str(version)})


def _enabling_problems(before: Settled, name: str) -> Iterable[str]:
    feature = FEATURES.get(name)
    if feature is None or is_supported(before.protocol, name):
        return
    if feature.status is Status.RETIRED:
        yield f"{name} is retired"
    elif feature.name == "clustering":
        yield "clustering needs columns: cluster_by enables it"
    elif feature.enabling and not feature.enabling & ~(Enabling.NEW | Enabling.CREATION):
        yield f"{name} can only be given to a table when it is created"


def _needed_active(features: Iterable[Feature[Facts]]) -> tuple[Feature[Facts], ...]:
    """The features that these require to be active, and so on."""
    found = FEATURES.named(name for feature in features for name in feature.requires_active)
    return (*found, *_needed_active(found)) if found else ()


def _is_on(feature: Feature[Facts], facts: Facts) -> bool:
    assert feature.switch is not None
    name, text = feature.switch
    is_active = feature.active is not always and feature.active(facts)
    return is_active or facts.configuration.get(name, "").lower() == text


def _as_used(found: FeaturePresence[Facts], fresh: frozenset[str]) -> FeaturePresence[Facts]:
    return replace(found, presence=Presence.IN_USE) if found.name in fresh else found

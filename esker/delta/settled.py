"""Which metadata and protocol does a wish become?  (PROTOCOL.md, "Table Features for New and Existing Tables")

Pure but for random names. What a feature needs to be written down beside its property (column ids, the names of materialised
columns) is added, the protocol rises by the smallest step, and what the specification forbids is refused, all of it at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import uuid4

from esker.core.predicate import Path
from esker.delta import properties, row_tracking
from esker.delta.actions import Metadata
from esker.delta.column_mapping_ids import with_mapping
from esker.delta.contradictions import contradictions
from esker.delta.intended import Intended
from esker.delta.property_changes import PropertyChanges
from esker.delta.protocol import Protocol, is_supported
from esker.delta.required_features import NEW_TABLE, raised, required, unasked, upgraded
from esker.errors import InvalidRequest

_NOTHING = PropertyChanges()


@dataclass(frozen=True, slots=True)
class Settled:
    """What is to be committed."""

    metadata: Metadata
    protocol: Protocol


def settled(
    metadata: Metadata,
    before: Settled | None,
    asked: PropertyChanges = _NOTHING,
    domains: Iterable[str] = (),
    clustering: tuple[Path, ...] | None = None,
) -> Settled:
    """The metadata that is wanted, made whole, with a protocol that carries it; `before` is None for a fresh table.

    `asked` has the features and versions that the caller named.
    """
    whole = _with_row_tracking(with_mapping(metadata, None if before is None else honoured(before)))
    base = NEW_TABLE if before is None else before.protocol
    if before is not None:
        _check_honoured(whole, before)
    names = required(whole.schema, whole.configuration, domains) | ({"clustering"} if clustering is not None else set())
    if before is not None and (silent := [n for n in unasked(base, names) if n not in asked.features]):
        raise InvalidRequest(
            f"this needs {', '.join(silent)}, which a table gets only when it is asked for",
            hint=f"Set the property delta.feature.{silent[0]}=supported as well.",
        )
    protocol = raised(upgraded(base, names | asked.features), asked.min_reader, asked.min_writer)
    problems = contradictions(Intended(whole, protocol, frozenset(domains), clustering))
    if problems and before is not None:
        # What another writer has broken is no reason to refuse a change that leaves it as it is.
        clustered = clustering if is_supported(before.protocol, "clustering") else None
        known = contradictions(Intended(before.metadata, before.protocol, frozenset(domains), clustered))
        problems = tuple(problem for problem in problems if problem not in known)
    if problems:
        raise InvalidRequest("the specification does not allow this table", problems=problems)
    return Settled(whole, protocol)


_ABOUT_FILES = (properties.COLUMN_MAPPING_MODE, properties.ROW_TRACKING)
"""Properties that say how the files that are there were written."""


def honoured(state: Settled) -> Metadata:
    """The metadata as clients take it: without what it says of files and the protocol has nobody honour."""
    idle = _idle(state)
    kept = {key: text for key, text in state.metadata.configuration.items() if key not in idle}
    return replace(state.metadata, configuration=kept) if idle else state.metadata


def _check_honoured(whole: Metadata, before: Settled) -> None:
    """Raise `InvalidRequest` where the protocol would come to honour what the files were written without.

    "The table property should only be honored if the table's protocol has reader and writer versions and/or table features that
    support" it: until then it means nothing, and files have other column names than it says, or no row ids.  (Column Mapping)
    """
    idle = [name for name in _idle(before) if name in _idle(Settled(whole, before.protocol))]
    if idle:
        raise InvalidRequest(
            f"the table says {', '.join(idle)}, which its protocol has nobody honour and its files do not follow",
            hint=f"Unset {' and '.join(idle)} first; then the table can be made so.",
        )


def _idle(state: Settled) -> tuple[str, ...]:
    """The properties about files that are on and not honoured."""
    configuration = state.metadata.configuration
    unknown = (p for p in _ABOUT_FILES if not is_supported(state.protocol, p.feature))
    return tuple(p.name for p in unknown if properties.value(p, configuration) != p.default)


def _with_row_tracking(metadata: Metadata) -> Metadata:
    """The names of the materialised columns, which "must be unique" and "must remain unique in all future versions"."""
    if not properties.row_tracking_enabled(metadata.configuration):
        return metadata
    names = {
        key: f"_{label}-col-{uuid4()}"
        for key, label in row_tracking.MATERIALISED_NAMES.items()
        if key not in metadata.configuration
    }
    return replace(metadata, configuration={**metadata.configuration, **names}) if names else metadata

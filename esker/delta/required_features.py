"""Which features does a table's metadata require, and what protocol carries them?  (PROTOCOL.md, "Table Features")

Pure. The registry's own predicates tell whether a feature is required; the few that they cannot tell stand here.
"""

from collections.abc import Callable, Iterable, Mapping

from esker.core.features import Enabling, Feature, always
from esker.core.types import Struct
from esker.delta.features import FEATURES, Facts, any_field_has, is_true
from esker.delta.properties import CheckpointPolicy, checkpoint_policy
from esker.delta.protocol import LAST_READER, LAST_WRITER, Protocol, implicit, is_supported, merge, minimal
from esker.errors import InvalidRequest

NEW_TABLE = Protocol(1, 2)
"""What a table has that needs nothing: writers in the field expect no less."""


def required(schema: Struct, configuration: Mapping[str, str], domains: Iterable[str] = ()) -> frozenset[str]:
    """The features that the table must support, with all that these require. `domains` are those that it has."""
    facts = Facts(configuration, schema, frozenset(domains))
    return closure(feature.name for feature in FEATURES if _is_required(feature, facts))


def closure(names: Iterable[str]) -> frozenset[str]:
    """These features and all that they require. Raises `InvalidRequest` for unknown names."""
    asked = frozenset(FEATURES.spelled(name) for name in names)
    known = {FEATURES.get(name) for name in asked}
    return asked | {feature.name for feature in FEATURES.closure(asked) if feature not in known}


def upgraded(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """The lowest protocol that supports these features besides what the protocol supports.

    A feature that is there under an older name is not added under another: "an implementation must not silently add the
    final name (older clients would break)". Where nothing is missing, the protocol stays as it is written.
    """
    wanted = closure(names)
    found = protocol
    # Twice, for reader version 2 alone has column mapping honoured, and says nothing once features are listed.
    for _ in range(2):
        missing = {name for name in wanted if not is_supported(found, name)}
        found = merge(found, minimal(missing)) if missing else found
    return found


def raised(protocol: Protocol, min_reader: int | None, min_writer: int | None) -> Protocol:
    """The lowest protocol that also supports whatever these versions imply; versions that it has passed add nothing."""
    for what, version, last in (("reader", min_reader, LAST_READER), ("writer", min_writer, LAST_WRITER)):
        if version is not None and not 1 <= version <= last:
            raise InvalidRequest(f"there is no {what} version {version}: they are 1 to {last}")
    reader, writer = min_reader or protocol.min_reader, min_writer or protocol.min_writer
    # "Creating a table with a Reader Version 3 and Writer Version less than 7 is not allowed."
    if min_reader == LAST_READER and writer < LAST_WRITER:
        raise InvalidRequest(f"reader version {reader} goes with writer version {LAST_WRITER}, not {writer}")
    return upgraded(protocol, implicit(Protocol(reader, writer)))


def unasked(protocol: Protocol, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the features that an existing table gets only when its user asks for them by name, and that it lacks."""
    missing = [FEATURES.get(name) for name in closure(names) if not is_supported(protocol, name)]
    silent = Enabling.EXISTING | Enabling.DEPENDENCY | Enabling.DROP
    return tuple(sorted(f.name for f in missing if f is not None and not f.enabling & silent))


def _is_required(feature: Feature[Facts], facts: Facts) -> bool:
    if feature.name in _TRIGGERS:
        return _TRIGGERS[feature.name](facts)
    return bool((feature.in_use if feature.active is always else feature.active)(facts))


def _any(*predicates: Callable[[Facts], bool]) -> Callable[[Facts], bool]:
    return lambda facts: any(predicate(facts) for predicate in predicates)


_TRIGGERS: Mapping[str, Callable[[Facts], bool]] = {
    "typeWidening": _any(is_true("delta.enableTypeWidening"), any_field_has("delta.typeChanges")),
    "v2Checkpoint": lambda facts: checkpoint_policy(facts.configuration) is CheckpointPolicy.V2,
    "materializePartitionColumns": is_true("delta.enableMaterializePartitionColumnsFeature"),
    "catalogManaged": lambda facts: False,  # only ever by name
}

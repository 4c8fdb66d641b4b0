"""How does an Iceberg table come to admit what it does not yet?  (spec, "Format Versioning", "Appendix E")

By a higher format version, which admits whole groups of things at once and is never lowered again; and by write modes, where a
way of deleting rows is to be used.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from esker.core.features import Feature, Operation
from esker.core.protocol_changes import Enable, Upgrade
from esker.errors import InvalidRequest
from esker.iceberg.alter import reachable
from esker.iceberg.commit import Change, commit
from esker.iceberg.features import DELETES_BY, FEATURES, MERGE_ON_READ, WRITE_MODES, Facts
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.state import TableState
from esker.iceberg.updates import SetProperties, Update, UpgradeFormatVersion


@dataclass(frozen=True, slots=True)
class Raised:
    """A format version, and properties that are set."""

    version: int
    properties: dict[str, str] = field(default_factory=dict, hash=False)

    def updates(self, metadata: TableMetadata) -> tuple[Update, ...]:
        """What has to be done to metadata that may be so already."""
        lacking = {key: text for key, text in self.properties.items() if metadata.properties.get(key) != text}
        upgrade = (UpgradeFormatVersion(self.version),) if self.version != metadata.format_version else ()
        return (*upgrade, SetProperties(lacking)) if lacking else upgrade


def enable(state: TableState, features: Sequence[str]) -> TableState:
    """Have the table admit features, and writers use those that a write mode asks for."""
    return _carried_out(state, lambda metadata: enabled(metadata, Enable(tuple(features))))


def upgrade(state: TableState, wanted: Upgrade) -> TableState:
    """Raise the table's format version."""
    return _carried_out(state, lambda metadata: upgraded(metadata, wanted))


def enabled(metadata: TableMetadata, wanted: Enable) -> Raised:
    """What enabling features comes to."""
    features = FEATURES.named(wanted.features)
    version = max(metadata.format_version, *(_admitted_by(feature) for feature in features), 1)
    if problems := [problem for feature in features for problem in _problems(feature, version)]:
        raise InvalidRequest("these features cannot be enabled", where=metadata.location, problems=problems)
    marks = any(DELETES_BY.get(feature.name) == version for feature in features)
    return Raised(version, dict.fromkeys(WRITE_MODES, MERGE_ON_READ) if marks else {})


def upgraded(metadata: TableMetadata, wanted: Upgrade) -> Raised:
    """What an upgrade comes to. Readers and writers go by one version."""
    asked = {version for version in (wanted.reader, wanted.writer) if version is not None}
    if len(asked) != 1:
        raise InvalidRequest(
            "an Iceberg table has one format version, for readers and writers alike", where=metadata.location,
            hint="Name that version alone.",
        )
    return Raised(reachable(metadata, asked.pop()))


def _carried_out(state: TableState, decide: Callable[[TableMetadata], Raised]) -> TableState:
    def apply(base: TableState) -> Change | None:
        updates = decide(base.metadata).updates(base.metadata)
        return Change(updates) if updates else None

    return commit(state, apply)


def _admitted_by(feature: Feature[Facts]) -> int:
    return 1 if feature.implied_by is None else feature.implied_by[0]


def _problems(feature: Feature[Facts], version: int) -> Iterator[str]:
    if not feature.support.allows(Operation.WRITE):
        yield f"{feature.name}: {feature.support.reason}"
    marking = DELETES_BY.get(feature.name, version)
    if marking != version:
        yield f"{feature.name}: writers of format version {version} add none"

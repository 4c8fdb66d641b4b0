"""How is a feature taken out of an Iceberg table?  (spec, "Format Versioning", "Row-level Deletes", "Snapshot References")

A format version is never lowered, so what it admits stays admitted. What a client stumbles over is what the table holds, and that
can be taken away: delete files by rewriting the data files that they apply to, entries of the metadata by a commit without them.
Older snapshots keep theirs until they expire.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from esker.core.arrange import RowArranger
from esker.core.features import Permanent, Presence
from esker.core.protocol_changes import Drop, Dropped
from esker.errors import InvalidRequest
from esker.iceberg.commit import Change, check_writable, commit
from esker.iceberg.facts import facts
from esker.iceberg.features import DELETES_BY, FEATURES, MERGE_ON_READ, WRITE_MODES, Facts, presences
from esker.iceberg.file_plan import RowReader
from esker.iceberg.metadata import MAIN, TableMetadata
from esker.iceberg.optimize import purge
from esker.iceberg.state import TableState
from esker.iceberg.updates import (
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveRef,
    RemoveStatistics,
    Update,
    updated,
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is done so that nothing of a feature is left: updates of the metadata, and where `purges`, rewritten files."""

    step: str
    updates: Callable[[TableMetadata], tuple[Update, ...]]
    purges: bool = False


def drop(state: TableState, wanted: Drop, arranger: RowArranger, read: RowReader) -> tuple[TableState, Dropped]:
    """Take the content of features away. What is left of them then is told."""
    recipes = recipes_for(state, wanted)
    done = commit(state, lambda base: _without(base, recipes))
    if purges(recipes):
        done = purge(done, None, arranger, read)
    there = {p.name for p in presences(facts(done)) if p.presence >= Presence.ACTIVE}
    left = tuple(name for name in recipes if name in there)
    why = "a writer brought its content back meanwhile" if left else ""
    out = tuple(name for name in recipes if name not in there)
    return done, Dropped(done.location, done.version, f"format version {done.metadata.format_version}", out, left, why)


def recipes_for(state: TableState, wanted: Drop) -> Mapping[str, Recipe]:
    """How each of the features is taken out of the table."""
    check_writable(state)
    if wanted.truncates_history:
        raise InvalidRequest("older snapshots of an Iceberg table go by vacuum", where=state.location)
    found = {p.name: p for p in presences(facts(state))}
    problems: list[str] = []
    for feature in FEATURES.named(wanted.features):
        if found[feature.name].presence is Presence.ABSENT:
            problems.append(f"{feature.name} is not in the table")
        elif isinstance(feature.removal, Permanent):
            problems.append(f"{feature.name} stays: {feature.removal.why}")
        elif found[feature.name].presence is Presence.SUPPORTED:
            problems.append(f"{feature.name} is not used, and the format version that admits it stays")
        elif feature.name not in RECIPES:
            problems.append(f"{feature.name}: {feature.removal.before} first; no rows are lost without your asking for it")
    if problems:
        raise InvalidRequest("these features cannot be dropped", where=state.location, problems=problems)
    return {feature.name: RECIPES[feature.name] for feature in FEATURES.named(wanted.features)}


def foreseen(known: Facts, recipes: Mapping[str, Recipe], at: int) -> Facts:
    """What is known of the table after the recipes; `at` is the time in milliseconds."""
    without = replace(known, metadata=updated(known.metadata, _updates(known.metadata, recipes), at))
    if not purges(recipes):
        return without
    return replace(without, has_position_deletes=False, has_equality_deletes=False, has_deletion_vectors=False)


def purges(recipes: Mapping[str, Recipe]) -> bool:
    """Whether files have to be rewritten."""
    return any(recipe.purges for recipe in recipes.values())


def unset(metadata: TableMetadata, recipes: Mapping[str, Recipe]) -> Iterator[str]:
    """The properties that are taken out."""
    for update in _updates(metadata, recipes):
        if isinstance(update, RemoveProperties):
            yield from update.names


def _without(base: TableState, recipes: Mapping[str, Recipe]) -> Change | None:
    updates = _updates(base.metadata, recipes)
    return Change(updates) if updates else None


def _updates(metadata: TableMetadata, recipes: Mapping[str, Recipe]) -> tuple[Update, ...]:
    return tuple(dict.fromkeys(update for recipe in recipes.values() for update in recipe.updates(metadata)))


def _copying(version: int) -> Callable[[TableMetadata], tuple[Update, ...]]:
    """Have writers copy files again, where they are to mark dead rows in the way of this format version."""

    def updates(metadata: TableMetadata) -> tuple[Update, ...]:
        modes = tuple(mode for mode in WRITE_MODES if metadata.properties.get(mode) == MERGE_ON_READ)
        return (RemoveProperties(modes),) if modes and metadata.format_version == version else ()

    return updates


def _named(metadata: TableMetadata) -> tuple[Update, ...]:
    return tuple(RemoveRef(name) for name in metadata.refs if name != MAIN)


def _statistics(metadata: TableMetadata) -> tuple[Update, ...]:
    return tuple(RemoveStatistics(file.snapshot_id) for file in metadata.statistics)


def _partition_statistics(metadata: TableMetadata) -> tuple[Update, ...]:
    return tuple(RemovePartitionStatistics(file.snapshot_id) for file in metadata.partition_statistics)


_PURGE = "rewrite the data files that deletes apply to; older snapshots keep theirs until they expire"

RECIPES: Mapping[str, Recipe] = {
    **{name: Recipe(_PURGE, _copying(version), purges=True) for name, version in DELETES_BY.items()},
    "equality_deletes": Recipe(_PURGE, lambda metadata: (), purges=True),
    "refs": Recipe("drop all branches and tags but main", _named),
    "statistics": Recipe("drop the entries of statistics", _statistics),
    "partition_statistics": Recipe("drop the entries of partition statistics", _partition_statistics),
}
"""What Esker does by itself. Columns it does not drop for you."""

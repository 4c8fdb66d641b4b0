"""What would a change make of an Iceberg table and of what it asks of its clients?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from esker.core.features import Feature, Presence
from esker.core.protocol_changes import Drop, Enable, Foresight, ProtocolChange, Rewriting, Upgrade
from esker.iceberg.alter import plan_upgrade
from esker.iceberg.commit import check_writable, now
from esker.iceberg.demands import contract
from esker.iceberg.drop import foreseen, purges, recipes_for, unset
from esker.iceberg.enable import Raised, enabled, upgraded
from esker.iceberg.facts import facts
from esker.iceberg.features import FEATURES, Facts, presences
from esker.iceberg.file_plan import RowReader
from esker.iceberg.optimize import with_deletes
from esker.iceberg.state import TableState
from esker.iceberg.updates import updated


def foresight(state: TableState, change: ProtocolChange, read: RowReader) -> Foresight:
    """What would become of the table. `read` reads delete files."""
    check_writable(state)
    match change:
        case Enable():
            return _raised(state, enabled(state.metadata, change), FEATURES.named(change.features))
        case Upgrade():
            return _raised(state, upgraded(state.metadata, change))
        case Drop():
            return _dropped(state, change, read)
    assert_never(change)


def _raised(state: TableState, wanted: Raised, fresh: Sequence[Feature[Facts]] = ()) -> Foresight:
    known = facts(state)
    made = updated(state.metadata, wanted.updates(state.metadata), now())
    lacking = {key: text for key, text in wanted.properties.items() if state.metadata.properties.get(key) != text}
    steps = plan_upgrade(state, wanted.version)
    told = _between(state, known, replace(known, metadata=made), fresh)
    return replace(told, properties=lacking, steps=steps)


def _dropped(state: TableState, wanted: Drop, read: RowReader) -> Foresight:
    known, recipes = facts(state), recipes_for(state, wanted)
    gone = dict.fromkeys(unset(state.metadata, recipes))
    files = tuple(live.file for live in with_deletes(state, read)) if purges(recipes) else ()
    return replace(
        _between(state, known, foreseen(known, recipes, now())),
        properties=gone,
        rewriting=Rewriting(tuple(file.file_path for file in files), sum(file.file_size_in_bytes for file in files)),
        steps=tuple(dict.fromkeys(recipe.step for recipe in recipes.values())),
    )


def _between(state: TableState, before: Facts, after: Facts, fresh: Sequence[Feature[Facts]] = ()) -> Foresight:
    """What is enabled counts as used: it will be, and a client that stumbles over it then is lost."""
    then = [replace(p, presence=Presence.IN_USE) if p.feature in fresh else p for p in presences(after)]
    return Foresight(
        location=state.location,
        version=state.version,
        protocol_before=f"format version {before.metadata.format_version}",
        protocol_after=f"format version {after.metadata.format_version}",
        before=contract(before.metadata.format_version, presences(before)),
        after=contract(after.metadata.format_version, then),
    )

"""Does a change of a Lance table keep what the table is promised?  (`core.promises` says what that means)

Lance's own library makes the versions, so this is looked at right before it does, on top of the newest version there is. What a
change makes of the flags is known by then, since they follow from content; and what is flagged counts as used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from esker.core.demands import PROMISES, Contract, Demand
from esker.core.features import Operation, Presence
from esker.core.promises import Promising, check_kept
from esker.lance.demands import contract
from esker.lance.manifest import parse_manifest
from esker.lance.messages import new_message
from esker.lance.place import Place
from esker.lance.relocation import manifest_bytes
from esker.lance.snapshot import Snapshot, load
from esker.lance.versions import Naming


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change adds to what the table asks: bits of both words, bits for writers, a version of data files."""

    flags: int = 0
    writer_flags: int = 0
    file_version: str | None = None


NO_EFFECT = Effect()


def check_promises(snapshot: Snapshot, effect: Effect = NO_EFFECT, said: Mapping[str, str | None] | None = None) -> None:
    """Raise `InvalidRequest`, with every promise that the table keeps now and would not keep after a change.

    `said` are properties that the change sets, or deletes where they have no value.
    """
    if snapshot.place.judge is None:
        return
    base = load(snapshot.place)
    held = base.manifest.table_metadata.get(PROMISES)
    text = (said or {}).get(PROMISES, held)
    check_kept(snapshot.place.judge, _promising(base, held), Promising(text, _after(base, effect)), snapshot.location)


def check_restored(snapshot: Snapshot, target: Snapshot) -> None:
    """The same of a table that is taken back to a version of its own, and keeps what it is promised."""
    if snapshot.place.judge is not None:
        base = load(snapshot.place)
        held = base.manifest.table_metadata.get(PROMISES)
        check_kept(snapshot.place.judge, _promising(base, held), _promising(target, held), snapshot.location)


def check_born(place: Place, promises: str | None, effect: Effect, naming: Naming) -> None:
    """The same of a table that is to be created."""
    if place.judge is not None and promises:
        message = new_message(
            "Manifest", reader_feature_flags=effect.flags, writer_feature_flags=effect.flags | effect.writer_flags,
            data_format=new_message("DataStorageFormat", file_format="lance", version=effect.file_version or ""),
        )  # fmt: skip
        manifest = parse_manifest(manifest_bytes(message.SerializeToString()), place.url)
        check_kept(place.judge, None, Promising(promises, _used(contract(manifest, naming, has_latest=False))), place.url)


def _promising(snapshot: Snapshot, promises: str | None) -> Promising:
    return Promising(promises, _used(contract(snapshot.manifest, snapshot.file.naming, snapshot.has_latest)))


def _after(base: Snapshot, effect: Effect) -> Contract:
    manifest = base.manifest
    flagged = replace(
        manifest,
        reader_flags=manifest.reader_flags | effect.flags,
        writer_flags=manifest.writer_flags | effect.flags | effect.writer_flags,
    )
    asked = _used(contract(flagged, base.file.naming, base.has_latest))
    if effect.file_version is None:
        return asked
    written = Demand(f"data file version {effect.file_version}", frozenset(Operation), Presence.IN_USE)
    return replace(asked, demands=tuple(dict.fromkeys((*asked.demands, written))))


def _used(asked: Contract) -> Contract:
    demands = tuple(replace(demand, presence=Presence.IN_USE) for demand in asked.demands)
    return replace(asked, demands=demands, features=dict.fromkeys(asked.features, Presence.IN_USE))

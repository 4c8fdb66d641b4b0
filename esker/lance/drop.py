"""How is a flag taken out of a table?  (Lance table format, "Feature flags"; removal recipes L1 to L4)

Both words are worked out anew from the content of each version that is committed. So to drop a flag is to take its content
away; the next commit clears the bit. Older versions keep their own flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from esker.core.arrange import Spread
from esker.core.features import Removable
from esker.core.protocol_changes import Drop, Dropped, Foresight, ProtocolChange, Rewriting
from esker.errors import InvalidRequest, Unsupported
from esker.lance.committing import writable
from esker.lance.demands import contract
from esker.lance.flags import FLAGS, NAMES
from esker.lance.library import Library
from esker.lance.maintenance import purge
from esker.lance.manifest import Manifest
from esker.lance.snapshot import Snapshot, load


@dataclass(frozen=True)
class Recipe:
    """What is done so that the next commit clears a flag."""

    step: str
    carry_out: Callable[[Snapshot, Library, Spread], Snapshot]
    rewrites: Callable[[Snapshot], Rewriting] = lambda snapshot: Rewriting()
    properties: Callable[[Snapshot], Mapping[str, str | None]] = lambda snapshot: {}


def foresee(snapshot: Snapshot, change: ProtocolChange) -> Foresight:
    """What dropping flags would make of the table."""
    match change:
        case Drop(features, truncates_history):
            bits = _droppable(snapshot, features, truncates_history)
        case _:
            raise not_enabled(snapshot)
    recipes = [_RECIPES[bit] for bit in bits]
    after = _without(snapshot.manifest, bits)
    files = [recipe.rewrites(snapshot) for recipe in recipes]
    naming = snapshot.file.naming
    return Foresight(
        location=snapshot.location,
        version=snapshot.version,
        protocol_before=protocol(snapshot.manifest),
        protocol_after=protocol(after),
        before=contract(snapshot.manifest, naming, snapshot.has_latest),
        after=contract(after, naming, snapshot.has_latest),
        properties={key: value for recipe in recipes for key, value in recipe.properties(snapshot).items()},
        rewriting=Rewriting(tuple(path for one in files for path in one.files), sum(one.size for one in files)),
        steps=tuple(recipe.step for recipe in recipes),
    )


def not_enabled(snapshot: Snapshot) -> InvalidRequest:
    """Why no flag is set by asking for it."""
    return InvalidRequest(
        "flags of a Lance table follow from its content, and are not enabled", where=snapshot.location,
        hint="Stable row ids and the version of data files are chosen when a table is created.",
    )  # fmt: skip


def drop(snapshot: Snapshot, wanted: Drop, library: Library, spread: Spread) -> tuple[Snapshot, Dropped]:
    """Take the content of flags away. What is left of them then is told."""
    bits = _droppable(snapshot, wanted.features, wanted.truncates_history)
    done = writable(snapshot)
    for bit in bits:
        done = _RECIPES[bit].carry_out(done, library, spread)
    word = done.manifest.reader_flags | done.manifest.writer_flags
    left = tuple(NAMES[bit] for bit in bits if word & bit)
    why = "a writer brought its content back meanwhile" if left else ""
    out = tuple(NAMES[bit] for bit in bits if not word & bit)
    return done, Dropped(done.location, done.version, protocol(done.manifest), out, left, why)


def protocol(manifest: Manifest) -> str:
    """What the table asks of clients, as people write it."""
    return (
        f"reader flags {manifest.reader_flags}, writer flags {manifest.writer_flags}, "
        f"data file version {manifest.file_version}"
    )


def _droppable(snapshot: Snapshot, names: tuple[str, ...], truncates_history: bool) -> list[int]:
    if truncates_history:
        raise Unsupported("older versions of a Lance table go by vacuum", where=snapshot.location)
    writable(snapshot)
    word = snapshot.manifest.reader_flags | snapshot.manifest.writer_flags
    bits = {name: bit for bit, name in NAMES.items()}
    found: list[int] = []
    problems: list[str] = []
    for feature in FLAGS.named(names):
        bit = bits.get(feature.name)
        if bit is None or not word & bit:
            problems.append(f"{feature.name} is not set")
        elif not isinstance(feature.removal, Removable):
            problems.append(f"{feature.name} stays: {feature.removal.why}")
        elif bit not in _RECIPES:
            problems.append(f"{feature.name}: no commit of Lance's library does this: {feature.removal.before}")
        else:
            found.append(bit)
    if problems:
        raise InvalidRequest("these flags cannot be dropped", where=snapshot.location, problems=problems)
    return found


def _without(manifest: Manifest, bits: list[int]) -> Manifest:
    gone = sum(bits)
    return replace(manifest, reader_flags=manifest.reader_flags & ~gone, writer_flags=manifest.writer_flags & ~gone)


def _with_deletions(snapshot: Snapshot) -> Rewriting:
    files = [file for fragment in snapshot.fragments if fragment.deletion is not None for file in fragment.files]
    paths = tuple(snapshot.place.data_file(snapshot.manifest, f).removeprefix(f"{snapshot.location}/") for f in files)
    return Rewriting(paths, sum(file.size or 0 for file in files))


def _unset(snapshot: Snapshot) -> Mapping[str, str | None]:
    return dict.fromkeys(snapshot.manifest.config)


def _commit_anew(snapshot: Snapshot, library: Library, spread: Spread) -> Snapshot:
    """A version that says nothing new, written as this library writes versions."""
    kept: dict[str, str | None] = dict(snapshot.manifest.table_metadata)
    return load(snapshot.place, library.set_metadata(snapshot, kept))


_RECIPES: Mapping[int, Recipe] = {
    1: Recipe(
        "rewrite the fragments that have deletion files",
        lambda snapshot, library, spread: purge(snapshot, None, library, spread),
        rewrites=_with_deletions,
    ),
    4: Recipe("commit a version without the deprecated flag", _commit_anew),
    8: Recipe(
        "delete all keys of the configuration",
        lambda snapshot, library, spread: load(snapshot.place, library.set_config(snapshot, _unset(snapshot))),
        properties=_unset,
    ),
    32: Recipe("commit a version with a file of its transaction", _commit_anew),
}

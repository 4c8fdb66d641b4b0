"""Where does a table keep its properties?  (Lance table format, "Table configuration")

They are keys of its configuration, and having some sets a flag for writers. What the table is promised must not ask anything of
clients by itself, so it is kept with what else is said of the table.
"""

from collections.abc import Mapping

from esker.core.demands import PROMISES
from esker.lance.committing import writable
from esker.lance.flags import TABLE_CONFIG
from esker.lance.library import Library
from esker.lance.manifest import Manifest
from esker.lance.promises import NO_EFFECT, Effect, check_promises
from esker.lance.snapshot import Snapshot, load


def properties(manifest: Manifest) -> dict[str, str]:
    """The configuration, and what the table is promised."""
    promised = {key: text for key, text in manifest.table_metadata.items() if key == PROMISES}
    return {**manifest.config, **promised}


def set_properties(snapshot: Snapshot, values: Mapping[str, str | None], library: Library) -> Snapshot:
    """Set properties, and delete those without a value; promises by a version of their own. What holds already makes none."""
    done = writable(snapshot)
    newest = done.newest()
    changes = _differing(values, properties(newest.manifest))
    if not changes:
        return newest
    config = {key: text for key, text in changes.items() if key != PROMISES}
    adds = any(text is not None for text in config.values())
    check_promises(snapshot, Effect(writer_flags=TABLE_CONFIG) if adds else NO_EFFECT, changes)
    if config:
        done = load(done.place, library.set_config(done, config))
    if PROMISES in changes:
        done = load(done.place, library.set_metadata(done, {PROMISES: changes[PROMISES]}))
    return done


def set_metadata(snapshot: Snapshot, values: Mapping[str, str | None], library: Library) -> Snapshot:
    """Set what else is said of the table, and delete keys without a value. What holds already makes no version."""
    base = writable(snapshot)
    newest = base.newest()
    changes = _differing(values, newest.manifest.table_metadata)
    return load(base.place, library.set_metadata(base, changes)) if changes else newest


def _differing(values: Mapping[str, str | None], held: Mapping[str, str]) -> dict[str, str | None]:
    return {key: text for key, text in values.items() if held.get(key) != text}

"""How does a change become a version?

One door for all changes of rows. What was worked out on one version and has to be worked out anew, because a rival changed the
same rows, is: from the newest version, as often as `ATTEMPTS` says.
"""

from collections.abc import Callable

from esker.core.column_paths import spelled
from esker.core.features import Operation
from esker.errors import Conflict, InvalidTable, Unsupported
from esker.lance.flags import DELETION_FILES
from esker.lance.library import Append, Change, ChangeRows, Library, Overtaken
from esker.lance.promises import NO_EFFECT, Effect, check_promises
from esker.lance.schema import ids_by_path
from esker.lance.snapshot import Snapshot, load
from esker.lance.versions import Naming

ATTEMPTS = 10


def committed(snapshot: Snapshot, library: Library, change: Change, message: str | None = None) -> Snapshot:
    """The snapshot of the version that the change became."""
    base = writable(snapshot)
    check_promises(base, Effect(flags=DELETION_FILES) if isinstance(change, ChangeRows) and change.deletions else NO_EFFECT)
    if not isinstance(change, Append):
        return load(snapshot.place, library.commit(base, change, message))
    _check_columns(base, base.newest())
    made = load(snapshot.place, library.commit(base, change, message))
    try:
        _check_columns(base, made)
    except Conflict:  # in the moment between looking and committing: the rows are taken out again
        own = tuple(f.id for f in made.fragments if any(file.path in text for file in f.files for text in change.fragments))
        library.commit(made, ChangeRows({}, own), None)
        raise
    return made


def retried(snapshot: Snapshot, change: Callable[[Snapshot], Snapshot]) -> Snapshot:
    """Have a change of a version that may be written worked out, and again from theirs where rivals were first."""
    return reworked(snapshot, lambda base: change(writable(base)))


def reworked(snapshot: Snapshot, change: Callable[[Snapshot], Snapshot]) -> Snapshot:
    """The same for a change that looks by itself whether the version may be written."""
    base = snapshot
    for _ in range(ATTEMPTS):
        try:
            return change(base)
        except Overtaken:
            base = load(base.place)
    raise Conflict(
        f"other writers were first {ATTEMPTS} times", where=snapshot.location, hint="Try again when the table is quieter."
    )


def writable(snapshot: Snapshot) -> Snapshot:
    """The snapshot, where it may be read and written."""
    snapshot.gate(Operation.READ)
    snapshot.gate(Operation.WRITE)
    check_history(snapshot)
    numbers = [fragment.id for fragment in snapshot.fragments]
    if len(set(numbers)) < len(numbers):
        raise InvalidTable("two fragments have the same number, so no row of them can be changed", where=snapshot.location)
    return snapshot


def _check_columns(base: Snapshot, newest: Snapshot) -> None:
    """Refuse to add rows whose columns have others in their place by now: a cast gives a column another id.

    To Lance an append and a change of columns are compatible, and rows have null in a column that they were not written for.
    """
    before, now = (ids_by_path(snapshot.manifest.fields) for snapshot in (base, newest))
    if replaced := [spelled(path) for path, id in before.items() if now.get(path, id) != id]:
        raise Conflict(
            f"another writer has put other columns in the place of {', '.join(replaced)}: the rows would lose their values",
            where=base.location, hint="Open the table again, and append to it as it is now.",
        )  # fmt: skip


def check_history(snapshot: Snapshot) -> None:
    """Refuse to write on top of a version that no other follows."""
    if snapshot.file.naming is Naming.DETACHED:
        raise Unsupported(
            "a detached version is part of no history, and nothing is written on top of it", where=snapshot.location,
            hint="Open the newest version, or a branch.",
        )  # fmt: skip

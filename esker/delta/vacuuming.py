"""How is a vacuum carried out, and what does the history say of it?

Planned, announced in the log, checked once more, done, and reported. Who reads the history sees that files may be gone, even
where the process died on the way.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from esker.core.table import Vacuumed, VacuumWish
from esker.core.types import Json
from esker.delta import properties
from esker.delta.commit import commit, now
from esker.delta.last_vacuum import write_last_vacuum
from esker.delta.needed_files import needed_files
from esker.delta.snapshot import Snapshot, load
from esker.delta.transaction import Change, Operation
from esker.delta.vacuum import VacuumPlan, delete_files, plan_vacuum
from esker.errors import EskerError


def vacuum(snapshot: Snapshot, wish: VacuumWish, progress: Callable[[int, int], None]) -> tuple[Snapshot, Vacuumed]:
    """Delete the files that nobody needs. `progress` hears how many are done, and of how many."""
    newest = load(snapshot.place)
    plan = plan_vacuum(newest, wish.retention, now(), "lite" if wish.is_lite else "full", wish.allow_unsafe)
    if wish.is_dry_run:
        return snapshot, _told(plan, wish)
    started = _noted(newest, _start(newest, plan, wish))
    try:
        # Planning takes long in a large table: what a commit has brought back since stays.
        needed = needed_files(started, plan.cutoff)
        sure = replace(plan, files=tuple(file for file in plan.files if file.path not in needed))
        delete_files(started.place.storage, sure, lambda done: progress(done, len(sure.files)))
    except EskerError:
        with suppress(EskerError):  # what went wrong first is what the caller must hear
            _noted(started, Operation("VACUUM END", {"status": "FAILED"}))
        raise
    if sure.reach is not None:
        write_last_vacuum(started.place.storage, sure.reach)
    folders = {file.path.rpartition("/")[0] for file in sure.files}
    metrics = {"numDeletedFiles": len(sure.files), "numVacuumedDirectories": len(folders)}
    return _noted(started, Operation("VACUUM END", {"status": "COMPLETED"}, metrics)), _told(sure, wish)


def _start(snapshot: Snapshot, plan: VacuumPlan, wish: VacuumWish) -> Operation:
    default = properties.deleted_file_retention(snapshot.metadata.configuration)
    parameters: dict[str, Json] = {
        "retentionCheckEnabled": not wish.allow_unsafe, "defaultRetentionMillis": default // timedelta(milliseconds=1),
    }  # fmt: skip
    if wish.retention is not None:
        parameters["specifiedRetentionMillis"] = wish.retention // timedelta(milliseconds=1)
    return Operation("VACUUM START", parameters, plan.metrics)


def _noted(snapshot: Snapshot, operation: Operation) -> Snapshot:
    """A version that changes nothing and tells of the operation."""
    return commit(snapshot, lambda base: Change(operation), is_rebased=True)


def _told(plan: VacuumPlan, wish: VacuumWish) -> Vacuumed:
    return Vacuumed(tuple(file.path for file in plan.files), plan.size, wish.is_dry_run)

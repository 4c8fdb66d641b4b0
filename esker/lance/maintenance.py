"""How is a table kept in shape: compaction, clean-up, references, restoring?

Decides what is asked of the library, which has Lance's rules for each of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from esker.core.arrange import Layout, OptimizePlan, Spread
from esker.core.demands import PROMISES
from esker.core.features import Operation
from esker.core.table import Vacuumed, VacuumWish
from esker.errors import InvalidRequest, Unsupported
from esker.lance.committing import retried, writable
from esker.lance.flags import has_reuse_index
from esker.lance.library import Compaction, Library
from esker.lance.manifest import Fragment
from esker.lance.promises import check_restored
from esker.lance.refs import checked_branch, checked_tag, read_branches, read_tags
from esker.lance.snapshot import Snapshot, has_branch, load

RETENTION = timedelta(days=14)
"""How long old versions stay unless the caller says otherwise: as in Lance's own library."""
_TARGET_ROWS = 1 << 20
_DELETED_PART = 0.1


def optimize(snapshot: Snapshot, layout: Layout, library: Library, spread: Spread) -> Snapshot:
    """Make larger fragments of small ones, and rewrite those of which a tenth or more is deleted."""
    return retried(snapshot, lambda base: _compacted(base, _compaction(base, layout), library, spread))


def plan_optimize(snapshot: Snapshot, layout: Layout, library: Library) -> OptimizePlan:
    """What `optimize` would rewrite."""
    base = writable(snapshot)
    numbers, groups = library.planned_compaction(base, _compaction(snapshot, layout))
    files = [file for fragment in base.fragments if fragment.id in set(numbers) for file in fragment.files]
    paths = tuple(base.place.data_file(base.manifest, file).removeprefix(f"{base.location}/") for file in files)
    return OptimizePlan(base.location, base.version, paths, sum(file.size or 0 for file in files), groups)


def purge(snapshot: Snapshot, where: str | None, library: Library, spread: Spread) -> Snapshot:
    """Rewrite every fragment of which rows were deleted."""
    if where is not None:
        raise Unsupported("purging a part of a Lance table, which has no partitions", where=snapshot.location)
    if not any(fragment.deletion is not None for fragment in snapshot.fragments):
        return writable(snapshot)
    return retried(snapshot, lambda base: _compacted(base, Compaction(_TARGET_ROWS, 0.0), library, spread))


def vacuum(
    snapshot: Snapshot, wish: VacuumWish, progress: Callable[[int, int], None], library: Library
) -> tuple[Snapshot, Vacuumed]:
    """Delete versions older than the retention, but for tagged ones, and the files that only they need."""
    if wish.is_lite:
        raise Unsupported("a vacuum that goes by the log alone: Lance has none", where=snapshot.location)
    retention = RETENTION if wish.retention is None else wish.retention
    if retention < timedelta():
        raise InvalidRequest("a retention is no less than zero", where=snapshot.location)
    if retention < RETENTION and not wish.allow_unsafe:
        raise InvalidRequest(
            f"a retention of {retention} is less than {RETENTION}: readers and writers of older versions could fail",
            where=snapshot.location,
            hint="Pass allow_unsafe=True if there are none.",
        )
    base = writable(load(snapshot.place))
    vacuumed = library.clean_up(base, retention, wish.is_dry_run)
    progress(len(vacuumed.files), len(vacuumed.files))
    return base, vacuumed


def restore(snapshot: Snapshot, target: Snapshot, ignore_missing: bool, library: Library) -> Snapshot:
    """Take the table back to an earlier version, by a new one."""
    if ignore_missing:
        raise Unsupported("restoring a Lance table without files that are missing", where=snapshot.location)
    writable(load(snapshot.place))
    target.gate(Operation.READ)
    target.gate(Operation.WRITE)
    for fragment in target.fragments:
        _check_there(target, fragment)
    promises = load(snapshot.place).manifest.table_metadata.get(PROMISES)
    check_restored(snapshot, target)
    made = load(snapshot.place, library.restore(target))
    if promises is None or made.manifest.table_metadata.get(PROMISES) == promises:
        return made
    return load(snapshot.place, library.set_metadata(made, {PROMISES: promises}))


def clone(snapshot: Snapshot, location: str, options: Mapping[str, str], library: Library) -> None:
    """Make a table elsewhere with the files of this version where they lie."""
    writable(snapshot)
    library.clone(snapshot, location, options)


def create_tag(snapshot: Snapshot, name: str, library: Library) -> None:
    """Name this version. A tagged version is not cleaned up."""
    checked_tag(name, snapshot.location)
    if any(tag.name == name for tag in snapshot.tags):
        raise InvalidRequest(f"there is a tag {name}", where=snapshot.location)
    library.create_tag(writable(snapshot), name)


def delete_tag(snapshot: Snapshot, name: str, library: Library) -> None:
    """Take a tag away."""
    if all(tag.name != name for tag in snapshot.tags):
        raise InvalidRequest(f"there is no tag {name}", where=snapshot.location)
    library.delete_tag(writable(snapshot), name)


def create_branch(snapshot: Snapshot, name: str, library: Library) -> Snapshot:
    """Begin a branch at this version; its newest version is what is given."""
    checked_branch(name, snapshot.location)
    if has_branch(snapshot.place, name):
        raise InvalidRequest(f"there is a branch {name}", where=snapshot.location)
    library.create_branch(writable(snapshot), name)
    return load(replace(snapshot.place, branch=name))


def delete_branch(snapshot: Snapshot, name: str, library: Library) -> None:
    """Take a branch away, with all that only it has."""
    if not has_branch(snapshot.place, name):
        raise InvalidRequest(f"there is no branch {name}", where=snapshot.location)
    if snapshot.place.branch == name:
        raise InvalidRequest(f"this handle is on the branch {name}", where=snapshot.location, hint="Open main for that.")
    storage = snapshot.place.storage
    needing = [f"the tag {tag.name} names a version of it" for tag in read_tags(storage) if tag.branch == name]
    needing += [f"the branch {branch.name} parted from it" for branch in read_branches(storage) if branch.parent == name]
    if needing:
        what = f"the branch {name} is needed, and cannot be deleted"
        raise InvalidRequest(what, where=snapshot.location, problems=needing, hint="Delete those first.")
    library.delete_branch(writable(snapshot), name)


def _compacted(snapshot: Snapshot, wanted: Compaction, library: Library, spread: Spread) -> Snapshot:
    numbers, _ = library.planned_compaction(snapshot, wanted)
    if not numbers:
        return snapshot
    # Where a compaction before this one left it to the reuse index to tell where rows are, only that index can go on telling.
    carried_on = replace(wanted, defers_indices=has_reuse_index(snapshot.manifest))
    return load(snapshot.place, library.compact(snapshot, carried_on, spread))


def _compaction(snapshot: Snapshot, layout: Layout) -> Compaction:
    if layout.where is not None or layout.z_order_by or layout.is_full:
        raise Unsupported("Lance has no partitions and no clustering: it is compacted as a whole", where=snapshot.location)
    return Compaction(_rows_for(snapshot, layout.target_size), _DELETED_PART)


def _rows_for(snapshot: Snapshot, target_size: int | None) -> int:
    """How many rows a fragment of a size in bytes has, going by the fragments that are there."""
    if target_size is None:
        return _TARGET_ROWS
    known = [(f.physical_rows, sum(file.size or 0 for file in f.files)) for f in snapshot.fragments]
    rows, size = sum(rows or 0 for rows, _ in known), sum(size for _, size in known)
    if not rows or not size:
        return _TARGET_ROWS
    return max(1, target_size * rows // size)


def _check_there(target: Snapshot, fragment: Fragment) -> None:
    for file in fragment.files:
        storage, path = target.place.locate(target.place.data_file(target.manifest, file))
        storage.head(path)



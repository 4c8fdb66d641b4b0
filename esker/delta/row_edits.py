"""What does a change of rows do to the files of a table?  (PROTOCOL.md, "Deletion Vectors", "Add CDC File")

Rows that go leave their file by a deletion vector, where the table has them; else the file's other rows are written again. A file
without a row left is removed. Updated and inserted rows are written to files of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from esker.core.change import Rewrite, RowChange, RowEditor, RowInserts, RowPositions, RowUpdate, count, union
from esker.core.scan import ScanPlan
from esker.core.write import WrittenFile
from esker.delta import properties
from esker.delta.actions import Add, AddCdc
from esker.delta.clustering import clustering_columns
from esker.delta.dead_rows import TouchedFile, touched_files, with_vector
from esker.delta.deletion_vector_writer import VectorFile, vector_file
from esker.delta.leftovers import discarding
from esker.delta.live_adds import live_adds
from esker.delta.protocol import is_supported
from esker.delta.row_specs import RowSpecs
from esker.delta.snapshot import Snapshot
from esker.delta.writing import added, changed
from esker.errors import InvalidTable


@dataclass(frozen=True)
class Edits:
    """What is to become of rows."""

    deleted: RowPositions = field(default_factory=dict)
    updates: tuple[RowUpdate, ...] = ()
    inserts: RowInserts | None = None
    whole: tuple[int, ...] = ()
    """Files all of whose rows are deleted, by their numbers."""
    added_files: ScanPlan | None = None
    """Files that were written already, and whose rows are inserted."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows changed and how. None for deleted rows that the statistics do not count."""

    copied: int
    updated: int
    inserted: int
    deleted: int | None


@dataclass(frozen=True)
class Edited:
    """What was written, and what that does to the files."""

    fresh: tuple[Add, ...]
    """Files of written rows."""
    kept: tuple[Add, ...]
    """Files that are added again with another vector."""
    replaced: tuple[Add, ...]
    """The same files as they were."""
    removed: tuple[Add, ...]
    """Files that are removed for good."""
    feed: tuple[AddCdc, ...]
    written: tuple[WrittenFile, ...]
    paths: tuple[str, ...]
    """Every file that was written, for those who have to take them back."""
    counts: Counts
    preserves_row_ids: bool

    @property
    def is_nothing(self) -> bool:
        return not self.fresh and not self.kept and not self.removed


def edited(specs: RowSpecs, edits: Edits, editor: RowEditor) -> Edited:
    """Write what the edits ask for. Where that fails, what was written is taken back."""
    snapshot = specs.snapshot
    gone = union(edits.deleted, *(update.positions for update in edits.updates))
    touched = touched_files(snapshot, specs.target, gone, editor)
    surviving = [file for file in touched if file.rows_left]
    has_vectors = uses_vectors(snapshot)
    rewrite = _rewrite(specs, edits, [] if has_vectors else surviving)
    with discarding(snapshot.place.storage, (specs.folder, specs.feed_folder)):
        change = RowChange() if rewrite is None else editor.rewritten(rewrite)
        counts = _counted(specs, edits, rewrite, change, [] if has_vectors else surviving)
        vectors = _write_vectors(snapshot, surviving) if has_vectors and surviving else None
        return _outcome(specs, edits, touched, change, counts, vectors)


def uses_vectors(snapshot: Snapshot) -> bool:
    """Whether rows may be deleted by vectors.

    "Writers must only write new Deletion Vectors (DVs) when this property is set to `true`."  (Deletion Vectors)
    """
    is_enabled = properties.deletion_vectors_enabled(snapshot.metadata.configuration)
    return is_enabled and is_supported(snapshot.protocol, "deletionVectors")


def _rewrite(specs: RowSpecs, edits: Edits, copied: Sequence[TouchedFile]) -> Rewrite | None:
    """What has to be written; None for nothing. `copied` are the files whose other rows are written again."""
    if not copied and not edits.updates and edits.inserts is None:
        return None
    # "If an operation only adds new data or removes existing data without updating any existing rows, a writer can write only
    # data files and commit them in `add` or `remove` actions": files, and vectors, tell these changes by themselves. Files
    # with copied or updated rows do not, and then the change data files have to tell all changes of the commit.
    is_told = _has_feed(specs.snapshot) and bool(copied or edits.updates)
    needed = {file.number for file in copied}.union(*(update.positions for update in edits.updates))
    needed |= set(edits.deleted) if is_told else set()
    removed = specs.target.only(edits.whole).files if edits.whole else None
    return Rewrite(
        target=specs.target.only(needed),
        deleted={number: rows for number, rows in edits.deleted.items() if number in needed},
        updates=edits.updates,
        inserts=edits.inserts,
        copied=specs.copied if copied else None,
        feed=specs.feed(removed, edits.added_files) if is_told else None,
    )


def _has_feed(snapshot: Snapshot) -> bool:
    is_enabled = properties.change_data_feed_enabled(snapshot.metadata.configuration)
    return is_enabled and is_supported(snapshot.protocol, "changeDataFeed")


def _counted(
    specs: RowSpecs, edits: Edits, rewrite: Rewrite | None, change: RowChange, copied: Sequence[TouchedFile]
) -> Counts:
    """How many rows became what. Raises where the files that were written cannot be right."""
    updated = sum(count(update.positions) for update in edits.updates)
    stayed = sum(file.rows_left for file in copied)
    inserted = sum(file.statistics.rows for file in change.written) - stayed - updated
    whole = _live_rows(specs.snapshot, edits.whole)
    deleted = None if whole is None else count(edits.deleted) + whole
    if inserted < 0 or (inserted and edits.inserts is None):
        raise InvalidTable(
            f"{stayed + updated} rows had to be written, and {stayed + updated + inserted} were",
            where=specs.snapshot.location,
            hint="Look whether numRecords of the files is right. Nothing was changed.",
        )
    told = sum(file.statistics.rows for file in change.feed)
    if rewrite is not None and rewrite.feed is not None and edits.added_files is None and deleted is not None:
        due = 2 * updated + inserted + deleted
        if told != due:
            raise InvalidTable(f"{due} rows had to be told of, and {told} were", where=specs.snapshot.location)
    return Counts(stayed, updated, inserted, deleted)


def _live_rows(snapshot: Snapshot, numbers: Sequence[int]) -> int | None:
    """How many rows these files have; None where the statistics do not say."""
    if not numbers:
        return 0
    stated = snapshot.statistics.num_records()
    total = 0
    for number, add in zip(numbers, live_adds(snapshot, numbers), strict=True):
        records = stated[number].as_py()
        if records is None:
            return None
        total += records - (0 if add.deletion_vector is None else add.deletion_vector.cardinality)
    return total


def _write_vectors(snapshot: Snapshot, files: Sequence[TouchedFile]) -> VectorFile:
    written = vector_file({file.number: file.hidden for file in files}, uuid4())
    snapshot.place.storage.put(written.path, written.data)
    return written


def _outcome(
    specs: RowSpecs,
    edits: Edits,
    touched: Sequence[TouchedFile],
    change: RowChange,
    counts: Counts,
    vectors: VectorFile | None,
) -> Edited:
    snapshot = specs.snapshot
    kept = [] if vectors is None else [file for file in touched if file.number in vectors.vectors]
    lost = [file.add for file in touched if vectors is None or file.number not in vectors.vectors]
    return Edited(
        fresh=added(change.written, snapshot.metadata, snapshot.mapping, clustering=clustering_columns(snapshot) or ()),
        kept=() if vectors is None else tuple(with_vector(file, vectors.vectors[file.number]) for file in kept),
        replaced=tuple(file.add for file in kept),
        removed=(*live_adds(snapshot, edits.whole), *lost),
        feed=changed(change.feed),
        written=change.written,
        paths=(*(file.path for file in (*change.written, *change.feed)), *(() if vectors is None else (vectors.path,))),
        counts=counts,
        preserves_row_ids=specs.keeps_row_ids or not (counts.copied or counts.updated),
    )

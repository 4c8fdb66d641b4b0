"""How does pylance do what the format asks of it?"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import DeletionFile, FragmentMetadata
from lance.optimize import Compaction as Compactor

from esker.arrow.lance.dataset import errors, open_dataset, uri
from esker.core.arrange import Spread
from esker.core.table import Vacuumed
from esker.errors import Conflict, EskerError, Unsupported
from esker.lance import manifest as tables
from esker.lance.library import AlterColumn, Append, Change, ChangeRows, Compaction, NewTable, Overtaken, Overwrite
from esker.lance.snapshot import Snapshot
from esker.storage.paths import url_parts

_MOST_FILES = 1 << 30
_KINDS = {tables.DeletionKind.ARROW_ARRAY: "array", tables.DeletionKind.BITMAP: "bitmap"}


class Pylance:
    """The library, as `esker.lance.library` wants it."""

    def create(self, location: str, options: Mapping[str, str], table: NewTable) -> int:
        with errors(location):
            if not table.fragments:
                made = lance.write_dataset(
                    table.schema.empty_table(),
                    uri(location),
                    mode="create",
                    data_storage_version=table.file_version,
                    enable_v2_manifest_paths=table.has_v2_names,
                    enable_stable_row_ids=table.has_stable_row_ids,
                    storage_options=dict(options) or None,
                )
                return int(made.version)
            # No retry: a rival's table must not be overwritten by one that was to be new.
            made = LanceDataset.commit(
                uri(location),
                LanceOperation.Overwrite(table.schema, _parsed(table.fragments)),
                read_version=0,
                max_retries=0,
                enable_v2_manifest_paths=table.has_v2_names,
                enable_stable_row_ids=table.has_stable_row_ids,
                storage_options=dict(options) or None,
            )
            if made.version != 1:
                raise Conflict(f"another writer created a table first, and this became version {made.version}", where=location)
            return int(made.version)

    def commit(self, snapshot: Snapshot, change: Change, message: str | None) -> int:
        with errors(snapshot.location), _overtaking():
            dataset = _opened(snapshot)
            if _is_bare(change, snapshot):
                return _emptied(dataset, change, message)
            made = LanceDataset.commit(
                dataset,
                _operation(dataset, change),
                read_version=snapshot.version,
                commit_message=message,
            )
            return int(made.version)

    def add_columns(self, snapshot: Snapshot, fields: Sequence[pa.Field]) -> int:
        return _changed(snapshot, lambda dataset: dataset.add_columns(list(fields)))

    def drop_columns(self, snapshot: Snapshot, paths: Sequence[str]) -> int:
        return _changed(snapshot, lambda dataset: dataset.drop_columns(list(paths)))

    def alter_columns(self, snapshot: Snapshot, changes: Sequence[AlterColumn]) -> int:
        return _changed(snapshot, lambda dataset: dataset.alter_columns(*(_alteration(change) for change in changes)))

    def set_config(self, snapshot: Snapshot, values: Mapping[str, str | None]) -> int:
        return _changed(snapshot, lambda dataset: dataset.update_config(dict(values)))

    def set_metadata(self, snapshot: Snapshot, values: Mapping[str, str | None]) -> int:
        return _changed(snapshot, lambda dataset: dataset.update_metadata(dict(values)))

    def compact(self, snapshot: Snapshot, wanted: Compaction, spread: Spread) -> int:
        with errors(snapshot.location), _overtaking():
            dataset = _opened(snapshot)
            tasks = [pickle.dumps(task) for task in Compactor.plan(dataset, _options(wanted)).tasks]
            done = spread(partial(_rewritten, _opening(snapshot), tasks), len(tasks))
            Compactor.commit(dataset, [pickle.loads(one) for one in done], _options(wanted))
            return int(dataset.version)

    def planned_compaction(self, snapshot: Snapshot, wanted: Compaction) -> tuple[tuple[int, ...], int]:
        with errors(snapshot.location):
            tasks = Compactor.plan(_opened(snapshot), _options(wanted)).tasks
        return tuple(fragment.id for task in tasks for fragment in task.fragments), len(tasks)

    def clean_up(self, snapshot: Snapshot, older_than: timedelta, is_dry_run: bool) -> Vacuumed:
        with errors(snapshot.location):
            dataset = _opened(snapshot)
            if not hasattr(dataset, "explain_cleanup_old_versions"):
                raise Unsupported("this pylance cannot tell what a clean-up takes", hint="Install pylance 14 or newer.")
            chosen = {"older_than": older_than, "error_if_tagged_old_versions": False}
            told = dataset.explain_cleanup_old_versions(**chosen, include_files=True, max_files=_MOST_FILES)
            root = url_parts(snapshot.place.storage.url)[2] + "/"
            files = tuple(sorted(file.path.removeprefix(root) for file in told.candidate_files))
            if not is_dry_run:
                dataset.cleanup_old_versions(**chosen)
            return Vacuumed(files, told.stats.bytes_removed, is_dry_run)

    def restore(self, snapshot: Snapshot) -> int:
        with errors(snapshot.location), _overtaking():
            dataset = _opened(snapshot)
            dataset.restore()
            return int(dataset.version)

    def clone(self, snapshot: Snapshot, location: str, options: Mapping[str, str]) -> None:
        with errors(snapshot.location):
            _opened(snapshot).shallow_clone(
                uri(location), (snapshot.place.branch, snapshot.version), storage_options=dict(options) or None
            )

    def create_tag(self, snapshot: Snapshot, name: str) -> None:
        with errors(snapshot.location):
            _opened(snapshot).tags.create(name, (snapshot.place.branch, snapshot.version))

    def delete_tag(self, snapshot: Snapshot, name: str) -> None:
        with errors(snapshot.location):
            _opened(snapshot).tags.delete(name)

    def create_branch(self, snapshot: Snapshot, name: str) -> None:
        with errors(snapshot.location):
            _opened(snapshot).create_branch(name, (snapshot.place.branch, snapshot.version))

    def delete_branch(self, snapshot: Snapshot, name: str) -> None:
        with errors(snapshot.location):
            _opened(snapshot).branches.delete(name)


PYLANCE = Pylance()


_Opening: TypeAlias = tuple[str, str | None, int, dict[str, str]]


def _opened(snapshot: Snapshot) -> LanceDataset:
    return open_dataset(*_opening(snapshot))


def _opening(snapshot: Snapshot) -> _Opening:
    place = snapshot.place
    return place.storage.url, place.branch, snapshot.version, dict(place.options)


def _rewritten(opening: _Opening, tasks: Sequence[bytes], number: int) -> bytes:
    """One group of fragments, rewritten. What is written belongs to no version until all groups are committed."""
    with errors(opening[0]):
        return pickle.dumps(pickle.loads(tasks[number]).execute(open_dataset(*opening)))


def _changed(snapshot: Snapshot, change: Callable[[LanceDataset], object]) -> int:
    with errors(snapshot.location), _overtaking():
        dataset = _opened(snapshot)
        change(dataset)
        return int(dataset.version)


def _is_bare(change: Change, snapshot: Snapshot) -> TypeGuard[Overwrite]:
    """Whether nothing but the table tells of which version data files are, and it is to be another."""
    return isinstance(change, Overwrite) and not change.fragments and change.file_version != snapshot.manifest.file_version


def _emptied(dataset: LanceDataset, change: Overwrite, message: str | None) -> int:
    """A version without rows. Of a commit by itself the library asks in no way of which version data files are to be."""
    made = lance.write_dataset(
        change.schema.empty_table(), dataset, mode="overwrite", data_storage_version=change.file_version, commit_message=message
    )
    return int(made.version)


def _operation(dataset: LanceDataset, change: Change) -> LanceOperation.BaseOperation:
    match change:
        case Append(fragments):
            return LanceOperation.Append(_parsed(fragments))
        case Overwrite(fragments, schema, _):
            return LanceOperation.Overwrite(schema, _parsed(fragments))
        case ChangeRows(deletions, removed, (), predicate):
            return LanceOperation.Delete(_with_deletions(dataset, deletions), list(removed), predicate)
        case ChangeRows(deletions, removed, added, _, modified):
            return LanceOperation.Update(
                removed_fragment_ids=list(removed),
                updated_fragments=_with_deletions(dataset, deletions),
                new_fragments=_parsed(added),
                fields_for_preserving_frag_bitmap=list(modified),
                update_mode="rewrite_rows",
            )


def _with_deletions(dataset: LanceDataset, deletions: Mapping[int, tables.DeletionFile]) -> list[FragmentMetadata]:
    found = {fragment.fragment_id: fragment.metadata for fragment in dataset.get_fragments() if fragment.fragment_id in deletions}
    return [replace(found[number], deletion_file=_deletion(file)) for number, file in deletions.items()]


def _deletion(file: tables.DeletionFile) -> DeletionFile:
    return DeletionFile(file.read_version, file.id, _KINDS[file.kind], file.rows or 0, file.base_id)


def _parsed(fragments: Iterable[str]) -> list[FragmentMetadata]:
    return [FragmentMetadata.from_json(text) for text in fragments]


def _alteration(change: AlterColumn) -> dict[str, Any]:
    said = {"path": change.path, "name": change.name, "nullable": change.nullable, "data_type": change.type}
    return {key: value for key, value in said.items() if value is not None}


def _options(wanted: Compaction) -> Any:
    return {
        "target_rows_per_fragment": wanted.target_rows,
        "materialize_deletions": True,
        "materialize_deletions_threshold": wanted.deleted_part,
        **({"defer_index_remap": True} if wanted.defers_indices else {}),
    }


@contextmanager
def _overtaking() -> Iterator[None]:
    """A conflict after which the change can be worked out anew is told apart from one that is final."""
    try:
        yield
    except EskerError:
        raise
    except Exception as error:
        if "retryable" in str(error).lower():
            raise Overtaken(f"another writer was first: {error}") from error
        raise

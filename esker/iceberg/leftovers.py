"""What becomes of files that were written for a change that does not come about?

They are taken away, if it is certain that no snapshot names them. A file that stays is never seen, and removing orphans takes it.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from esker.errors import CommitUnknown, EskerError
from esker.iceberg.commit import is_certain
from esker.iceberg.data_files import DataFile
from esker.iceberg.file_change import FileChange
from esker.iceberg.snapshot_writer import publish
from esker.iceberg.state import TableState
from esker.iceberg.updates import Update
from esker.iceberg.writing import recorded_path


@contextmanager
def discarding(state: TableState, folders: Collection[str]) -> Iterator[None]:
    """Take away the files in these folders of the data root where what follows fails, unless it may have succeeded."""
    try:
        yield
    except CommitUnknown:
        raise
    except BaseException:
        discard(state, folders)
        raise


def discard(state: TableState, folders: Collection[str]) -> None:
    """Take away the files in these folders of the data root, as far as that can be done."""
    try:
        for folder in folders:
            storage, name = state.place.locate(recorded_path(state, folder))
            for file in list(storage.list(name)):
                storage.delete(file.path)
    except EskerError:
        return  # leftovers that no snapshot names


def publish_or_discard(
    state: TableState,
    change: FileChange,
    written: Iterable[DataFile],
    besides: Iterable[Update] = (),
    isolation: str | None = None,
) -> TableState:
    """Publish the change. Where it certainly did not happen, the files that were written for it are taken away."""
    try:
        return publish(state, change, besides, isolation)
    except EskerError as error:
        if is_certain(error):
            for path in dict.fromkeys(file.file_path for file in written):
                storage, name = state.place.locate(path)
                try:
                    storage.delete(name)
                except EskerError:
                    break  # leftovers that no snapshot names
        raise

"""What becomes of files that were written for a change that does not come about?

They are taken away, if it is certain that no version names them. A file that stays is never seen, and vacuum takes it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from esker.delta.commit import commit
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change
from esker.errors import Conflict, EskerError, InvalidRequest, Unsupported
from esker.storage.port import Storage


@contextmanager
def discarding(storage: Storage, folders: Collection[str]) -> Iterator[None]:
    """Take away what lies in the folders, which are fresh, where the work within fails."""
    try:
        yield
    except BaseException:
        for folder in folders:
            _discard_folder(storage, folder)
        raise


def commit_or_discard(read_at: Snapshot, apply: Callable[[Snapshot], Change], paths: Collection[str]) -> Snapshot:
    """Publish the change. Where it was refused before it was published, the files at these paths are taken away.

    After any other failure the version may be there, or may yet turn out to be.
    """
    try:
        return commit(read_at, apply)
    except (Conflict, InvalidRequest, Unsupported):
        discard(read_at.place.storage, paths)
        raise


def discard(storage: Storage, paths: Iterable[str]) -> None:
    """Remove the files, as far as the storage lets us."""
    for path in paths:
        try:
            storage.delete(path)
        except EskerError:
            return


def _discard_folder(storage: Storage, folder: str) -> None:
    try:
        found = [file.path for file in storage.list(folder)]
    except EskerError:
        return
    discard(storage, found)

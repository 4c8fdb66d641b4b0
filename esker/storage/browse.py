"""What lies right in a folder, without what lies deeper?

The six verbs list at any depth, which is no way to look around in a lake: a table's data files would all be listed for the sake
of its name. Local folders and object stores tell one level at a time; for any other storage the level is made of listings that
hop over each folder.
"""

import os
from dataclasses import dataclass

from esker.storage.cloud import CloudStorage
from esker.storage.local import LocalStorage, os_errors
from esker.storage.memory import MemoryStorage
from esker.storage.opening import storage_at
from esker.storage.paths import checked, join_url
from esker.storage.port import Storage

_LAST = "\U0010ffff"
"""Sorts after all that names begin with."""


@dataclass(frozen=True, slots=True)
class Level:
    """The names right in a folder, each kind sorted. `links` are the folders that a symbolic link leads to."""

    folders: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def level(storage: Storage, folder: str = "") -> Level:
    """What lies right in a folder, the root by default; nothing where there is no such folder."""
    match storage:
        case LocalStorage():
            return _scanned(storage.local_path(folder) if folder else storage.root or "/")
        case CloudStorage():
            folders, files = storage.level(folder)
            return Level(folders, (), files)
    return _hopped(storage, folder)


def below(storage: Storage, folder: str) -> Storage:
    """The storage whose root is a folder of this one, reached by the same client."""
    if not folder:
        return storage
    match storage:
        case LocalStorage():
            return LocalStorage(storage.local_path(folder))
        case CloudStorage():
            return storage.below(folder)
        case MemoryStorage():
            return MemoryStorage(join_url(storage.url, checked(folder)))
    return storage_at(join_url(storage.url, checked(folder)))


def real_path(storage: Storage, folder: str = "") -> str | None:
    """Where a folder really is, symbolic links resolved; None in a storage that has no links."""
    if not isinstance(storage, LocalStorage):
        return None
    return os.path.realpath(storage.local_path(folder) if folder else storage.root or "/")


def _scanned(folder: str) -> Level:
    folders, links, files = [], [], []
    with os_errors(folder), os.scandir(folder) as scan:
        for entry in scan:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_symlink() and os.path.isdir(entry.path):
                links.append(entry.name)
            else:
                files.append(entry.name)
    return Level(tuple(sorted(folders)), tuple(sorted(links)), tuple(sorted(files)))


def _hopped(storage: Storage, folder: str) -> Level:
    prefix = f"{folder}/" if folder else ""
    folders, files = [], []
    after: str | None = None
    while (found := next(iter(storage.list(folder, after)), None)) is not None:
        name, slash, _ = found.path.removeprefix(prefix).partition("/")
        if slash:
            folders.append(name)
            after = f"{prefix}{name}/{_LAST}"
        else:
            files.append(name)
            after = found.path
    return Level(tuple(sorted(folders)), (), tuple(files))

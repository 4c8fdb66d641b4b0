"""Which tables lie below a folder or a bucket's prefix?

Knows of each format nothing but the folder by which its tables are told. A table's own folder is not searched further: what lies
below it is its data, whatever it looks like. Folders whose names begin with a dot or an underscore are hidden, by the convention
of all engines. A symbolic link is followed where it leads out of what is searched, and each place is searched once.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

from esker.errors import EskerError
from esker.storage.browse import Level, level, real_path
from esker.storage.port import Storage


@dataclass(frozen=True, slots=True)
class Mark:
    """The folder that a format's tables have, and how the files in it end; any folder of the name does where nothing is said."""

    format: str
    folder: str
    endings: tuple[str, ...] = ()


MARKS = (
    Mark("delta", "_delta_log"),
    Mark("iceberg", "metadata", (".metadata.json", ".metadata.json.gz")),
    Mark("lance", "_versions", (".manifest",)),
)


@dataclass(frozen=True, slots=True)
class Spot:
    """A table: where, relative to the root, and of which format. A folder can be a table of two formats."""

    folder: str
    format: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A folder that was not searched, and why."""

    folder: str
    why: str


@dataclass
class Search:
    """What has been found so far, and how far the search has come."""

    storage: Storage
    with_hidden: bool
    spots: list[Spot] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: int = 0
    """How many folders were looked into."""


def search(
    storage: Storage, pool: Executor, with_hidden: bool = False, progress: Callable[[int], None] = lambda found: None
) -> Search:
    """Search all folders, many at once. `progress` is told how many tables are known."""
    state = Search(storage, with_hidden)
    links = _descend(state, [""], pool, progress)
    _follow(state, links, pool, progress)
    state.spots.sort(key=lambda spot: (spot.folder, spot.format))
    state.skipped.sort(key=lambda skipped: skipped.folder)
    return state


def _descend(
    state: Search,
    start: list[str],
    pool: Executor,
    progress: Callable[[int], None],
    known: frozenset[str] = frozenset(),
) -> list[str]:
    """Search these folders and all below them but for the `known` ones, a level at a time; the links that were met."""
    folders, links = start, list[str]()
    while folders:
        deeper: list[str] = []
        for folder, found in zip(folders, pool.map(lambda one: _look(state.storage, one), folders), strict=True):
            state.folders += 1
            if isinstance(found, EskerError):
                state.skipped.append(Skipped(folder, f"it cannot be listed: {found.what}"))
                continue
            formats, names = found
            state.spots += [Spot(folder, format) for format in formats]
            if not formats:
                inside = _shown(state, folder, names.folders)
                deeper += [one for one in inside if not known or real_path(state.storage, one) not in known]
                links += _shown(state, folder, names.links)
        progress(len(state.spots))
        folders = deeper
    return links


def _look(storage: Storage, folder: str) -> tuple[list[str], Level] | EskerError:
    """The formats that the folder is a table of, and what lies in it."""
    try:
        found = level(storage, folder)
    except EskerError as error:
        return error
    present = [mark for mark in MARKS if mark.folder in found.folders or mark.folder in found.links]
    return [mark.format for mark in present if _fits(storage, folder, mark)], found


def _fits(storage: Storage, folder: str, mark: Mark) -> bool:
    if not mark.endings:
        return True
    try:
        return any(name.endswith(mark.endings) for name in level(storage, _join(folder, mark.folder)).files)
    except EskerError:
        return False  # searched like any other folder, and told of then


def _shown(state: Search, folder: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        path = _join(folder, name)
        if name.startswith((".", "_")) and not state.with_hidden:
            state.skipped.append(Skipped(path, "it is hidden"))
        else:
            yield path


def _follow(state: Search, links: list[str], pool: Executor, progress: Callable[[int], None]) -> None:
    root = real_path(state.storage) or ""
    searched = [root]
    waiting = sorted(links)
    while waiting:
        link = waiting.pop(0)
        target = real_path(state.storage, link) or ""
        if any(_is_within(target, place) for place in searched):
            state.skipped.append(Skipped(link, "it is a link to what is searched anyway"))
        elif _is_within(root, target):
            state.skipped.append(Skipped(link, "it is a link that leads above the root"))
        else:
            more = _descend(state, [link], pool, progress, frozenset(searched))
            searched.append(target)
            waiting = sorted([*waiting, *more])


def _is_within(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name

"""Where does a file lie that a table's metadata names?  (spec, "Table Metadata", `location`; "Overview")

Iceberg names its files in full, so that a table that was copied elsewhere still names the place that it came from. The recorded
`location` therefore stands for the folder in which the metadata was found, and `moves` says where the rest is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import array, int64, mask_of
from esker.core.demands import Judge
from esker.errors import InvalidTable
from esker.storage import open_storage, relocated, split_url, storage_at
from esker.storage.paths import below, resolve_literal, trimmed
from esker.storage.port import Storage

METADATA = "metadata"


@dataclass(frozen=True)
class Place:
    """Where a table is: its storage, the options that opened it, and prefixes of paths that have moved.

    `judge` is asked whether a change keeps the table's promises; None where they are not to be kept.
    """

    storage: Storage
    options: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    recorded: str | None = None
    """The location that the metadata records, where the table's folder is known."""
    judge: Judge | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        """A storage's connections do not travel; it is opened anew where the place arrives."""
        return _place_at, (self.url, dict(self.options), dict(self.moves), self.recorded)

    @property
    def url(self) -> str:
        return self.storage.url

    def recording(self, location: str) -> "Place":
        """The place of a table whose metadata records this location."""
        return replace(self, recorded=location)

    def absolute(self, path: str) -> str:
        """The URL of a file that the metadata names."""
        for old, new in self._prefixes:
            if path == old:
                return new
            if path.startswith(f"{old}/"):
                return below(new, path.removeprefix(f"{old}/").lstrip("/"))
        if not path.startswith("/") and ":/" not in path:
            raise InvalidTable(
                f"the path {path!r:.200} is relative and does not begin with the table's location {self.recorded!r}",
                where=self.url,
                hint="Pass relocate={prefix: folder} to say where the files are.",
            )
        return relocated(resolve_literal(self.url, path), self.moves)

    def absolutes(self, paths: pa.StringArray) -> pa.StringArray:
        """The URLs of many files. All those below the table's own folder are made at once."""
        if not len(self._prefixes) or not len(paths):
            return array([self.absolute(path) for path in paths.to_pylist()], pa.string())
        old, new = next((p for p in self._prefixes if p[0] == trimmed(self.recorded or "")), self._prefixes[-1])
        rest = pc.utf8_slice_codeunits(paths, len(old) + 1)
        is_plain = pc.and_not(pc.starts_with(paths, f"{old}/"), pc.match_substring_regex(rest, _UNUSUAL))
        if len(self._prefixes) > 1:
            for other in (p for p, _ in self._prefixes if p != old):
                is_plain = pc.and_not(is_plain, pc.starts_with(paths, other))
        begin, nothing = array([f"{trimmed(new)}/", ""], pa.string())
        joined = pc.binary_join_element_wise(begin, rest, nothing)
        rows = np.flatnonzero(~mask_of(is_plain))
        if not len(rows):
            return joined
        slow = array([self.absolute(path) for path in paths.take(int64(rows)).to_pylist()], pa.string())
        return pc.replace_with_mask(joined, pc.invert(is_plain), slow)

    def locate(self, path: str) -> tuple[Storage, str]:
        """The storage that holds a file that the metadata names, and the file's path in it."""
        url = self.absolute(path)
        if url.startswith(f"{self.url}/"):
            return self.storage, url.removeprefix(f"{self.url}/")
        root, name = split_url(url)
        return storage_at(root, self.options), name

    @cached_property
    def _prefixes(self) -> tuple[tuple[str, str], ...]:
        """What stands for what, the longest first: what the caller says, and then the recorded location."""
        told = [(trimmed(old), _folder(new)) for old, new in self.moves.items()]
        if self.recorded is not None and self.recorded.rstrip("/"):
            told += [(spelling, self.url) for spelling in _spellings(trimmed(self.recorded))]
        return tuple(sorted(dict(reversed(told)).items(), key=lambda prefix: -len(prefix[0])))


# an empty segment, one that is only dots, anything that paths.py looks at twice
_UNUSUAL = r"(^|/)(/|\.\.?(/|$)|$)|[\\\x00]"


def _place_at(url: str, options: Mapping[str, str], moves: Mapping[str, str], recorded: str | None) -> Place:
    return Place(storage_at(url, options), options, moves, recorded)


def _spellings(location: str) -> tuple[str, ...]:
    """A relative location is met with and without its `./`."""
    return (location, location.removeprefix("./")) if location.startswith("./") else (location,)


def _folder(location: str) -> str:
    """The URL of a folder as people write it."""
    return trimmed(location) if "://" in location else open_storage(location).url

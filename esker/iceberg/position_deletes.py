"""Which rows of which data files are dead by position?  (spec, "Position Delete Files", "Deletion Vectors", "Scan Planning")

A delete file concerns data files of its own partition that are not younger than it is; a deletion vector, or a delete file that
names its data file, concerns that one alone. Where a data file has a deletion vector, no position delete file is looked at. What
names a live data file and does not fit it is an error: to ignore it would bring dead rows back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from esker.core import types as t
from esker.core.bitmap import Bitmap
from esker.core.columns import Mask, booleans, int64, mask_of, rows_of
from esker.core.scan import Deletes, FromConstant, FromFile, Positions, ScanColumn
from esker.core.types import Field, Struct
from esker.errors import InvalidTable
from esker.iceberg.data_files import Content
from esker.iceberg.file_plan import RowReader, file_plan
from esker.iceberg.live_files import Files, LiveFiles
from esker.iceberg.name_mapping import mapping_of
from esker.iceberg.puffin import MAGIC, blob_bytes, parse_puffin, parse_vector
from esker.iceberg.state import TableState
from esker.iceberg.statistics import looked_up

Numbers = npt.NDArray[np.int64]

PATH_ID, POSITION_ID = 2147483546, 2147483545
_PATH = Field("file_path", t.STRING, False, PATH_ID)
_POSITION = Field("pos", t.LONG, False, POSITION_ID)
_DELETE_FILE = "delete_file"
_PLACE = r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?"


@dataclass(frozen=True)
class PositionDeletes:
    """The position deletes and deletion vectors of some data files, whose URLs are `urls`."""

    state: TableState
    live: LiveFiles
    urls: pa.StringArray
    read: RowReader

    @cached_property
    def has_deletes(self) -> Mask:
        """Which data files may have dead rows. False is certain."""
        found = self._vector_of >= 0
        naming = np.flatnonzero(~self._is_vector & (self._target >= 0))
        targets = self._target[naming]
        found[targets[self._ages[targets] <= self._delete_ages[naming]]] = True
        youngest = np.full(
            int(max(self._scopes.max(initial=-1), self._delete_scopes.max(initial=-1))) + 1, -1, np.int64
        )
        shared = ~self._is_vector & (self._target == _ANY)
        np.maximum.at(youngest, self._delete_scopes[shared], self._delete_ages[shared])
        return found | (youngest[self._scopes] >= self._ages)

    def load(self, ordinals: Sequence[int]) -> Mapping[int, Deletes]:
        """The dead rows of these data files."""
        wanted = np.array(ordinals, np.int64)
        vectors = wanted[self._vector_of[wanted] >= 0]
        found: dict[int, Deletes] = dict(self._load_vectors(vectors))
        rest = wanted[self._vector_of[wanted] < 0]
        found.update(self._load_files(rest))
        return {int(i): found.get(int(i), Positions(Bitmap.of(()))) for i in ordinals}

    def find(self) -> None:
        """Raise where a delete file is not to be found, or is none."""
        paths, is_vector = self._deletes.column("file_path"), self._is_vector
        self.state.prove_there(dict.fromkeys(paths.filter(booleans(~is_vector)).to_pylist()))
        self.state.prove_there(dict.fromkeys(paths.filter(booleans(is_vector)).to_pylist()), MAGIC)

    @cached_property
    def _deletes(self) -> Files:
        return self.live.deletes.only(self._is_positional)

    @cached_property
    def _is_positional(self) -> Mask:
        found: Mask = self.live.deletes.numbers("content") == Content.POSITION_DELETES
        return found

    @cached_property
    def _is_vector(self) -> Mask:
        return mask_of(pc.equal(pc.utf8_lower(self._deletes.column("file_format")), "puffin"))

    @property
    def _scopes(self) -> Numbers:
        return self.live.scopes[0]

    @cached_property
    def _delete_scopes(self) -> Numbers:
        return self.live.scopes[1][self._is_positional]

    @cached_property
    def _ages(self) -> Numbers:
        return self.live.data.numbers("sequence_number")

    @cached_property
    def _delete_ages(self) -> Numbers:
        return self._deletes.numbers("sequence_number")

    @cached_property
    def _target(self) -> Numbers:
        """The data file that each delete file names: its ordinal, `_ANY` where it names none, `_GONE` where that is gone."""
        named = pc.coalesce(self._deletes.column("referenced_data_file"), _only_path(self._deletes))
        targets = np.where(mask_of(pc.is_valid(named)), _GONE, _ANY)
        rows = np.flatnonzero(targets == _GONE)
        paths = named.take(int64(rows))
        targets[rows] = self._ordinals(paths)
        if (self._is_vector & (targets == _ANY)).any():
            raise InvalidTable("a deletion vector has no referenced_data_file", where=self.state.location)
        is_here = np.flatnonzero(targets >= 0)
        if (self._delete_scopes[is_here] != self._scopes[targets[is_here]]).any():
            raise InvalidTable(
                "deletes are of another partition than the data file that they name", where=self.state.location
            )
        return targets

    @cached_property
    def _vector_of(self) -> Numbers:
        """The number of each data file's deletion vector among the delete files, -1 where it has none."""
        numbers = np.flatnonzero(self._is_vector & (self._target >= 0))
        targets = self._target[numbers]
        if len(np.unique(targets)) < len(targets):
            # "At most one DV per data file per snapshot."
            raise InvalidTable("a data file has two deletion vectors", where=self.state.location)
        if (self._ages[targets] > self._delete_ages[numbers]).any():
            raise InvalidTable("a deletion vector is older than its data file", where=self.state.location)
        found = np.full(len(self.urls), -1, np.int64)
        found[targets] = numbers
        return found

    def _ordinals(self, paths: pa.StringArray) -> Numbers:
        """The ordinals of data files by paths that deletes name; `_GONE` where there is no such file any more."""
        found = pc.index_in(self.state.place.absolutes(paths), value_set=self.urls)
        ordinals = rows_of(pc.fill_null(found, _GONE))
        self._refuse_other_places(paths.filter(pc.is_null(found)))
        return ordinals

    def _refuse_other_places(self, paths: pa.StringArray) -> None:
        """ "This must match the file_path of the target data file": the same path on another host may or may not be it."""
        if not len(paths):
            return
        bare = pc.replace_substring_regex(paths, _PLACE, "")
        known = pc.replace_substring_regex(self.live.data.column("file_path"), _PLACE, "")
        doubtful = paths.filter(pc.is_in(bare, value_set=known))
        if len(doubtful):
            place = doubtful[0].as_py().removesuffix(pc.replace_substring_regex(doubtful, _PLACE, "")[0].as_py())
            raise InvalidTable(
                f"deletes name the data file {doubtful[0].as_py()!r}, which the manifests have without or with another {place!r}",
                where=self.state.location,
                hint="If it is the same file, pass relocate={prefix: folder} for both spellings.",
            )

    def _load_vectors(self, ordinals: Numbers) -> Mapping[int, Positions]:
        numbers = self._vector_of[ordinals]
        rows = {name: self._deletes.column(name).take(int64(numbers)).to_pylist() for name in _VECTOR_COLUMNS}
        by_file: dict[str, list[int]] = {}
        for at, path in enumerate(rows["file_path"]):
            by_file.setdefault(path, []).append(at)
        found: dict[int, Positions] = {}
        for path, data in zip(by_file, self.state.read_all(by_file), strict=True):
            puffin = parse_puffin(data, path)
            blobs = {(blob.offset, blob.length): blob for blob in puffin.blobs}
            for at in by_file[path]:
                place = rows["content_offset"][at], rows["content_size_in_bytes"][at]
                blob = blobs.get(place)
                # "exactly equal to the blob's offset and length in the Puffin footer"
                if blob is None or blob.type != "deletion-vector-v1":
                    raise InvalidTable(f"there is no deletion vector at {place[0]} with {place[1]} bytes", where=path)
                bitmap = parse_vector(blob_bytes(puffin, blob), path)
                self._check_vector(bitmap, rows["record_count"][at], blob.properties, int(ordinals[at]), path)
                found[int(ordinals[at])] = Positions(bitmap)
        return found

    def _check_vector(self, bitmap: Bitmap, count: int, said: Mapping[str, str], ordinal: int, path: str) -> None:
        if len(bitmap) != count or said.get("cardinality", str(count)) != str(count):
            raise InvalidTable(f"a deletion vector has {len(bitmap)} rows and says {count}", where=path)
        named = said.get("referenced-data-file")
        if named is not None and self.state.place.absolute(named) != self.urls[ordinal].as_py():
            raise InvalidTable(
                f"a deletion vector is for the data file {named}, not for {self.urls[ordinal]}", where=path
            )

    def _load_files(self, ordinals: Numbers) -> Mapping[int, Positions]:
        needed = self._needed(ordinals)
        if not needed.any():
            return {}
        rows = self._read_rows(needed)
        targets = self._ordinals_of_rows(rows.column("file_path"))
        deletes, positions = rows_of(rows.column(_DELETE_FILE)), rows_of(pc.fill_null(rows.column("pos"), -1))
        # a row without path or position names no row
        concerned = np.flatnonzero((targets >= 0) & (positions >= 0))
        targets, deletes, positions = targets[concerned], deletes[concerned], positions[concerned]
        if (self._scopes[targets] != self._delete_scopes[deletes]).any():
            raise InvalidTable("position deletes name a data file of another partition", where=self.state.location)
        applied = np.flatnonzero((self._ages[targets] <= self._delete_ages[deletes]) & np.isin(targets, ordinals))
        targets, positions = targets[applied], positions[applied]
        order = np.argsort(targets, kind="stable")
        heads = np.flatnonzero(np.diff(targets[order])) + 1
        parts = zip(np.split(targets[order], heads), np.split(positions[order], heads), strict=True)
        return {
            int(files[0]): Positions(Bitmap(BitMap64(dead.astype(np.uint64)))) for files, dead in parts if len(files)
        }

    def _needed(self, ordinals: Numbers) -> Mask:
        """The delete files that may name one of these data files."""
        is_file = ~self._is_vector
        by_name = is_file & np.isin(self._target, ordinals)
        oldest = np.full(
            int(max(self._scopes.max(initial=-1), self._delete_scopes.max(initial=-1))) + 1, _NEVER, np.int64
        )
        np.minimum.at(oldest, self._scopes[ordinals], self._ages[ordinals])
        found: Mask = by_name | (is_file & (self._target == _ANY) & (oldest[self._delete_scopes] <= self._delete_ages))
        return found

    def _read_rows(self, needed: Mask) -> pa.Table:
        columns = (
            *(ScanColumn(Field(f.name, f.type), FromFile(f)) for f in (_PATH, _POSITION)),
            ScanColumn(Field(_DELETE_FILE, t.LONG), FromConstant(_DELETE_FILE)),
        )
        constants = {_DELETE_FILE: (Field(_DELETE_FILE, t.LONG), int64(np.flatnonzero(needed)))}
        found = file_plan(self.state, self._deletes.only(needed), columns, constants)
        # the columns are none of the table's, so that its mapping of names says nothing of them
        return self.read(replace(found, mapped_ids=mapping_of(Struct((_PATH, _POSITION))), has_all_columns=True))

    def _ordinals_of_rows(self, paths: pa.ChunkedArray) -> Numbers:
        encoded = paths.combine_chunks().dictionary_encode()
        whole = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        if not len(whole.dictionary):
            return np.full(len(paths), _GONE)
        ordinals = self._ordinals(whole.dictionary)
        codes = rows_of(pc.fill_null(whole.indices, 0))
        return np.where(mask_of(pc.is_valid(whole)), ordinals[codes], _GONE)


_ANY, _GONE = -1, -2
_NEVER = np.iinfo(np.int64).max
_VECTOR_COLUMNS = ("file_path", "content_offset", "content_size_in_bytes", "record_count")


def _only_path(deletes: Files) -> pa.StringArray:
    """The one path that a delete file has rows for, by the bounds of its paths."""
    lower, upper = (looked_up(deletes.column(name), PATH_ID) for name in ("lower_bounds", "upper_bounds"))
    same = pc.if_else(pc.fill_null(pc.equal(lower, upper), False), lower, pa.scalar(None, pa.binary()))
    return same.cast(pa.string())

"""Do fragments and their files keep the rules?  (Lance table format, "DataFragment", "DataFile", "Deletion files", "Row ids")"""

import struct
from collections import Counter
from collections.abc import Iterator

import numpy as np

from esker.arrow.scan import read_rows
from esker.check.lance.evidence import Evidence
from esker.check.lance.sections import table_format
from esker.check.model import Rule, Severity, Sighting
from esker.errors import EskerError
from esker.lance.file_versions import LEGACY
from esker.lance.manifest import MAGIC, DataFile, Fragment, check_list
from esker.lance.plan import plan
from esker.lance.row_ids import parse_row_versions

_FRAGMENT, _FILE = table_format("#datafragment"), table_format("#datafile")
_FOOTER = struct.Struct("<HH4s")
_MIXED = 256


def _where(fragment: Fragment) -> str:
    return f"fragment {fragment.id}"


def _unlisted(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    try:
        check_list(evidence.snapshot.manifest, "manifest")
        _ = evidence.snapshot.fragments
    except EskerError as error:
        yield Sighting("manifest", error.what)


def _twice(evidence: Evidence) -> Iterator[Sighting]:
    for number, count in Counter(fragment.id for fragment in evidence.fragments).items():
        if count > 1:
            yield Sighting(f"fragment {number}", f"{count} fragments have this number")


def _unsorted(evidence: Evidence) -> Iterator[Sighting]:
    numbers = [fragment.id for fragment in evidence.fragments]
    if numbers != sorted(numbers):
        yield Sighting("manifest", "fragments are not in the order of their numbers")


def _too_large(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(_where(f), "its number has more than 32 bits") for f in evidence.fragments if f.id >= 1 << 32)


def _beyond(evidence: Evidence) -> Iterator[Sighting]:
    greatest = None if evidence.manifest is None else evidence.manifest.max_fragment_id
    for fragment in evidence.fragments:
        if greatest is not None and fragment.id > greatest:
            yield Sighting(_where(fragment), f"its number is beyond max_fragment_id, {greatest}")


def _no_count(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(_where(f), "it does not say how many rows it has") for f in evidence.fragments if not f.physical_rows)


def _no_files(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(_where(f), "it has no file") for f in evidence.fragments if not f.files)


def _fields_twice(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        counted = Counter(id for file in fragment.files for id in file.fields if id >= 0)
        if again := sorted(id for id, count in counted.items() if count > 1):
            yield Sighting(_where(fragment), f"fields are in more than one place: {', '.join(map(str, again[:10]))}")


def _unknown_parts(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        if fragment.unknown:
            yield Sighting(_where(fragment), f"it has fields that Esker does not know: {sorted(fragment.unknown)}")


def _files(evidence: Evidence) -> Iterator[tuple[Fragment, DataFile]]:
    return ((fragment, file) for fragment in evidence.fragments for file in fragment.files)


def _astray(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    for fragment, file in _files(evidence):
        try:
            evidence.place.data_file(evidence.snapshot.manifest, file)
        except EskerError as error:
            yield Sighting(_where(fragment), error.what)


def _versions(evidence: Evidence) -> Iterator[Sighting]:
    manifest = evidence.manifest
    if manifest is None or manifest.reader_flags & manifest.writer_flags & _MIXED:
        return
    for fragment, file in _files(evidence):
        if file.version != manifest.file_version:
            yield Sighting(_where(fragment), f"{file.path} is of version {file.version}, and the table of {manifest.file_version}")


def _indices(evidence: Evidence) -> Iterator[Sighting]:
    for fragment, file in _files(evidence):
        if file.version != "0.1" and len(file.column_indices) != len(file.fields):
            yield Sighting(_where(fragment), f"{file.path} has {len(file.fields)} fields and {len(file.column_indices)} columns")


def _missing(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(stored.where, "the file is missing") for stored in evidence.stored_files if stored.info is None)


def _sizes(evidence: Evidence) -> Iterator[Sighting]:
    for stored in evidence.stored_files:
        if stored.info is None or stored.file.size is None or stored.info.size == stored.file.size:
            continue
        # of the oldest version pylance counts the bytes of the values alone
        if stored.file.version != LEGACY or stored.info.size < stored.file.size:
            yield Sighting(stored.where, f"it has {stored.info.size} bytes, and the manifest says {stored.file.size}")


def _footers(evidence: Evidence) -> Iterator[Sighting]:
    for stored in evidence.stored_files:
        if stored.info is None:
            continue
        storage, path = evidence.place.locate(stored.url)
        tail = storage.read(path, max(0, stored.info.size - _FOOTER.size))
        if len(tail) < _FOOTER.size or not tail.endswith(MAGIC):
            yield Sighting(stored.where, "it does not end as a Lance file does")
            continue
        major, minor, _ = _FOOTER.unpack(tail)
        told = DataFile(path, (), (), major, minor)
        if told.version != stored.file.version:
            yield Sighting(stored.where, f"its footer says version {told.version}, and the manifest {stored.file.version}")


def _deletions(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        try:
            _ = None if evidence.snapshot is None else evidence.snapshot.dead_rows(fragment)
        except EskerError as error:
            yield Sighting(_where(fragment), error.what)


def _all_dead(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        if fragment.deletion is not None and fragment.live_rows == 0:
            yield Sighting(_where(fragment), "all of its rows are deleted")


def _row_ids(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        try:
            ids = None if evidence.snapshot is None else evidence.snapshot.row_ids(fragment)
        except EskerError as error:
            yield Sighting(_where(fragment), error.what)
            continue
        if ids is not None and fragment.physical_rows is not None and len(ids) != fragment.physical_rows:
            yield Sighting(_where(fragment), f"it has {fragment.physical_rows} rows and {len(ids)} row ids")


def _same_ids(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    alive = []
    for fragment in evidence.fragments:
        ids, dead = evidence.snapshot.row_ids(fragment), evidence.snapshot.dead_rows(fragment)
        if ids is not None:
            alive.append(ids if dead is None else np.delete(ids, dead.to_numpy().astype(np.int64)))
    whole = np.concatenate(alive) if alive else np.empty(0, np.uint64)
    if (again := len(whole) - len(np.unique(whole))) > 0:
        yield Sighting("row ids", f"{again} rows have the id of another")
    if len(whole) and int(whole.max()) >= evidence.snapshot.manifest.next_row_id:
        yield Sighting("row ids", f"the id {whole.max()} is not below next_row_id, {evidence.snapshot.manifest.next_row_id}")


def _lineage(evidence: Evidence) -> Iterator[Sighting]:
    for fragment in evidence.fragments:
        for held in (fragment.created_at, fragment.updated_at):
            if isinstance(held, bytes) and fragment.physical_rows is not None:
                try:
                    versions = parse_row_versions(held, _where(fragment))
                except EskerError as error:
                    yield Sighting(_where(fragment), error.what)
                    continue
                if len(versions) != fragment.physical_rows:
                    yield Sighting(_where(fragment), f"versions are told of {len(versions)} of {fragment.physical_rows} rows")


def _rows(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    for fragment in evidence.fragments:
        scan = plan(evidence.snapshot, None).of([fragment.id])
        try:
            found = sum(batch.num_rows for batch in read_rows(scan))
        except EskerError as error:
            yield Sighting(_where(fragment), error.what)
            continue
        if fragment.live_rows is not None and found != fragment.live_rows:
            yield Sighting(_where(fragment), f"it has {found} live rows, and the manifest says {fragment.live_rows}")


_ANEW = "Rewrite the fragment by a compaction, or restore an older version."
_LOST = "Bring the file back, or restore a version that does not need it."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("fragments.list", Severity.ERROR, _FRAGMENT, "Fragments are made of what the description has.", "Use a newer Esker.", _unlisted),
    Rule("fragments.once", Severity.ERROR, _FRAGMENT, "A fragment has a number of its own.", _ANEW, _twice),
    Rule("fragments.sorted", Severity.WARNING, _FRAGMENT, "Fragments are sorted by their numbers.", "The next commit sorts them.", _unsorted),
    Rule("fragments.numbers", Severity.ERROR, _FRAGMENT, "A fragment's number fits 32 bits.", _ANEW, _too_large),
    Rule("fragments.high-water-mark", Severity.ERROR, table_format("#9-commit-protocol"), "No fragment's number is beyond max_fragment_id.", _ANEW, _beyond),
    Rule("fragments.rows", Severity.WARNING, _FRAGMENT, "A fragment says how many rows it has.", _ANEW, _no_count),
    Rule("fragments.files", Severity.ERROR, _FRAGMENT, "A fragment has files.", _ANEW, _no_files),
    Rule("fragments.fields-once", Severity.ERROR, _FILE, "A field of a fragment lies in one file.", _ANEW, _fields_twice),
    Rule("fragments.unknown", Severity.WARNING, _FRAGMENT, "A fragment has the parts of the description.", "Use a newer Esker to look at it.", _unknown_parts),
    Rule("files.paths", Severity.ERROR, table_format("#6-base-paths"), "A path leads to a file below the table or one of its base paths.", _LOST, _astray),
    Rule("files.versions", Severity.ERROR, table_format("#7-data-storage-format-version"), "All files are of the table's version, unless a flag says otherwise.", _ANEW, _versions),
    Rule("files.columns", Severity.ERROR, _FILE, "Each field of a file has a column index.", _ANEW, _indices),
    Rule("files.there", Severity.ERROR, _FILE, "Every data file is there.", _LOST, _missing),
    Rule("files.sizes", Severity.ERROR, _FILE, "A data file has as many bytes as the manifest says.", _LOST, _sizes),
    Rule("files.footers", Severity.ERROR, table_format("#7-data-storage-format-version"), "A data file ends with its version and LANC.", _LOST, _footers, is_deep=True),
    Rule("deletions.files", Severity.ERROR, table_format("#5-deletion-files"), "A deletion file is there, and names as many rows of its fragment as the manifest says.", _LOST, _deletions),
    Rule("deletions.whole", Severity.WARNING, table_format("#5-deletion-files"), "A fragment with all rows deleted is removed.", "Optimize the table.", _all_dead),
    Rule("row-ids.count", Severity.ERROR, table_format("#8-row-ids-and-lineage"), "A fragment with row ids has one for each row.", _ANEW, _row_ids),
    Rule("row-ids.unique", Severity.ERROR, table_format("#8-row-ids-and-lineage"), "No two live rows have one id, and all are below next_row_id.", _ANEW, _same_ids, is_deep=True),
    Rule("row-ids.lineage", Severity.ERROR, table_format("#8-row-ids-and-lineage"), "Versions of rows are told of each row of a fragment.", _ANEW, _lineage),
    Rule("data.rows", Severity.ERROR, _FRAGMENT, "A fragment has as many live rows as the manifest says.", _ANEW, _rows, is_deep=True),
)  # fmt: skip

"""Do base paths, indices, tags and branches lead where they say?  (Lance table format, sections 6, 10; "IndexMetadata")"""

from collections import Counter
from collections.abc import Iterator

from pyroaring import BitMap

from esker.check.lance.evidence import Evidence
from esker.check.lance.sections import table_format
from esker.check.model import Rule, Severity, Sighting
from esker.errors import EskerError
from esker.lance.manifest import IndexMetadata
from esker.lance.place import Place
from esker.lance.refs import branch_folder, branch_problem, parse_branch, parse_tag, tag_problem
from esker.lance.versions import VERSIONS_FOLDER, sort_out

_INDEX, _REFS = table_format("#indexmetadata"), table_format("#10-time-travel-tags-branches-cleanup")


def _relative(evidence: Evidence) -> Iterator[Sighting]:
    for base in () if evidence.manifest is None else evidence.manifest.base_paths:
        if "://" not in base.path and not base.path.startswith("/"):
            yield Sighting(f"base path {base.id}", f"{base.path} is not absolute")


def _same_bases(evidence: Evidence) -> Iterator[Sighting]:
    bases = () if evidence.manifest is None else evidence.manifest.base_paths
    for id, count in Counter(base.id for base in bases).items():
        if count > 1:
            yield Sighting(f"base path {id}", f"{count} base paths have this id")


def _indices(evidence: Evidence) -> tuple[IndexMetadata, ...]:
    try:
        return () if evidence.manifest is None else evidence.manifest.indices
    except EskerError:
        return ()


def _gone_fields(evidence: Evidence) -> Iterator[Sighting]:
    known = set() if evidence.manifest is None else {field.id for field in evidence.manifest.fields}
    for index in _indices(evidence):
        if gone := [str(id) for id in index.fields if id not in known]:
            yield Sighting(f"index {index.name}", f"it is on fields that the table lacks: {', '.join(gone)}")


def _covering(evidence: Evidence) -> Iterator[Sighting]:
    for index in _indices(evidence):
        count = len(index.covering_fields)
        if count and index.fields[-count:] != index.covering_fields:
            yield Sighting(f"index {index.name}", "its covering fields are not the last of its fields")


def _bitmap(index: IndexMetadata) -> BitMap | None:
    try:
        return BitMap.deserialize(index.fragment_bitmap) if index.fragment_bitmap else None
    except Exception:  # pyroaring raises several types, none of them documented
        return None


def _bad_bitmaps(evidence: Evidence) -> Iterator[Sighting]:
    for index in _indices(evidence):
        if index.fragment_bitmap and _bitmap(index) is None:
            yield Sighting(f"index {index.name}", "its bitmap of fragments is no Roaring bitmap")


def _overlaps(evidence: Evidence) -> Iterator[Sighting]:
    seen: dict[str, BitMap] = {}
    for index in _indices(evidence):
        own = _bitmap(index) or BitMap()
        if index.name in seen and len(both := seen[index.name] & own):
            yield Sighting(f"index {index.name}", f"two of its segments are on the fragments {list(both)[:10]}")
        seen[index.name] = seen.get(index.name, BitMap()) | own


def _unknown_fragments(evidence: Evidence) -> Iterator[Sighting]:
    live = BitMap(fragment.id for fragment in evidence.fragments if fragment.id < 1 << 32)
    for index in _indices(evidence):
        if len(gone := (_bitmap(index) or BitMap()) - live):
            yield Sighting(f"index {index.name}", f"it names fragments that the version lacks: {list(gone)[:10]}")


def _no_index(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    for index in _indices(evidence):
        if index.name.startswith("__lance_"):  # kept in the manifest alone
            continue
        try:
            storage, path = evidence.place.locate(evidence.place.index_folder(evidence.snapshot.manifest, index.base_id, index.uuid))
        except EskerError as error:
            yield Sighting(f"index {index.name}", error.what)
            continue
        if next(iter(storage.list(path)), None) is None:
            yield Sighting(f"index {index.name}", f"the folder {index.uuid} has no file")


def _tags(evidence: Evidence) -> Iterator[Sighting]:
    for file in evidence.tag_files:
        name = file.path.rpartition("/")[2].removesuffix(".json")
        if problem := tag_problem(name):
            yield Sighting(file.path, f"{name} is no name for a tag: {problem}")
        try:
            tag = parse_tag(evidence.place.storage, file)
        except EskerError as error:
            yield Sighting(file.path, error.what)
            continue
        place = Place(evidence.place.storage, branch=tag.branch)
        versions = sort_out(place.storage.list(place.path(VERSIONS_FOLDER)))
        if tag.version not in versions.manifests and tag.version not in versions.detached:
            yield Sighting(file.path, f"it names version {tag.version}, which is not there")


def _branches(evidence: Evidence) -> Iterator[Sighting]:
    for file in evidence.branch_files:
        try:
            branch = parse_branch(evidence.place.storage, file)
        except EskerError as error:
            yield Sighting(file.path, error.what)
            continue
        if problem := branch_problem(branch.name):
            yield Sighting(file.path, f"{branch.name} is no name for a branch: {problem}")
        elif next(iter(evidence.place.storage.list(f"{branch_folder(branch.name)}/{VERSIONS_FOLDER}")), None) is None:
            yield Sighting(file.path, f"the branch {branch.name} has no version")


def _misplaced(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.manifest is not None and (evidence.manifest.branch or None) != evidence.place.branch:
        yield Sighting("manifest", f"it says that it is of the branch {evidence.manifest.branch or 'main'}")


_DROP = "Drop the index and create it anew."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("base-paths.absolute", Severity.ERROR, table_format("#6-base-paths"), "A base path is an absolute URI.", "Open the table with relocate=.", _relative),
    Rule("base-paths.once", Severity.ERROR, table_format("#6-base-paths"), "A base path has an id of its own.", "Restore an older version.", _same_bases),
    Rule("indices.fields", Severity.WARNING, _INDEX, "An index is on fields of the table.", _DROP, _gone_fields),
    Rule("indices.covering", Severity.ERROR, _INDEX, "Covering fields are the last of an index's fields.", _DROP, _covering),
    Rule("indices.bitmaps", Severity.ERROR, _INDEX, "An index names its fragments by a Roaring bitmap.", _DROP, _bad_bitmaps),
    Rule("indices.segments", Severity.ERROR, _INDEX, "Segments of an index are on different fragments.", _DROP, _overlaps),
    Rule("indices.fragments", Severity.NOTICE, _INDEX, "An index names fragments of the version.", "Optimize the indices.", _unknown_fragments),
    Rule("indices.files", Severity.ERROR, _INDEX, "An index has files.", _DROP, _no_index),
    Rule("refs.tags", Severity.ERROR, _REFS, "A tag has a good name, and names a version that is there.", "Delete the tag.", _tags),
    Rule("refs.branches", Severity.ERROR, _REFS, "A branch has a good name, and versions.", "Delete the branch.", _branches),
    Rule("refs.own-branch", Severity.ERROR, _REFS, "A manifest says of which branch it is.", "Restore an older version.", _misplaced),
)  # fmt: skip

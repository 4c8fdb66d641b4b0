"""Do the flags say what the version holds?  (lance-format-versioning.md; "Feature flags")"""

from collections.abc import Callable, Iterator

from esker.check.lance.evidence import Evidence, Look
from esker.check.lance.sections import FLAGS as FLAG_SECTION
from esker.check.lance.sections import table_format
from esker.check.model import Rule, Severity, Sighting
from esker.errors import EskerError
from esker.lance.file_versions import LEGACY, STABLE, file_versions
from esker.lance.flags import (
    BASE_PATHS,
    DELETION_FILES,
    FLAGS,
    NAMES,
    STABLE_ROW_IDS,
    STICKY,
    TABLE_CONFIG,
    Facts,
    bits,
    facts,
    flag_name,
)
from esker.lance.manifest import Manifest

_READERS = (DELETION_FILES, STABLE_ROW_IDS, BASE_PATHS)


def _of(look: Callable[[Manifest], Iterator[str]]) -> Look:
    """A rule about the manifest."""

    def looked(evidence: Evidence) -> Iterator[Sighting]:
        if evidence.manifest is not None:
            yield from (Sighting("manifest", what) for what in look(evidence.manifest))

    return looked


def _unknown(manifest: Manifest) -> Iterator[str]:
    for bit in bits(manifest.reader_flags | manifest.writer_flags):
        if bit not in NAMES:
            yield f"bit {bit} stands for no flag that Esker knows"


def _refused(manifest: Manifest) -> Iterator[str]:
    for bit in bits(manifest.reader_flags | manifest.writer_flags):
        feature = FLAGS.get(flag_name(bit, manifest.writer))
        if feature is not None and not feature.support.operations:
            yield f"{feature.name}: {feature.support.reason}"


def _half_set(manifest: Manifest) -> Iterator[str]:
    for bit in STICKY:
        if (manifest.reader_flags ^ manifest.writer_flags) & bit:
            yield f"{flag_name(bit)} is in one word of flags and not in the other"


def _one_word(manifest: Manifest) -> Iterator[str]:
    for bit in _READERS:
        if (manifest.reader_flags ^ manifest.writer_flags) & bit:
            yield f"{NAMES[bit]} concerns readers and writers, and is in one word of flags only"


def _agrees(bit: int, holds: Callable[[Facts], bool], content: str) -> Look:
    """That the flag is set where the content is there, and only there."""

    def look(manifest: Manifest) -> Iterator[str]:
        is_set, is_there = bool((manifest.reader_flags | manifest.writer_flags) & bit), holds(facts(manifest))
        if is_there and not is_set:
            yield f"{content}, and {NAMES[bit]} is not set"
        if is_set and not is_there:
            yield f"{NAMES[bit]} is set, and nothing of it is there"

    return _guarded(look)


def _guarded(look: Callable[[Manifest], Iterator[str]]) -> Look:
    """A rule that needs the fragments; where they cannot be told, another rule says why."""

    def looked(evidence: Evidence) -> Iterator[Sighting]:
        try:
            found = [] if evidence.manifest is None else list(look(evidence.manifest))
        except EskerError:
            return
        yield from (Sighting("manifest", what) for what in found)

    return looked


def _some_without_ids(manifest: Manifest) -> Iterator[str]:
    if manifest.reader_flags & STABLE_ROW_IDS:
        without = [str(fragment.id) for fragment in manifest.fragments if fragment.row_ids is None]
        if without:
            yield f"rows have stable ids, and these fragments have none: {', '.join(without[:10])}"


def _no_format(manifest: Manifest) -> Iterator[str]:
    if manifest.data_format is None:
        yield "it does not say of which version the data files are"


def _file_versions(manifest: Manifest) -> Iterator[str]:
    for version in file_versions(manifest):
        if version not in (LEGACY, *STABLE):
            yield f"data files are of version {version}, which is not a stable one"


def _reserved(manifest: Manifest) -> Iterator[str]:
    known = ("lance.auto_cleanup.", "lance.schema", "lance.data_storage_version", "lance.manifest_names")
    for key in manifest.config:
        if key.startswith("lance.") and not key.startswith(known):
            yield f"the key {key} of the configuration is Lance's own, and is not described"


_NEXT = "Commit a version with a current release of Lance: it works both words out anew."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("flags.known", Severity.ERROR, FLAG_SECTION, "Every flag that is set is one that the description has.", "Use a client that knows the flag.", _of(_unknown)),
    Rule("flags.supported", Severity.WARNING, table_format("#4-feature-flags"), "Flags are those that released clients agree on.", "Take the content of the flag away with a client that knows it.", _of(_refused)),
    Rule("flags.sticky", Severity.ERROR, table_format("#4-feature-flags"), "A sticky flag is in both words or in neither.", "Restore an older version.", _of(_half_set)),
    Rule("flags.both-words", Severity.ERROR, FLAG_SECTION, "A flag for readers and writers is in both words.", _NEXT, _of(_one_word)),
    Rule("flags.deletion-files", Severity.ERROR, FLAG_SECTION, "DELETION_FILES is set if a fragment has a deletion file, and only then.", _NEXT, _agrees(DELETION_FILES, lambda f: f.has_deletion_files, "a fragment has a deletion file")),
    Rule("flags.row-ids", Severity.ERROR, table_format("#4-feature-flags"), "With STABLE_ROW_IDS all fragments have row ids.", _NEXT, _guarded(_some_without_ids)),
    Rule("flags.config", Severity.ERROR, FLAG_SECTION, "TABLE_CONFIG is set if there is a configuration, and only then.", _NEXT, _agrees(TABLE_CONFIG, lambda f: bool(f.config), "there is a configuration")),
    Rule("flags.base-paths", Severity.ERROR, FLAG_SECTION, "BASE_PATHS is set if there are base paths, and only then.", _NEXT, _agrees(BASE_PATHS, lambda f: f.has_base_paths, "there are base paths")),
    Rule("manifest.data-format", Severity.NOTICE, table_format("#7-data-storage-format-version"), "A manifest says of which version its data files are.", "Overwrite the table with a current release.", _of(_no_format)),
    Rule("manifest.file-version", Severity.WARNING, table_format("#7-data-storage-format-version"), "Data files are of a stable version.", "Overwrite the table with a stable version.", _guarded(_file_versions)),
    Rule("config.reserved", Severity.WARNING, table_format("#manifest"), "Keys that begin with lance. are Lance's own.", "Use another key.", _of(_reserved)),
)  # fmt: skip

"""Which flags can a table set, and may it be read or written with them?  (lance-format-versioning.md; "Feature flags")

Two words, one for readers and one for writers. Each flag is a record; a bit that has none is unknown, and refused by its number.
Both words are worked out anew from a version's content whenever one is committed, so a flag goes when its content does.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from esker.core.features import (
    Enabling,
    Feature,
    FeaturePresence,
    Operation,
    Permanent,
    Registry,
    Removable,
    Removal,
    Requirement,
    Scope,
    Section,
    Status,
    Support,
    always,
)
from esker.errors import InvalidTable
from esker.lance.manifest import Manifest, WriterVersion

DELETION_FILES, STABLE_ROW_IDS, USE_V2_FORMAT, TABLE_CONFIG, BASE_PATHS, DISABLE_TRANSACTION_FILE = 1, 2, 4, 8, 16, 32
STICKY = (256, 1024)
"""Flags that are set in both words or in neither."""
FRAGMENT_REUSE_INDEX = "__lance_frag_reuse"
MEM_WAL_INDEX = "__lance_mem_wal"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the predicates look at."""

    has_deletion_files: bool = False
    has_row_ids: bool = False
    config: Mapping[str, str] = field(default_factory=dict, hash=False)
    has_base_paths: bool = False
    has_transaction_file: bool = True
    has_overlays: bool = False
    has_covering_index: bool = False
    file_versions: frozenset[str] = frozenset()
    has_reuse_index: bool = False


def facts(manifest: Manifest) -> Facts:
    """What a manifest shows of the content that flags follow from."""
    fragments, indices = manifest.fragments, manifest.indices
    return Facts(
        has_deletion_files=any(fragment.deletion is not None for fragment in fragments),
        has_row_ids=any(fragment.row_ids is not None for fragment in fragments) or manifest.next_row_id > 0,
        config=manifest.config,
        has_base_paths=bool(manifest.base_paths),
        has_transaction_file=bool(manifest.transaction_file),
        has_overlays=any(fragment.overlays for fragment in fragments),
        has_covering_index=any(index.covering_fields for index in indices),
        file_versions=frozenset(file.version for fragment in fragments for file in fragment.files),
        has_reuse_index=has_reuse_index(manifest),
    )


def has_reuse_index(manifest: Manifest) -> bool:
    """Whether indices name rows where they were before a compaction, and another index tells where those are now.

    A compaction that does not go on with that leaves indices behind that find no row, and nothing in the version tells of it.
    """
    return any(index.name == FRAGMENT_REUSE_INDEX for index in manifest.indices)


def requirements(manifest: Manifest) -> tuple[Requirement, ...]:
    """What both words demand. A writer reads as well, so what is demanded of readers is demanded of both."""
    return tuple(_requirement(manifest, bit) for bit in bits(manifest.reader_flags | manifest.writer_flags))


def bits(word: int) -> Iterator[int]:
    """The bits that are set, from the lowest up."""
    return (1 << place for place in range(64) if word >> place & 1)


def flag_name(bit: int, writer: WriterVersion | None = None) -> str:
    """What a bit is called, by the writer that set it where that makes a difference."""
    if bit == 128 and writer is not None and _is_early_beta(writer):
        return MEM_WAL_INDEX_CATCHUP
    return NAMES.get(bit, f"flag {bit}")


def presences(manifest: Manifest) -> tuple[FeaturePresence[Facts], ...]:
    """Every flag, with how far it has come."""
    return FLAGS.presences(requirements(manifest), facts(manifest))


def check_flags(manifest: Manifest, operation: Operation, location: str) -> None:
    """Refuse the operation, naming every flag that stands against it, and a version of files that is not known."""
    FLAGS.gate(requirements(manifest), operation, location)
    # "A half-set sticky flag (only one word) is corruption."
    if halves := [flag_name(bit) for bit in STICKY if (manifest.reader_flags ^ manifest.writer_flags) & bit]:
        raise InvalidTable(f"flags that both words must have are in one: {', '.join(halves)}", where=location)


def _requirement(manifest: Manifest, bit: int) -> Requirement:
    name = flag_name(bit, manifest.writer)
    if manifest.reader_flags & bit:
        return Requirement(name, Scope.READ_WRITE, f"bit {bit} of reader_feature_flags")
    return Requirement(name, Scope.WRITE, f"bit {bit} of writer_feature_flags")


_BETA = re.compile(r"beta\.(\d+)")


def _is_early_beta(writer: WriterVersion) -> bool:
    """Whether the writer is one of the betas of 11.0 that used bit 128 for something else."""
    beta = _BETA.fullmatch(writer.prerelease or "")
    return writer.version.startswith("11.0.") and beta is not None and 4 <= int(beta[1]) <= 17


def _has(name: str) -> Callable[[Facts], bool]:
    return lambda facts: bool(getattr(facts, name))


_FULL = Support(frozenset({Operation.READ, Operation.WRITE}))
_DOCUMENT = Section("lance-format-versioning.md", "#current-feature-flags")
_NEWER = Section("lance-table-format.md", "#feature-flags")
_RELEASES = "released clients do not agree on it yet, and Esker does not read or write such tables"


def _flag(
    name: str,
    bit: int,
    summary: str,
    content: Callable[[Facts], bool],
    removal: Removal,
    *,
    scope: Scope = Scope.READ_WRITE,
    support: Support = _FULL,
    aliases: tuple[str, ...] = (),
    status: Status = Status.SPEC,
    enabled_by: str = "",
) -> Feature[Facts]:
    return Feature(
        name=name, summary=summary, scope=scope, section=_DOCUMENT if bit <= BASE_PATHS else _NEWER, support=support,
        removal=removal, active=content, in_use=content, enabling=Enabling.EXISTING, enabled_by=enabled_by,
        aliases=(f"FLAG_{name}", f"flag {bit}", *aliases), status=status,
    )  # fmt: skip


def _refused(name: str, bit: int, summary: str, content: Callable[[Facts], bool], recipe: str) -> Feature[Facts]:
    """A flag that is known by name, and that Esker does not take."""
    removal: Removal = Removable(recipe, _RECOMPUTED) if recipe else Permanent("no client takes it out again")
    return _flag(name, bit, summary, content, removal, support=Support(frozenset(), _RELEASES), status=Status.IMPLEMENTATION)


_RECOMPUTED = "the next commit clears the bit"
MEM_WAL_INDEX_CATCHUP = "MEM_WAL_INDEX_CATCHUP"

FLAGS: Registry[Facts] = Registry(
    (
        _flag(
            "DELETION_FILES", DELETION_FILES, "Fragments may have deletion files, which name their dead rows.",
            _has("has_deletion_files"), Removable("rewrite every fragment that has a deletion file", _RECOMPUTED),
            enabled_by="the first delete or update",
        ),
        _flag(
            "STABLE_ROW_IDS", STABLE_ROW_IDS, "A row keeps its id when it is moved or updated.", _has("has_row_ids"),
            Permanent("row ids are chosen when a table is created"), aliases=("MOVE_STABLE_ROW_IDS",),
            enabled_by="create(features=['STABLE_ROW_IDS'])",
        ),
        _flag(
            "USE_V2_FORMAT_DEPRECATED", USE_V2_FORMAT, "Once told that files are of the second format; nothing reads it now.",
            always, Removable("nothing", _RECOMPUTED), scope=Scope.WRITE, status=Status.RETIRED,
        ),
        _flag(
            "TABLE_CONFIG", TABLE_CONFIG, "The manifest has a configuration.", _has("config"),
            Removable("delete all keys of the configuration", _RECOMPUTED), scope=Scope.WRITE,
            enabled_by="set_properties",
        ),
        _flag(
            "BASE_PATHS", BASE_PATHS, "Files lie at more than one place: shallow clones and branches.", _has("has_base_paths"),
            Removable("copy the files that lie elsewhere into the table", _RECOMPUTED), aliases=("SHALLOW_CLONE",),
            enabled_by="clone or a branch",
        ),
        _flag(
            "DISABLE_TRANSACTION_FILE", DISABLE_TRANSACTION_FILE, "Transactions are kept in the manifests alone.",
            lambda facts: not facts.has_transaction_file, Removable("commit with files of transactions", _RECOMPUTED),
            scope=Scope.WRITE, status=Status.IMPLEMENTATION,
        ),
        _refused(
            "UNSTABLE_DATA_OVERLAY_FILES", 64, "Fragments have overlays, files that replace some of their values.",
            _has("has_overlays"), "fold the overlays into their fragments",
        ),
        _refused(
            "COVERED_INDEX_METADATA", 128, "An index holds columns beside those that it is on.", _has("has_covering_index"),
            "drop the covering indices",
        ),
        _refused(
            "MIXED_DATA_FILE_VERSIONS", 256, "Data files are of different versions of the second format.",
            lambda facts: len(facts.file_versions) > 1, "",
        ),
        _refused(
            "FRAG_REUSE_WITH_STABLE_ROW_IDS", 512, "A fragment reuse index goes with stable row ids.", _has("has_reuse_index"),
            "drop the fragment reuse index",
        ),
        _refused(
            "FRAGMENT_REUSE_INDEX", 1024, "The fragment reuse index has tagged transitions.", _has("has_reuse_index"), "",
        ),
        Feature(
            name=MEM_WAL_INDEX_CATCHUP, summary="What bit 128 meant to betas 4 to 17 of Lance 11.0.", scope=Scope.READ_WRITE,
            section=_NEWER, support=Support(frozenset(), "only betas of Lance 11.0 knew this meaning of bit 128"),
            removal=Permanent("no released client knows it"), active=always, in_use=always, enabling=Enabling(0),
            status=Status.RETIRED,
        ),
    )
)  # fmt: skip
"""The flags by their bits, from the lowest up, and the older meaning of one."""

NAMES: Mapping[int, str] = {
    1 << place: feature.name for place, feature in enumerate(FLAGS) if feature.name != MEM_WAL_INDEX_CATCHUP
}
"""The flags that have names, by their bits."""

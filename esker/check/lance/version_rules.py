"""Are the versions of the table there, and named as they must be?  (Lance table format, "Manifest names", "Manifest file container")"""

from collections.abc import Iterator

import orjson

from esker.check.lance.evidence import Evidence
from esker.check.lance.sections import table_format
from esker.check.model import Rule, Severity, Sighting
from esker.errors import EskerError, NotFound
from esker.lance.flags import DISABLE_TRANSACTION_FILE
from esker.lance.transactions import read_transaction
from esker.lance.versions import TRANSACTIONS_FOLDER, VERSIONS_FOLDER, Naming

_TOP_BIT = 1 << 63


def _unopened(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.refusal is not None:
        yield Sighting("table", evidence.refusal.what)


def _odd(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(f"{VERSIONS_FOLDER}/{name}", "this is no name of a manifest") for name in evidence.listing.odd)


def _mixed(evidence: Evidence) -> Iterator[Sighting]:
    if {Naming.V1, Naming.V2} <= evidence.listing.namings:
        yield Sighting(VERSIONS_FOLDER, "manifests are named by both schemes")


def _twice(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(f"version {m.version}", "two manifests are of this version") for m in evidence.listing.twice)


def _unreadable(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting(read.where, read.problem) for read in evidence.manifests if read.problem is not None)


def _misnumbered(evidence: Evidence) -> Iterator[Sighting]:
    for read in evidence.manifests:
        if read.manifest is not None and read.manifest.version != read.file.version:
            yield Sighting(read.where, f"its manifest says that it is version {read.manifest.version}")


def _detached(evidence: Evidence) -> Iterator[Sighting]:
    for version in evidence.listing.detached:
        if not version & _TOP_BIT:
            yield Sighting(f"version {version}", "it is detached, and its number lacks the top bit")
    for version in evidence.listing.manifests:
        if version & _TOP_BIT:
            yield Sighting(f"version {version}", "its number has the top bit, and its name is not that of a detached one")


def _unpointed(evidence: Evidence) -> Iterator[Sighting]:
    for read in evidence.manifests:
        for what in ("indices", "inline_transaction"):
            try:
                _ = None if read.manifest is None else getattr(read.manifest, what)
            except EskerError as error:
                yield Sighting(read.where, error.what)


def _untimed(evidence: Evidence) -> Iterator[Sighting]:
    for read in evidence.manifests:
        if read.manifest is not None and read.manifest.timestamp is None:
            yield Sighting(read.where, "its manifest has no time")


def _backwards(evidence: Evidence) -> Iterator[Sighting]:
    before = None
    for read in evidence.manifests:
        if read.manifest is None or read.file.naming is Naming.DETACHED or read.manifest.timestamp is None:
            continue
        if before is not None and read.manifest.timestamp < before:
            yield Sighting(read.where, f"it is from {read.manifest.timestamp}, and the version before it from {before}")
        before = read.manifest.timestamp


def _hint(evidence: Evidence) -> Iterator[Sighting]:
    path = evidence.place.path(f"{VERSIONS_FOLDER}/latest_version_hint.json")
    try:
        said = orjson.loads(evidence.place.storage.read(path))
    except NotFound:
        return
    except orjson.JSONDecodeError:
        yield Sighting(path, "the hint is no JSON")
        return
    version = said.get("version") if isinstance(said, dict) else None
    if not isinstance(version, int) or version > max(evidence.listing.manifests, default=0):
        yield Sighting(path, f"the hint says version {version}, which is not there")


def _unknown_fields(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.manifest is not None and (unknown := sorted(evidence.manifest.unknown_fields)):
        yield Sighting("manifest", f"it has fields that Esker does not know: {', '.join(map(str, unknown))}")


def _no_transaction(evidence: Evidence) -> Iterator[Sighting]:
    manifest = evidence.manifest
    if manifest is None or not manifest.transaction_file or manifest.writer_flags & DISABLE_TRANSACTION_FILE:
        return
    path = evidence.place.path(f"{TRANSACTIONS_FOLDER}/{manifest.transaction_file}")
    try:
        evidence.place.storage.head(path)
    except NotFound:
        yield Sighting(path, "the file of the version's transaction is missing")


def _transaction_ahead(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    made = read_transaction(evidence.place, evidence.snapshot.manifest)
    if made is not None and made.read_version >= evidence.snapshot.version and made.operation != "clone":
        yield Sighting("transaction", f"it read version {made.read_version}, which is not before its own")


def _unknown_operation(evidence: Evidence) -> Iterator[Sighting]:
    made = None if evidence.snapshot is None else read_transaction(evidence.place, evidence.snapshot.manifest)
    if made is not None and made.operation is None:
        yield Sighting("transaction", "it is of no kind that Esker knows")


_REWRITE = "Restore an older version by Lance's own library, or write the table anew."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("versions.open", Severity.ERROR, table_format("#2-manifest-file-container"), "The version that is asked for can be opened.", _REWRITE, _unopened),
    Rule("versions.names", Severity.WARNING, table_format("#1-directory-layout"), "The folder of versions has manifests alone, and what writers leave.", "Move the file elsewhere.", _odd),
    Rule("versions.one-scheme", Severity.ERROR, table_format("#1-directory-layout"), "A folder does not mix the two schemes of names.", "Rename all manifests by one scheme while nobody writes.", _mixed),
    Rule("versions.once", Severity.ERROR, table_format("#1-directory-layout"), "A version has one manifest.", "Keep the manifest that readers take, and move the other elsewhere.", _twice),
    Rule("versions.manifests", Severity.ERROR, table_format("#2-manifest-file-container"), "Every manifest has a footer, and its message ends at it.", _REWRITE, _unreadable),
    Rule("versions.numbers", Severity.ERROR, table_format("#3-protobuf-messages-package-lancetable-field-is-lancefile"), "A manifest's version is the one that its name says.", _REWRITE, _misnumbered),
    Rule("versions.detached", Severity.ERROR, table_format("#1-directory-layout"), "Detached versions, and no others, have numbers with the top bit set.", _REWRITE, _detached),
    Rule("versions.sections", Severity.ERROR, table_format("#2-manifest-file-container"), "Sections of indices and transactions lie where the manifest says.", _REWRITE, _unpointed),
    Rule("versions.time", Severity.WARNING, table_format("#9-commit-protocol"), "A version has a time.", "It cannot be found by its time; the next version will have one.", _untimed),
    Rule("versions.times-rise", Severity.WARNING, table_format("#10-time-travel-tags-branches-cleanup"), "Times rise with versions.", "Look at the clocks of the writers; versions are not found by their times.", _backwards),
    Rule("versions.hint", Severity.NOTICE, table_format("#1-directory-layout"), "The hint of the newest version names one that is there.", "Delete the hint.", _hint),
    Rule("manifest.unknown-fields", Severity.NOTICE, table_format("#3-protobuf-messages-package-lancetable-field-is-lancefile"), "A manifest has the fields of the description.", "Nothing: flags tell what clients must know.", _unknown_fields),
    Rule("transactions.file", Severity.WARNING, table_format("#9-commit-protocol"), "The version's transaction has a file, unless the flag says that there is none.", "Rivals of this version cannot be told apart; commit again.", _no_transaction),
    Rule("transactions.read-version", Severity.ERROR, table_format("#9-commit-protocol"), "A transaction read a version before its own.", _REWRITE, _transaction_ahead),
    Rule("transactions.kind", Severity.WARNING, table_format("#transaction"), "A transaction is of a kind that the description has.", "Use a newer Esker to look at it.", _unknown_operation),
)  # fmt: skip

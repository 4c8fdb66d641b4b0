"""Is the protocol one that a table may have?  (PROTOCOL.md, "Protocol Evolution", "Table Features")"""

from collections.abc import Iterator

from esker.check.delta.evidence import Evidence, Look
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core.features import Operation, Status
from esker.delta.features import FEATURES
from esker.delta.protocol import LAST_READER, LAST_WRITER, Protocol, parse_protocol, problems
from esker.errors import EskerError


def _malformed(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("protocol"):
        try:
            parse_protocol(action.body)
        except EskerError as error:
            yield from (Sighting(action.where, problem) for problem in error.problems)


def _current(evidence: Evidence) -> Protocol | None:
    return None if evidence.snapshot is None else evidence.snapshot.protocol


def _broken(*beginnings: str) -> Look:
    """The problems of the protocol whose texts begin, or end, so."""

    def look(evidence: Evidence) -> Iterator[Sighting]:
        own = _current(evidence)
        for problem in () if own is None else problems(own):
            if any(beginning in problem.what for beginning in beginnings):
                yield Sighting("protocol", problem.what)

    return look


def _too_new(evidence: Evidence) -> Iterator[Sighting]:
    own = _current(evidence)
    if own is not None and (own.min_reader > LAST_READER or own.min_writer > LAST_WRITER):
        yield Sighting("protocol", f"{own} is beyond ({LAST_READER}, {LAST_WRITER}), the last that the specification has")


def _names(evidence: Evidence) -> frozenset[str]:
    own = _current(evidence)
    return frozenset() if own is None else (own.reader_features or frozenset()) | (own.writer_features or frozenset())


def _unknown(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting("protocol", f"{name} is no feature that Esker knows") for name in sorted(_names(evidence)) if name not in FEATURES)


def _unreadable(evidence: Evidence) -> Iterator[Sighting]:
    for name in sorted(_names(evidence)):
        feature = FEATURES.get(name)
        if feature is not None and not feature.support.allows(Operation.READ):
            yield Sighting("protocol", f"{name}: {feature.support.reason}")


def _old_names(evidence: Evidence) -> Iterator[Sighting]:
    for name in sorted(_names(evidence)):
        feature = FEATURES.get(name)
        if feature is not None and feature.status is Status.RETIRED:
            yield Sighting("protocol", f"{name} is retired")
        elif feature is not None and name != feature.name:
            yield Sighting("protocol", f"{name} is an older name of {feature.name}, which fewer clients know")


_LISTS = "Commit a protocol whose lists and versions agree."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("protocol.well-formed", Severity.ERROR, protocol("#protocol-evolution"), "A protocol action has two versions and lists of names.", _LISTS, _malformed),
    Rule("protocol.reader-version", Severity.ERROR, protocol("#protocol-evolution"), "minReaderVersion is 1 at least.", _LISTS, _broken("minReaderVersion is")),
    Rule("protocol.writer-version", Severity.ERROR, protocol("#protocol-evolution"), "minWriterVersion is 1 at least.", _LISTS, _broken("minWriterVersion is")),
    Rule("protocol.reader-3", Severity.ERROR, protocol("#reader-version-requirements"), "Reader version 3 goes with writer version 7.", _LISTS, _broken("reader version 3 needs")),
    Rule("protocol.reader-list", Severity.ERROR, protocol("#table-features"), "Reader version 3 has readerFeatures.", _LISTS, _broken("without readerFeatures")),
    Rule("protocol.writer-list", Severity.ERROR, protocol("#table-features"), "Writer version 7 has writerFeatures.", _LISTS, _broken("without writerFeatures")),
    Rule("protocol.early-reader-list", Severity.ERROR, protocol("#table-features-for-new-and-existing-tables"), "Only reader version 3 has readerFeatures.", _LISTS, _broken("readerFeatures on reader")),
    Rule("protocol.early-writer-list", Severity.ERROR, protocol("#table-features"), "Only writer version 7 has writerFeatures.", _LISTS, _broken("writerFeatures on writer")),
    Rule("protocol.reader-only", Severity.ERROR, protocol("#supported-features"), "What readerFeatures lists, writerFeatures lists too.", _LISTS, _broken("in readerFeatures only")),
    Rule("protocol.writer-only", Severity.ERROR, protocol("#supported-features"), "A feature of readers is in both lists.", _LISTS, _broken("in writerFeatures only")),
    Rule("protocol.too-new", Severity.NOTICE, protocol("#protocol-evolution"), "Versions are those of the specification.", "Use a newer Esker.", _too_new),
    Rule("protocol.unknown-feature", Severity.NOTICE, protocol("#table-features"), "Features are those of the catalogue.", "Use a newer Esker, or ask who added the feature.", _unknown),
    Rule("protocol.unreadable", Severity.NOTICE, protocol("#table-features"), "Esker reads what the protocol asks for.", "Read the table with a client that knows the feature.", _unreadable),
    Rule("protocol.old-name", Severity.NOTICE, protocol("#table-features"), "Features go by their final names.", "Drop the feature and enable it under its final name.", _old_names),
)  # fmt: skip

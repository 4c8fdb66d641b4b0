"""Is each action in the log well formed?  (PROTOCOL.md, "Actions")

The actions as they are written, live or not: what one of them lacks, some reader trips over.
"""

from collections.abc import Callable, Iterator

import orjson

from esker.check.delta.evidence import Evidence, LoggedAction, Look
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core.types import Json
from esker.delta.deletion_vectors import parse_descriptor
from esker.delta.protocol import is_supported
from esker.errors import EskerError

_FILES = ("add", "remove", "cdc")


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_text_map(value: Json) -> bool:
    return isinstance(value, dict) and all(item is None or isinstance(item, str) for item in value.values())


def _lacks(kind: str, field: str, fits: Callable[[Json], bool], expected: str) -> Look:
    """The actions of a kind whose field is missing or of another type."""

    def look(evidence: Evidence) -> Iterator[Sighting]:
        for action in evidence.actions(kind):
            value = action.body.get(field)
            if not fits(value):
                yield Sighting(action.where, f"{kind}.{field} is {_shown(value)}, not {expected}")

    return look


def _shown(value: Json) -> str:
    return "missing" if value is None else f"{value!r:.60}"


def _paths(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions(*_FILES):
        path = action.body.get("path")
        if not isinstance(path, str) or not path:
            yield Sighting(action.where, f"{action.kind}.path is {_shown(path)}")


def _escapes(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions(*_FILES):
        path = action.body.get("path")
        try:
            if isinstance(path, str) and path:
                evidence.place.absolute(path)
        except EskerError as error:
            yield Sighting(action.where, error.what)


def _statistics(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("add"):
        text = action.body.get("stats")
        if text is None or text == "":
            continue
        try:
            is_object = isinstance(text, str) and isinstance(orjson.loads(text), dict)
        except orjson.JSONDecodeError:
            is_object = False
        if not is_object:
            yield Sighting(action.where, "add.stats is no JSON object")


def _tombstones(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("remove"):
        if action.body.get("extendedFileMetadata") is True:
            lacking = [name for name in ("partitionValues", "size") if action.body.get(name) is None]
            if lacking:
                yield Sighting(action.where, f"extendedFileMetadata is true, and {' and '.join(lacking)} are missing")


def _undated(evidence: Evidence) -> Iterator[Sighting]:
    for action in evidence.actions("remove"):
        if not _is_count(action.body.get("deletionTimestamp")):
            yield Sighting(action.where, "remove.deletionTimestamp is missing: vacuum takes the file for long gone")


def _vectors(evidence: Evidence) -> Iterator[tuple[LoggedAction, dict[str, Json]]]:
    for action in evidence.actions("add", "remove"):
        vector = action.body.get("deletionVector")
        if isinstance(vector, dict):
            yield action, vector


def _descriptors(evidence: Evidence) -> Iterator[Sighting]:
    for action, vector in _vectors(evidence):
        try:
            parse_descriptor(vector, action.where)
        except EskerError as error:
            yield Sighting(action.where, error.what)


def _cardinalities(evidence: Evidence) -> Iterator[Sighting]:
    for action, vector in _vectors(evidence):
        count = vector.get("cardinality")
        if isinstance(count, int) and count < 0:
            yield Sighting(action.where, f"a deletion vector's cardinality is {count}")


def _unsupported(kinds: tuple[str, ...], feature: str, concerned: Callable[[LoggedAction], bool] = lambda action: True) -> Look:
    """Actions that a table has only with a feature; commits before the feature was dropped may hold them."""

    def look(evidence: Evidence) -> Iterator[Sighting]:
        snapshot = evidence.snapshot
        if snapshot is None or is_supported(snapshot.protocol, feature):
            return
        newest = evidence.commits[-1] if evidence.commits else None
        for action in () if newest is None else newest.of(*kinds):
            if concerned(action):
                yield Sighting(action.where, f"a {action.kind} that needs {feature}, which the protocol does not have")

    return look


_REWRITE = "Rewrite the file through a writer that fills in the field, or restore the version before."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("action.path", Severity.ERROR, protocol("#add-file-and-remove-file"), "A file action has a path.", _REWRITE, _paths),
    Rule("action.path-inside", Severity.WARNING, protocol("#add-file-and-remove-file"), "A relative path stays within the table: no client follows it elsewhere for sure.", _REWRITE, _escapes),
    Rule("action.add-size", Severity.ERROR, protocol("#add-file-and-remove-file"), "add.size is a number of bytes.", _REWRITE, _lacks("add", "size", _is_count, "a number of bytes")),
    Rule("action.add-partition-values", Severity.ERROR, protocol("#add-file-and-remove-file"), "add.partitionValues is a map of texts.", _REWRITE, _lacks("add", "partitionValues", _is_text_map, "a map of texts")),
    Rule("action.add-modification-time", Severity.WARNING, protocol("#add-file-and-remove-file"), "add.modificationTime is a time.", _REWRITE, _lacks("add", "modificationTime", _is_count, "a time in milliseconds")),
    Rule("action.add-data-change", Severity.WARNING, protocol("#add-file-and-remove-file"), "add.dataChange is true or false.", _REWRITE, _lacks("add", "dataChange", _is_flag, "true or false")),
    Rule("action.remove-data-change", Severity.WARNING, protocol("#add-file-and-remove-file"), "remove.dataChange is true or false.", _REWRITE, _lacks("remove", "dataChange", _is_flag, "true or false")),
    Rule("action.remove-timestamp", Severity.NOTICE, protocol("#add-file-and-remove-file"), "remove.deletionTimestamp says when.", "Vacuum with a retention that is long enough.", _undated),
    Rule("action.remove-extended", Severity.ERROR, protocol("#add-file-and-remove-file"), "Extended file metadata is whole.", _REWRITE, _tombstones),
    Rule("action.cdc-size", Severity.ERROR, protocol("#add-cdc-file"), "cdc.size is a number of bytes.", _REWRITE, _lacks("cdc", "size", _is_count, "a number of bytes")),
    Rule("action.cdc-partition-values", Severity.ERROR, protocol("#add-cdc-file"), "cdc.partitionValues is a map of texts.", _REWRITE, _lacks("cdc", "partitionValues", _is_text_map, "a map of texts")),
    Rule("action.stats", Severity.WARNING, protocol("#per-file-statistics"), "add.stats is a JSON object.", "Rewrite the file, or compute its statistics anew.", _statistics),
    Rule("action.txn-app", Severity.ERROR, protocol("#transaction-identifiers"), "A txn has an appId.", _REWRITE, _lacks("txn", "appId", _is_text, "a text")),
    Rule("action.txn-version", Severity.ERROR, protocol("#transaction-identifiers"), "A txn has a version.", _REWRITE, _lacks("txn", "version", lambda v: isinstance(v, int), "a number")),
    Rule("action.domain", Severity.ERROR, protocol("#domain-metadata"), "A domainMetadata has a domain.", _REWRITE, _lacks("domainMetadata", "domain", _is_text, "a text")),
    Rule("action.domain-configuration", Severity.ERROR, protocol("#domain-metadata"), "A domainMetadata has a configuration.", _REWRITE, _lacks("domainMetadata", "configuration", lambda v: isinstance(v, str), "a text")),
    Rule("action.domain-removed", Severity.ERROR, protocol("#domain-metadata"), "A domainMetadata says whether it is a tombstone.", _REWRITE, _lacks("domainMetadata", "removed", _is_flag, "true or false")),
    Rule("action.vector", Severity.ERROR, protocol("#deletion-vector-descriptor-schema"), "A deletion vector's descriptor is whole.", _REWRITE, _descriptors),
    Rule("action.vector-cardinality", Severity.ERROR, protocol("#deletion-vector-descriptor-schema"), "A deletion vector's cardinality is no less than 0.", _REWRITE, _cardinalities),
    Rule("action.vector-feature", Severity.ERROR, protocol("#deletion-vectors"), "Only a table that supports them has deletion vectors.", "Enable deletionVectors, or purge.", _unsupported(("add",), "deletionVectors", lambda action: action.body.get("deletionVector") is not None)),
    Rule("action.domain-feature", Severity.ERROR, protocol("#domain-metadata"), "Only a table that supports it has domain metadata.", "Enable domainMetadata.", _unsupported(("domainMetadata",), "domainMetadata")),
    Rule("action.cdc-feature", Severity.WARNING, protocol("#add-cdc-file"), "Only a table that supports the change data feed has change files.", "Enable changeDataFeed.", _unsupported(("cdc",), "changeDataFeed")),
)  # fmt: skip

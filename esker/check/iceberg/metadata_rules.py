"""Does a metadata file say what it must?  (spec, "Table Metadata Fields", "Snapshot References", "Appendix C")

These rules look at the JSON as it is written: a file that cannot be parsed as a whole still breaks them one by one.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from esker.check.iceberg.evidence import Evidence, Look, Node, number
from esker.check.iceberg.sections import spec
from esker.check.model import Rule, Severity, Sighting
from esker.errors import Unsupported
from esker.iceberg.metadata import BRANCH, MAIN, NO_SNAPSHOT, SUPPORTED_VERSIONS, TAG

_FILE = "metadata file"
_MINUTE = 60_000
"""Clocks of writers may differ by as much, in milliseconds: the reference implementation allows it too."""


def _is_there(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.unread is not None:
        yield Sighting(_FILE, evidence.unread.what)


def _makes_sense(evidence: Evidence) -> Iterator[Sighting]:
    """What parsing found and no other rule is about."""
    refusal = evidence.refusal
    if refusal is not None and not isinstance(refusal, Unsupported):
        yield from (Sighting(_FILE, problem) for problem in (refusal.problems or (refusal.what,)))


def _format_version(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.unread is None and evidence.version not in SUPPORTED_VERSIONS:
        yield Sighting(_FILE, f"format-version is {evidence.node.get('format-version')!r:.40}; known are 1 to 3")


def _required(evidence: Evidence) -> Iterator[Sighting]:
    for key, first in _REQUIRED_FROM.items():
        if first <= evidence.version and evidence.node.get(key) is None:
            yield Sighting(_FILE, f"{key} is required from version {first} on, and is not there")


_REQUIRED_FROM = {
    "location": 1, "last-updated-ms": 1, "last-column-id": 1, "table-uuid": 2, "last-sequence-number": 2, "schemas": 2,
    "current-schema-id": 2, "partition-specs": 2, "default-spec-id": 2, "last-partition-id": 2, "sort-orders": 2,
    "default-sort-order-id": 2, "next-row-id": 3,
}  # fmt: skip


def _version_1(evidence: Evidence) -> Iterator[Sighting]:
    """ "v1 metadata must have schema and partition-spec", which older readers need although newer ones pass over them."""
    for key in ("schema", "partition-spec"):
        if evidence.version == 1 and key not in evidence.node:
            yield Sighting(_FILE, f"{key} is required in version 1, and is not there")


def _uuid(evidence: Evidence) -> Iterator[Sighting]:
    told = evidence.node.get("table-uuid")
    try:
        if isinstance(told, str):
            UUID(told)
    except ValueError:
        yield Sighting(_FILE, f"table-uuid is {told!r:.60}, which is no UUID")


def _properties(evidence: Evidence) -> Iterator[Sighting]:
    told = evidence.node.get("properties")
    for key, value in told.items() if isinstance(told, dict) else ():
        if not isinstance(value, str):
            yield Sighting("properties", f"{key} is {value!r:.40}, and property values are texts")


def _unique(key: str, id_key: str) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        seen: set[int] = set()
        for one in evidence.objects(key):
            told = number(one, id_key)
            if told is not None and told in seen:
                yield Sighting(key, f"two of them have the {id_key} {told}")
            seen.add(-1 if told is None else told)

    return look


def _refers(key: str, default: str, id_key: str) -> Look:
    """The default that is named is one of those that are listed."""

    def look(evidence: Evidence) -> Iterator[Sighting]:
        known = {number(one, id_key) for one in evidence.objects(key)}
        told = number(evidence.node, default)
        if told is not None and key in evidence.node and told not in known:
            yield Sighting(_FILE, f"{default} is {told}, and {key} has no such {id_key}")

    return look


def _current_snapshot(evidence: Evidence) -> Iterator[Sighting]:
    told = number(evidence.node, "current-snapshot-id")
    if told not in (None, NO_SNAPSHOT) and told not in _snapshot_ids(evidence):
        yield Sighting(_FILE, f"current-snapshot-id is {told}, and there is no such snapshot")


def _refs(evidence: Evidence) -> Iterator[tuple[str, Node]]:
    told = evidence.node.get("refs")
    return ((name, ref) for name, ref in (told.items() if isinstance(told, dict) else ()) if isinstance(ref, dict))


def _ref_snapshots(evidence: Evidence) -> Iterator[Sighting]:
    known = _snapshot_ids(evidence)
    for name, ref in _refs(evidence):
        if number(ref, "snapshot-id") not in known:
            yield Sighting(f"ref {name}", f"it is at the snapshot {ref.get('snapshot-id')!r:.40}, which is not there")


def _ref_kinds(evidence: Evidence) -> Iterator[Sighting]:
    for name, ref in _refs(evidence):
        if ref.get("type") not in (BRANCH, TAG):
            yield Sighting(f"ref {name}", f"its type is {ref.get('type')!r:.40}, neither branch nor tag")


def _ref_retention(evidence: Evidence) -> Iterator[Sighting]:
    for name, ref in _refs(evidence):
        for key in ("min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"):
            if key in ref and (number(ref, key) or 0) <= 0:
                yield Sighting(f"ref {name}", f"{key} is {ref[key]!r:.40}, and must be a positive number")
            elif key in ref and key != "max-ref-age-ms" and ref.get("type") == TAG:
                yield Sighting(f"ref {name}", f"it is a tag and has {key}, which is for branches")


def _main_is_branch(evidence: Evidence) -> Iterator[Sighting]:
    if dict(_refs(evidence)).get(MAIN, {}).get("type") == TAG:
        yield Sighting(f"ref {MAIN}", "it is a tag; it must be a branch")


def _main(evidence: Evidence) -> Iterator[Sighting]:
    main, current = dict(_refs(evidence)).get(MAIN), number(evidence.node, "current-snapshot-id")
    if main is not None and number(main, "snapshot-id") != current:
        yield Sighting(f"ref {MAIN}", f"it is at {main.get('snapshot-id')}, and current-snapshot-id is {current}")


def _column_ids(evidence: Evidence) -> Iterator[Sighting]:
    last = number(evidence.node, "last-column-id")
    highest = max((id for schema in evidence.objects("schemas") for id in _ids(schema.get("fields"))), default=0)
    if last is not None and last < highest:
        yield Sighting(_FILE, f"last-column-id is {last}, and a column has the id {highest}")


def _ids(node: object) -> Iterator[int]:
    """The ids of fields, elements, keys and values, at any depth."""
    match node:
        case list():
            for one in node:
                yield from _ids(one)
        case dict():
            for key in ("id", "element-id", "key-id", "value-id"):
                if isinstance(found := node.get(key), int):
                    yield found
            for key in ("fields", "type", "element", "key", "value"):
                yield from _ids(node.get(key))


def _partition_ids(evidence: Evidence) -> Iterator[Sighting]:
    last = number(evidence.node, "last-partition-id")
    fields = (f for s in evidence.objects("partition-specs") for f in _listed(s, "fields"))
    highest = max((number(field, "field-id") or 0 for field in fields), default=0)
    if last is not None and last < highest:
        yield Sighting(_FILE, f"last-partition-id is {last}, and a partition field has the id {highest}")


def _last_sequence_number(evidence: Evidence) -> Iterator[Sighting]:
    last = number(evidence.node, "last-sequence-number")
    highest = max((number(s, "sequence-number") or 0 for s in evidence.objects("snapshots")), default=0)
    if last is not None and last < highest:
        yield Sighting(_FILE, f"last-sequence-number is {last}, and a snapshot has {highest}")


def _next_row_id(evidence: Evidence) -> Iterator[Sighting]:
    following = number(evidence.node, "next-row-id")
    taken = (
        (number(s, "first-row-id") or 0) + (number(s, "added-rows") or 0)
        for s in evidence.objects("snapshots") if "first-row-id" in s
    )  # fmt: skip
    highest = max(taken, default=0)
    if evidence.version >= 3 and following is not None and following < highest:
        yield Sighting(_FILE, f"next-row-id is {following}, and the ids below {highest} are taken")


def _unsorted(evidence: Evidence) -> Iterator[Sighting]:
    """ "Order id 0 is reserved for the unsorted order." """
    for order in evidence.objects("sort-orders"):
        is_empty = not list(_listed(order, "fields"))
        if (number(order, "order-id") == 0) is not is_empty:
            yield Sighting("sort-orders", f"the order {order.get('order-id')} has {'no' if is_empty else 'sort'} fields")


def _in_time(key: str) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        last = 0
        for entry in evidence.objects(key):
            told = number(entry, "timestamp-ms") or 0
            if told < last - _MINUTE:
                yield Sighting(key, f"an entry of {told} follows one of {last}")
            last = max(last, told)

    return look


def _log_ends(evidence: Evidence) -> Iterator[Sighting]:
    """ "When a new snapshot is set as the current one, a new entry must be added." """
    entries, current = list(evidence.objects("snapshot-log")), number(evidence.node, "current-snapshot-id")
    if entries and current not in (None, NO_SNAPSHOT) and number(entries[-1], "snapshot-id") != current:
        yield Sighting("snapshot-log", f"it ends with {entries[-1].get('snapshot-id')}, and {current} is current")


def _updated(evidence: Evidence) -> Iterator[Sighting]:
    last = number(evidence.node, "last-updated-ms")
    newest = max((number(e, "timestamp-ms") or 0 for e in evidence.objects("snapshot-log")), default=0)
    if last is not None and last < newest - _MINUTE:
        yield Sighting(_FILE, f"last-updated-ms is {last}, before the last change of the snapshot log at {newest}")


def _statistics(key: str) -> Look:
    def look(evidence: Evidence) -> Iterator[Sighting]:
        known, seen = _snapshot_ids(evidence), set[int | None]()
        for file in evidence.objects(key):
            told = number(file, "snapshot-id")
            if told not in known:
                yield Sighting(key, f"a file is about the snapshot {told}, which is not there")
            elif told in seen:
                yield Sighting(key, f"two files are about the snapshot {told}")
            seen.add(told)

    return look


def _snapshot_ids(evidence: Evidence) -> set[int | None]:
    return {number(snapshot, "snapshot-id") for snapshot in evidence.objects("snapshots")}


def _listed(node: Node, key: str) -> Iterable[Node]:
    found = node.get(key)
    return (one for one in (found if isinstance(found, list) else []) if isinstance(one, dict))


_FIELDS = spec("#table-metadata-fields")
_REFS = spec("#snapshot-references")
_BEFORE = "Go back to the metadata file before, which the metadata log names."
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

RULES: tuple[Rule[Evidence], ...] = (
    Rule("metadata.there", _ERROR, _FIELDS, "There is a metadata file, and it is JSON.", "Open the table by its newest whole metadata file.", _is_there),
    Rule("metadata.sense", _ERROR, _FIELDS, "The metadata can be parsed as the specification says.", _BEFORE, _makes_sense),
    Rule("metadata.format-version", _ERROR, spec("#format-versioning"), "The format version is one that is adopted.", "Use a client that knows the version.", _format_version),
    Rule("metadata.required", _ERROR, _FIELDS, "All fields that the version requires are there.", _BEFORE, _required),
    Rule("metadata.version-1", _WARNING, spec("#table-metadata-and-snapshots"), "Version 1 keeps its deprecated fields.", "Commit any change with a client that writes them.", _version_1),
    Rule("metadata.uuid", _ERROR, _FIELDS, "The table's UUID is one.", _BEFORE, _uuid),
    Rule("metadata.properties", _ERROR, _FIELDS, "Properties are texts.", "Set the property to a text.", _properties),
    Rule("metadata.schema-ids", _ERROR, _FIELDS, "Schemas have ids of their own.", _BEFORE, _unique("schemas", "schema-id")),
    Rule("metadata.current-schema", _ERROR, _FIELDS, "The current schema is listed.", _BEFORE, _refers("schemas", "current-schema-id", "schema-id")),
    Rule("metadata.spec-ids", _ERROR, _FIELDS, "Partition specs have ids of their own.", _BEFORE, _unique("partition-specs", "spec-id")),
    Rule("metadata.default-spec", _ERROR, _FIELDS, "The default partition spec is listed.", _BEFORE, _refers("partition-specs", "default-spec-id", "spec-id")),
    Rule("metadata.order-ids", _ERROR, _FIELDS, "Sort orders have ids of their own.", _BEFORE, _unique("sort-orders", "order-id")),
    Rule("metadata.default-order", _ERROR, _FIELDS, "The default sort order is listed.", _BEFORE, _refers("sort-orders", "default-sort-order-id", "order-id")),
    Rule("metadata.unsorted", _ERROR, spec("#sorting"), "The order 0 is no order, and no other is.", "Commit another sort order.", _unsorted),
    Rule("metadata.snapshot-ids", _ERROR, spec("#snapshots"), "Snapshots have ids of their own.", _BEFORE, _unique("snapshots", "snapshot-id")),
    Rule("metadata.current-snapshot", _ERROR, _FIELDS, "The current snapshot is listed.", "Roll back to a snapshot that is there.", _current_snapshot),
    Rule("metadata.ref-snapshots", _ERROR, _REFS, "Branches and tags are at snapshots that are there.", "Drop the branch or tag.", _ref_snapshots),
    Rule("metadata.ref-kinds", _ERROR, _REFS, "A reference is a branch or a tag.", "Drop the reference.", _ref_kinds),
    Rule("metadata.ref-retention", _WARNING, _REFS, "Retention of references is positive, and fits their kind.", "Set the reference's retention again.", _ref_retention),
    Rule("metadata.main-branch", _ERROR, _REFS, "main is a branch.", _BEFORE, _main_is_branch),
    Rule("metadata.main", _ERROR, _FIELDS, "The branch main is at the current snapshot.", _BEFORE, _main),
    Rule("metadata.last-column-id", _ERROR, _FIELDS, "No column has an id above last-column-id.", "Raise last-column-id before a column is added.", _column_ids),
    Rule("metadata.last-partition-id", _ERROR, _FIELDS, "No partition field has an id above last-partition-id.", "Raise last-partition-id before the spec is changed.", _partition_ids),
    Rule("metadata.last-sequence-number", _ERROR, spec("#sequence-numbers"), "No snapshot has a sequence number above the table's.", _BEFORE, _last_sequence_number),
    Rule("metadata.next-row-id", _ERROR, spec("#row-lineage"), "No snapshot has taken a row id that is to be given next.", "Raise next-row-id before rows are added.", _next_row_id),
    Rule("metadata.snapshot-log", _WARNING, _FIELDS, "The snapshot log is in the order of time.", "Nothing: time travel by timestamp may be off.", _in_time("snapshot-log")),
    Rule("metadata.snapshot-log-end", _WARNING, _FIELDS, "The snapshot log ends with the current snapshot.", "Commit any change with a client that keeps the log.", _log_ends),
    Rule("metadata.metadata-log", _WARNING, _FIELDS, "The metadata log is in the order of time.", "Nothing: older metadata may be deleted out of order.", _in_time("metadata-log")),
    Rule("metadata.last-updated", _WARNING, _FIELDS, "The table was updated no earlier than its snapshots.", "Commit any change with a clock that is right.", _updated),
    Rule("metadata.statistics", _WARNING, spec("#table-statistics"), "Statistics are about snapshots that are there, one file for each.", "Take the entry out.", _statistics("statistics")),
    Rule("metadata.partition-statistics", _WARNING, spec("#partition-statistics"), "Partition statistics are about snapshots that are there, one file for each.", "Take the entry out.", _statistics("partition-statistics")),
)  # fmt: skip

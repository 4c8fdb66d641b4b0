"""Does each metadata follow from the one before?  (PROTOCOL.md, "Column Mapping", "Type Widening", "Change Metadata")

An entry of metadata alone leaves all files as they are, so what it says of their columns must go on to hold for them. Entries
that put another table in the place of one are left out, and so are those that bring files.
"""

from collections.abc import Iterator, Mapping

from esker.check.delta.evidence import Evidence
from esker.check.delta.sections import protocol
from esker.check.model import Rule, Severity, Sighting
from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.nesting import walk
from esker.core.predicate import Path
from esker.core.types import Array, Field, Map, Struct, Type
from esker.delta.actions import Metadata, parse_metadata
from esker.delta.column_mapping import ID, Mode, physical_name
from esker.delta.properties import column_mapping_mode, max_column_id
from esker.delta.type_widening import TYPE_CHANGES
from esker.errors import EskerError

Step = tuple[str, Metadata, Metadata]
"""Where the metadata changed and no file did, what it was, and what it is from then on."""


def _steps(evidence: Evidence) -> Iterator[Step]:
    before: Metadata | None = None
    for commit in evidence.commits:
        named = " ".join(str(action.body.get("operation")) for action in commit.of("commitInfo"))
        leaves_files = not any(commit.of("add", "remove")) and not any(word in named for word in _REPLACING)
        for action in commit.of("metaData"):
            try:
                after = parse_metadata(action.body, evidence.place.url)
            except EskerError:  # metadata.schema tells of it
                before = None
                continue
            if before is not None and leaves_files:
                yield commit.where, before, after
            before = after


_REPLACING = ("REPLACE", "CLONE", "RESTORE", "CONVERT", "WRITE", "STREAMING UPDATE")
"""Operations after which no file of before need be left; one that writes no rows to an empty table brings none."""


def _mapping(evidence: Evidence) -> Iterator[Sighting]:
    """Columns that have another physical name than their id had, and those that come under an id that was given out."""
    for where, before, after in _mapped(evidence):
        old, highest = _by_id(before), max_column_id(before.configuration)
        for number, (path, field) in _by_id(after).items():
            stored = physical_name(field, Mode.NAME)
            if number not in old and number <= highest:
                yield Sighting(where, f"the column {spelled(path)} comes with the id {number}, and {highest} were given out")
            elif number in old and physical_name(old[number][1], Mode.NAME) != stored:
                was = physical_name(old[number][1], Mode.NAME)
                yield Sighting(where, f"the column {spelled(path)} was stored as {was}, and is looked for as {stored}")


def _mapped(evidence: Evidence) -> Iterator[Step]:
    for where, before, after in _steps(evidence):
        if all(column_mapping_mode(one.configuration) is not Mode.NONE for one in (before, after)):
            yield where, before, after


def _types(evidence: Evidence) -> Iterator[Sighting]:
    """Columns of another type, where no type change is recorded."""
    for where, before, after in _steps(evidence):
        old, new = _columns(before), _columns(after)
        for key in old.keys() & new.keys():
            (_, was), (path, field) = old[key], new[key]
            is_recorded = was.metadata.get(TYPE_CHANGES) != field.metadata.get(TYPE_CHANGES)
            if not is_recorded and not _is_stored_alike(was.type, field.type):
                yield Sighting(where, f"the column {spelled(path)} was of type {was.type}, is {field.type}, and no type change says so")


def _is_stored_alike(was: Type, now: Type) -> bool:
    """Whether files that have the one are files that have the other; the fields of structs are columns of their own."""
    match was, now:
        case (Struct(), Struct()):
            return True
        case (Array(), Array()):
            return _is_stored_alike(was.element, now.element)
        case (Map(), Map()):
            return _is_stored_alike(was.key, now.key) and _is_stored_alike(was.value, now.value)
    return was in (now, t.VOID) or {was, now} <= _SMALL


_SMALL = {t.BYTE, t.SHORT, t.INTEGER}
"""Parquet has one type for them, and some writers widen them with nothing said."""


def _partitions(evidence: Evidence) -> Iterator[Sighting]:
    for where, before, after in _steps(evidence):
        old, new = ([_stored_partition(one, name) for name in one.partition_columns] for one in (before, after))
        if old != new:
            yield Sighting(where, f"the table was partitioned by {', '.join(old) or 'nothing'}, and is by {', '.join(new) or 'nothing'}")


def _stored_partition(metadata: Metadata, name: str) -> str:
    field = metadata.schema.find(name)
    return name if field is None else physical_name(field, column_mapping_mode(metadata.configuration))


def _by_id(metadata: Metadata) -> Mapping[int, tuple[Path, Field]]:
    return {number: (path, f) for path, f in walk(metadata.schema) if isinstance(number := f.metadata.get(ID), int)}


def _columns(metadata: Metadata) -> Mapping[int | Path, tuple[Path, Field]]:
    """All fields, by what stays the same of them."""
    is_mapped = column_mapping_mode(metadata.configuration) is not Mode.NONE
    found: list[tuple[int | Path, tuple[Path, Field]]] = [*_by_id(metadata).items()] if is_mapped else []
    return dict(found or [(path, (path, field)) for path, field in walk(metadata.schema)])


_BACK = "Restore the table to the version before, and make the change by a client that knows the feature."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("evolution.mapping", Severity.ERROR, protocol("#writer-requirements-for-column-mapping"), "A column keeps its id and its physical name, and no other gets them.", _BACK, _mapping),
    Rule("evolution.types", Severity.WARNING, protocol("#type-widening"), "A column keeps its type, or records the change.", _BACK, _types),
    Rule("evolution.partitions", Severity.WARNING, protocol("#change-metadata"), "The partition columns stay while files do.", _BACK, _partitions),
)  # fmt: skip

"""Does the list of fields make a schema?  (Lance table format, "Field (file.proto)")"""

from collections import Counter
from collections.abc import Iterator

from esker.check.lance.evidence import Evidence
from esker.check.lance.sections import table_format
from esker.check.model import Rule, Severity, Sighting
from esker.errors import EskerError
from esker.lance.manifest import SchemaField
from esker.lance.schema import Column

_FIELD = table_format("#field-fileproto")


def _fields(evidence: Evidence) -> tuple[SchemaField, ...]:
    return () if evidence.manifest is None else evidence.manifest.fields


def _same_ids(evidence: Evidence) -> Iterator[Sighting]:
    for id, count in Counter(field.id for field in _fields(evidence)).items():
        if count > 1:
            yield Sighting("schema", f"{count} fields have the id {id}")


def _negative(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting("schema", f"{field.name} has the id {field.id}") for field in _fields(evidence) if field.id < 0)


def _orphans(evidence: Evidence) -> Iterator[Sighting]:
    seen: set[int] = set()
    for field in _fields(evidence):
        if field.parent_id >= 0 and field.parent_id not in seen:
            yield Sighting("schema", f"{field.name} comes before its parent {field.parent_id}")
        seen.add(field.id)


def _same_names(evidence: Evidence) -> Iterator[Sighting]:
    for (_, name), count in Counter((field.parent_id, field.name) for field in _fields(evidence)).items():
        if count > 1:
            yield Sighting("schema", f"{count} fields beside one another are called {name}")


def _unnamed(evidence: Evidence) -> Iterator[Sighting]:
    yield from (Sighting("schema", f"the field {field.id} has no name") for field in _fields(evidence) if not field.name)


def _no_columns(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.manifest is not None and not evidence.manifest.fields:
        yield Sighting("schema", "there is no column")


def _unknown_types(evidence: Evidence) -> Iterator[Sighting]:
    if evidence.snapshot is None:
        return
    try:
        columns = evidence.snapshot.columns.columns
    except EskerError as error:
        yield Sighting("schema", error.what)
        return
    yield from (Sighting("schema", f"{name} is of the type {kind}") for name, kind in _unknown(columns))


def _unknown(columns: tuple[Column, ...]) -> Iterator[tuple[str, object]]:
    for column in columns:
        if column.arrow is None and not any(True for _ in _unknown(column.parts)):
            yield column.field.name, column.field.type
        yield from _unknown(column.parts)


_ANEW = "Write the table anew with a current release of Lance."

RULES: tuple[Rule[Evidence], ...] = (
    Rule("schema.columns", Severity.WARNING, _FIELD, "A table has columns.", _ANEW, _no_columns),
    Rule("schema.ids", Severity.ERROR, _FIELD, "Every field has an id of its own.", _ANEW, _same_ids),
    Rule("schema.ids-positive", Severity.ERROR, _FIELD, "Ids start at 0.", _ANEW, _negative),
    Rule("schema.pre-order", Severity.ERROR, _FIELD, "A field comes after its parent.", _ANEW, _orphans),
    Rule("schema.names", Severity.ERROR, _FIELD, "Fields of one parent have different names.", "Rename one of them.", _same_names),
    Rule("schema.named", Severity.WARNING, _FIELD, "A field has a name.", "Rename it.", _unnamed),
    Rule("schema.types", Severity.WARNING, _FIELD, "Every logical type is one that the description has.", "Use a newer Esker to read the column.", _unknown_types),
)  # fmt: skip

"""What does the metadata of a column say of its values?  (PROTOCOL.md, "Column Metadata")

Defaults, generation expressions, numbering and invariants as values, and back. Only the text is read here; whether a
table honours it is a matter of its protocol.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import orjson

from esker.core import types as t
from esker.core.ddl import ColumnDefinition
from esker.core.expressions import expression_problems
from esker.core.types import Field, Json, Struct
from esker.errors import InvalidRequest, InvalidTable

COMMENT = "comment"
CURRENT_DEFAULT = "CURRENT_DEFAULT"
GENERATION_EXPRESSION = "delta.generationExpression"
INVARIANTS = "delta.invariants"
START = "delta.identity.start"
STEP = "delta.identity.step"
HIGH_WATER_MARK = "delta.identity.highWaterMark"
ALLOW_EXPLICIT_INSERT = "delta.identity.allowExplicitInsert"


@dataclass(frozen=True, slots=True)
class Numbering:
    """How an identity column is numbered, and the farthest number so far."""

    start: int
    step: int
    allows_explicit: bool
    high_water_mark: int | None = None


def declared(definitions: Iterable[ColumnDefinition]) -> Struct:
    """The schema of declared columns. Raises `InvalidRequest`, with every problem, where Delta has no such column."""
    found = tuple(definitions)
    if problems := [problem for definition in found for problem in _definition_problems(definition)]:
        raise InvalidRequest("these columns cannot be declared", problems=problems)
    return Struct(tuple(_field(definition) for definition in found))


def default(field: Field) -> str | None:
    """The expression of the column's default."""
    return _text(field, CURRENT_DEFAULT)


def generation_expression(field: Field) -> str | None:
    """The expression that the column is generated from."""
    return _text(field, GENERATION_EXPRESSION)


def numbering(field: Field) -> Numbering | None:
    """How the column is numbered, if it is an identity column."""
    if START not in field.metadata and STEP not in field.metadata:
        return None
    match field.metadata:
        case {"delta.identity.start": int(start), "delta.identity.step": int(step), **rest}:
            mark = rest.get(HIGH_WATER_MARK)
            allows = rest.get(ALLOW_EXPLICIT_INSERT, False)
            # "It cannot be set to 0."  Identity Columns
            if step and isinstance(allows, bool) and (mark is None or isinstance(mark, int)):
                return Numbering(start, step, allows, mark)
    raise InvalidTable(f"the identity column {field.name} has malformed delta.identity metadata")


def invariant(field: Field) -> str | None:
    """The condition that the column's values must meet.

    "The value of `delta.invariants` SHOULD be parsed as a JSON string containing a boolean SQL expression at the key
    `expression.expression`"  (Column Invariants)
    """
    text = _text(field, INVARIANTS)
    if text is None:
        return None
    try:
        match orjson.loads(text):
            case {"expression": {"expression": str(condition)}}:
                return condition
    except orjson.JSONDecodeError:
        pass
    raise InvalidTable(f"the column {field.name} has {INVARIANTS} without an expression: {text}")


def with_metadata(field: Field, changes: Mapping[str, Json]) -> Field:
    """The field with entries of its metadata set, or taken out where the value is None."""
    merged = {**field.metadata, **changes}
    return replace(field, metadata={key: value for key, value in merged.items() if value is not None})


def _text(field: Field, key: str) -> str | None:
    value = field.metadata.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidTable(f"the column {field.name} has {key} that is no text: {value!r:.80}")
    return value


def _definition_problems(definition: ColumnDefinition) -> Iterator[str]:
    name, kind = definition.field.name, definition.field.type
    if definition.identity is not None and kind != t.LONG:
        yield f"the identity column {name} is a {kind}; identity columns are bigint"
    # "Not allowed as [...] result type of a generated column"; "`variant` columns may only default to NULL"
    if kind == t.VARIANT and definition.generated is not None:
        yield f"the variant column {name} cannot be generated"
    if kind == t.VARIANT and definition.default is not None and definition.default.upper() != "NULL":
        yield f"the variant column {name} has a default other than NULL"
    for text in filter(None, (definition.default, definition.generated)):
        yield from (f"the column {name}: {problem}" for problem in expression_problems(text))


def _field(definition: ColumnDefinition) -> Field:
    added: dict[str, Json] = {CURRENT_DEFAULT: definition.default, GENERATION_EXPRESSION: definition.generated}
    if (identity := definition.identity) is not None:
        added |= {START: identity.start, STEP: identity.step, ALLOW_EXPLICIT_INSERT: identity.allows_explicit}
    return with_metadata(definition.field, added)

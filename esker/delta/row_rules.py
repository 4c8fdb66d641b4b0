"""What must rows fulfil before they are written, and which values do they lack?  (PROTOCOL.md, "Column Invariants",
"CHECK Constraints", "Generated Columns", "Default Columns", "Identity Columns")

Pure: conditions and values for whoever writes the rows, as Spark SQL over the table's visible names.
"""

import re
from collections.abc import Iterator

from esker.core.column_paths import quoted, spelled
from esker.core.nesting import types, walk
from esker.core.row_fit import not_null_checks
from esker.core.sql_tokens import check_enclosed
from esker.core.types import VOID, Array, Field, Map, Struct, any_type
from esker.core.write import Absent, Check, ColumnValue, Computed, Given, Numbered
from esker.delta.actions import Metadata
from esker.delta.column_metadata import default, generation_expression, invariant, numbering
from esker.delta.constraints import constraints
from esker.delta.identity import following
from esker.delta.protocol import Protocol, is_supported
from esker.errors import InvalidRequest, InvalidTable

DECLARED_TEXT = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the length that a text was declared with."""
_VARCHAR = re.compile(r"varchar\((\d+)\)")


def rules(metadata: Metadata, protocol: Protocol) -> tuple[Check, ...]:
    """The conditions that must be TRUE, neither FALSE nor NULL, for each row that is written.

    Constraints and invariants are enforced whatever the protocol says of them; generated columns only where it supports
    them, because a writer that does not know them may have filled such a column as any other.
    """
    schema = metadata.schema
    checks = [*not_null_checks(schema), *_invariants(schema), *_constraints(metadata), *_lengths(schema)]
    if is_supported(protocol, "generatedColumns"):
        checks += _generated(schema)
    return tuple(checks)


def value(field: Field, given: Struct, protocol: Protocol) -> ColumnValue:
    """Where the values of a table's column come from, when the rows have the columns `given`.

    "for each such requested row that lacks any explicit value (including NULL) for columns with default values, the writing
    system will assign the result of evaluating the default value expression"  (Default Columns)
    """
    if (brought := given.find(field.name)) is not None:
        return Given(brought.name)
    expression = generation_expression(field)
    if expression is not None and is_supported(protocol, "generatedColumns"):
        return Computed(_enclosed(expression, f"the generated column {field.name}"))
    numbers = numbering(field)
    if numbers is not None and is_supported(protocol, "identityColumns"):
        first = following(numbers, field.name)
        return Numbered(numbers.start, numbers.step, None if first == numbers.start else first - numbers.step)
    expression = default(field)
    if expression is not None and is_supported(protocol, "allowColumnDefaults"):
        return Computed(_enclosed(expression, f"the default of {field.name}"))
    return Absent()


def uninvited(schema: Struct, given: Struct, protocol: Protocol) -> tuple[str, ...]:
    """The columns that rows of a user's own must not bring.

    "When `delta.identity.allowExplicitInsert` is false [...] Users should not be allowed to provide their own values"
    """
    return tuple(
        f"the column {spelled((field.name,))} is GENERATED ALWAYS AS IDENTITY, so rows do not bring it"
        for field in (schema if is_supported(protocol, "identityColumns") else ())
        if given.find(field.name) is not None and (numbers := numbering(field)) and not numbers.allows_explicit
    )


def unwritable(schema: Struct) -> tuple[str, ...]:
    """What keeps any row at all from being written to a table with these columns."""
    return (*_void_problems(schema), *_text_problems(schema))


def _invariants(schema: Struct) -> Iterator[Check]:
    for path, field in walk(schema):
        if (condition := invariant(field)) is not None:
            # "Writers MUST abort any transaction that adds a row to the table, where an invariant evaluates to `false` or
            # `null`."  Column Invariants
            name = f"the invariant of the column {spelled(path)}"
            yield Check(f"{name}: {condition}", _enclosed(condition, name))


def _constraints(metadata: Metadata) -> Iterator[Check]:
    for called, condition in constraints(metadata.configuration).items():
        # "evaluating the SQL expressions of CHECK constraints must return `true` for each row"  CHECK Constraints
        name = f"the constraint {called}"
        yield Check(f"{name}: {condition}", _enclosed(condition, name))


def _generated(schema: Struct) -> Iterator[Check]:
    for field in schema:
        if (expression := generation_expression(field)) is not None:
            # "(<value> <=> <generation expression>) IS TRUE"  Generated Columns
            name = f"the generated column {spelled((field.name,))}"
            enclosed = f"(\n{_enclosed(expression, name)}\n)"  # a comment in it ends with its line
            yield Check(f"{name}: {expression}", f"{quoted((field.name,))} <=> {enclosed}")


def _lengths(schema: Struct) -> Iterator[Check]:
    for field in schema:
        if length := _VARCHAR.fullmatch(str(field.metadata.get(DECLARED_TEXT, ""))):
            column = quoted((field.name,))
            what = f"the length of the column {spelled((field.name,))}: {length[0]}"
            yield Check(what, f"{column} IS NULL OR length({column}) <= {length[1]}")


def _enclosed(expression: str, name: str) -> str:
    """The expression, if it is one and not a piece of SQL that would reach beyond its place."""
    try:
        check_enclosed(expression)
    except InvalidRequest as error:
        raise InvalidTable(f"{name} is no expression: {error.what}", problems=error.problems) from error
    return expression


def _void_problems(schema: Struct) -> Iterator[str]:
    # "Reject any operation that would write a *new data file* while the table schema contains one of: void inside an array or
    # map (any depth); a struct whose fields are all void (any depth); a table whose columns are all void."  void type
    for path, kind in types(schema):
        match kind:
            case Array() | Map() if any_type(kind, VOID):
                yield f"{spelled(path)} holds the void type within an array or a map"
            case Struct() if all(field.type == VOID for field in kind):
                yield f"{spelled(path) or 'the table'} has only void columns"


def _text_problems(schema: Struct) -> Iterator[str]:
    for path, field in walk(schema):
        text = field.metadata.get(DECLARED_TEXT)
        if text is not None and (len(path) > 1 or not _VARCHAR.fullmatch(str(text))):
            yield f"{spelled(path)} is declared as {text}, whose padding and length Esker does not enforce"

"""Which sources of values, and which conditions, make no sense for a table's columns?  (PROTOCOL.md, "Generated Columns",
"Default Columns", "Identity Columns", "CHECK Constraints")"""

from collections.abc import Iterator

from esker.core import types as t
from esker.core.column_paths import spelled
from esker.core.expressions import is_no_condition
from esker.core.nesting import walk
from esker.core.predicate import Path
from esker.core.references import references
from esker.core.types import Array, Map, Struct, Type
from esker.delta.column_metadata import default, generation_expression, numbering
from esker.delta.constraints import constraints
from esker.delta.intended import Intended


def generated_problems(intended: Intended) -> Iterator[str]:
    """Generated columns where there can be none, and those that use what is not there or generated itself."""
    generated = {path[0].lower() for path, f in walk(intended.schema) if len(path) == 1 and generation_expression(f)}
    for path, field in walk(intended.schema):
        expression = generation_expression(field)
        if expression is None:
            continue
        here = f"the generated column {spelled(path)}"
        if len(path) > 1:
            yield f"{here} is within another column"
        if field.type == t.VARIANT:
            yield f"{here} is a variant"
        for used in sorted(references(expression) or ()):
            if used[0].lower() in generated:
                yield f"{here} uses the generated column {used[0]}"
            elif not _exists(intended.schema, used):
                yield f"{here} uses {spelled(used)}, which is not in the schema"


def default_problems(intended: Intended) -> Iterator[str]:
    """Defaults of columns that have another source of values, and of variants; and those that use columns."""
    for path, field in walk(intended.schema):
        expression = default(field)
        if expression is None:
            continue
        if generation_expression(field) is not None or numbering(field) is not None:
            yield f"the column {spelled(path)} has a default besides another source of values"
        # "`variant` columns may only default to NULL"
        if field.type == t.VARIANT and expression.strip().upper() != "NULL":
            yield f"the variant column {spelled(path)} has a default other than NULL"
        for used in sorted(references(expression) or ()):
            if intended.schema.find(used[0]) is not None:  # else it may be a function, which some are without parentheses
                yield f"the default of {spelled(path)} uses {spelled(used)}, and is to be told without the row"


def identity_problems(intended: Intended) -> Iterator[str]:
    """Identity columns that are no bigint columns of the table, or have another source of values."""
    for path, field in walk(intended.schema):
        if numbering(field) is None:
            continue
        if field.type != t.LONG or len(path) > 1:
            yield f"the identity column {spelled(path)} is no bigint column of the table"
        if generation_expression(field) is not None:
            yield f"the identity column {spelled(path)} is also a generated column"


def constraint_problems(intended: Intended) -> Iterator[str]:
    """Constraints that use what is not there, and those that are true or false of no row."""
    for name, condition in constraints(intended.configuration).items():
        # "the value is a SQL expression string whose return type must be `Boolean`"  CHECK Constraints
        if is_no_condition(condition, intended.schema):
            yield f"the constraint {name} is no condition: {condition}"
        # "Columns referred by the SQL expression must exist in the table schema."  CHECK Constraints
        for used in sorted(references(condition) or ()):
            if not _exists(intended.schema, used):
                yield f"the constraint {name} uses {spelled(used)}, which is not in the schema"


def _exists(kind: Type, path: Path) -> bool:
    """Whether the schema has what an expression names; what lies within arrays, maps and variants is for Spark to say."""
    for name in path:
        if not isinstance(kind, Struct):
            return isinstance(kind, Array | Map) or kind == t.VARIANT
        field = kind.find(name)
        if field is None:
            return False
        kind = field.type
    return True

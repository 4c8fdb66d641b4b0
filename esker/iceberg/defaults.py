"""What do rows have that were written before a column was added?  (spec, "Default values", "Column Projection")"""

from collections.abc import Iterable, Mapping
from decimal import Decimal as Number

import pyarrow as pa

from esker.core.arrow_types import to_arrow
from esker.core.types import Field, Json, Struct, Type, relaxed
from esker.errors import InvalidTable
from esker.iceberg.bounds import plain_array
from esker.iceberg.schema import INITIAL_DEFAULT, Schema, all_fields
from esker.iceberg.single_values import parse_json_value


def initial_defaults(schemas: Iterable[Schema], where: str) -> Mapping[int, pa.Scalar]:
    """The `initial-default` of each column and member that has one, by its id; the last of the schemas to have it tells."""
    found: dict[int, pa.Scalar] = {}
    for path, field in (known for schema in schemas for known in all_fields(schema.struct)):
        if field.id is not None and INITIAL_DEFAULT in field.metadata:
            try:
                found[field.id] = _scalar(field)
            except (InvalidTable, pa.ArrowException, ValueError, OverflowError) as error:
                raise InvalidTable(
                    f"the initial default of {'.'.join(path)} is not of its type: {error}", where=where
                ) from error
    return found


def default_value(field: Field, default: Json) -> pa.Scalar:
    """The value that the JSON of a default of the field says."""
    return _scalar(Field(field.name, field.type, True, field.id, {INITIAL_DEFAULT: default}))


def _scalar(field: Field) -> pa.Scalar:
    kind = relaxed(field.type)
    default = field.metadata.get(INITIAL_DEFAULT)
    if isinstance(field.type, Struct):
        return _struct(field.type, kind, default)
    value = parse_json_value(default, field.type)
    match value:
        case bool() | int() | float() | str() | bytes() | Number():
            return plain_array([value], kind)[0]
    return pa.scalar(value, to_arrow(kind))


def _struct(struct: Struct, kind: Type, default: Json) -> pa.Scalar:
    """A struct's default is null or `{}`; its members have their own. Older documents let it name values, by the ids."""
    if default is None:
        return pa.scalar(None, to_arrow(kind))
    named = default if isinstance(default, dict) else {}
    members = [_member(field, named) for field in struct]
    fields = list(to_arrow(kind))
    arrays = [pa.repeat(member, 1) if member.is_valid else pa.nulls(1, member.type) for member in members]
    return pa.StructArray.from_arrays(arrays, fields=fields)[0]


def _member(field: Field, named: Mapping[str, Json]) -> pa.Scalar:
    key = str(field.id)
    if key in named:
        return _scalar(Field(field.name, field.type, True, field.id, {INITIAL_DEFAULT: named[key]}))
    return _scalar(field)

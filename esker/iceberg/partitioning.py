"""What does a caller mean by `bucket(16, id)`, and which partition spec or sort order follows?  (spec, "Partitioning", "Sorting")

Texts name a column, alone or in a transform, with Spark's names: `years(ts)`, `months(ts)`, `days(ts)`, `hours(ts)`,
`bucket(16, id)`, `truncate(4, name)`. A sort key may go on with `DESC` and `NULLS LAST`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from esker.core.column_paths import parse_path, spelled
from esker.core.predicate import Path
from esker.errors import InvalidRequest
from esker.iceberg.metadata import PartitionField, PartitionSpec, SortField, SortOrder, TableMetadata
from esker.iceberg.schema import Schema
from esker.iceberg.transforms import DAY, HOUR, IDENTITY, MONTH, VOID, YEAR, Bucket, Transform, Truncate, misfit

_CALL = re.compile(r"\s*([A-Za-z]+)\s*\(\s*(?:(\d{1,10})\s*,\s*)?(.+?)\s*(?:,\s*(\d{1,10})\s*)?\)\s*", re.DOTALL)
_ORDER = re.compile(r"(.*?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?\s*", re.IGNORECASE | re.DOTALL)
_TIMES: dict[str, Transform] = {
    **dict.fromkeys(("year", "years"), YEAR), **dict.fromkeys(("month", "months"), MONTH),
    **dict.fromkeys(("day", "days", "date"), DAY), **dict.fromkeys(("hour", "hours", "date_hour"), HOUR),
    "identity": IDENTITY, "void": VOID,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A column and a transform of it."""

    path: Path
    transform: Transform


def parse_term(text: str) -> Term:
    """What a text names. Raises `InvalidRequest` where it is neither a column nor a transform of one."""
    match = _CALL.fullmatch(text)
    if match is None:
        return Term(parse_path(text.strip()), IDENTITY)
    name, number, path = match[1].lower(), match[2] or match[4], parse_path(match[3])
    if name in _TIMES and number is None:
        return Term(path, _TIMES[name])
    if name in ("bucket", "truncate") and number is not None and 0 < int(number) < 2**31:
        return Term(path, Bucket(int(number)) if name == "bucket" else Truncate(int(number)))
    raise InvalidRequest(
        f"{text!r} is no transform of a column",
        hint="There are years(c), months(c), days(c), hours(c), bucket(16, c), truncate(4, c) and void(c).",
    )


def source_id(term: Term, schema: Schema) -> int:
    """The id of the column that a term names. Raises `InvalidRequest` where the transform does not take it."""
    field = schema.struct.at(term.path)
    if field is None or field.id is None:
        raise InvalidRequest(f"there is no column {spelled(term.path)}")
    if (problem := misfit(term.transform, field.type)) is not None:
        raise InvalidRequest(f"{spelled(term.path)}: {problem}")
    return field.id


def field_name(term: Term) -> str:
    """The name of a partition field, as the reference implementation gives it."""
    base = ".".join(term.path)
    match term.transform:
        case Bucket():
            return f"{base}_bucket"
        case Truncate():
            return f"{base}_trunc"
    return base if term.transform == IDENTITY else f"{base}_null" if term.transform == VOID else f"{base}_{term.transform}"


def new_spec(metadata: TableMetadata | None, schema: Schema, terms: Iterable[str]) -> PartitionSpec:
    """The spec for these texts: one that is known where it is the same, with field ids that are used again where they can be."""
    specs = () if metadata is None else metadata.partition_specs
    known = {(f.source_ids, f.transform, f.name): f.field_id for spec in specs for f in spec.fields}
    following = 1000 if metadata is None else metadata.last_partition_id + 1
    fields: list[PartitionField] = []
    for term in map(parse_term, terms):
        sources, name = (source_id(term, schema),), field_name(term)
        number = known.get((sources, str(term.transform), name))
        is_taken = any(f.field_id == number for f in fields)
        if number is None or is_taken or (metadata is not None and metadata.format_version == 1):
            number, following = following, following + 1
        fields.append(PartitionField(sources, number, name, str(term.transform)))
    check_fields(fields, schema)
    return matching_spec(specs, tuple(fields))


def matching_spec(specs: Sequence[PartitionSpec], fields: tuple[PartitionField, ...]) -> PartitionSpec:
    """The spec with these fields, or the next one. "Spec equality: same fields with equal source ids, transform and name" """
    for spec in specs:
        if [(f.source_ids, f.transform, f.name) for f in spec.fields] == [(f.source_ids, f.transform, f.name) for f in fields]:
            return spec
    return PartitionSpec(max((spec.spec_id for spec in specs), default=-1) + 1, fields)


def check_fields(fields: Sequence[PartitionField], schema: Schema) -> None:
    problems = [*_repeated([f.name for f in fields], "partition field")]
    for field in fields:
        column = schema.struct.find(field.name)
        # a partition field may share a column's name only where its values are the column's
        if column is not None and field.transform not in ("identity", "void"):
            problems.append(f"the partition field {field.name} has the name of a column")
        if column is not None and field.transform == "identity" and column.id != field.source_ids[0]:
            problems.append(f"the partition field {field.name} has the name of another column")
    for field in (f for f in fields if f.transform != "void"):  # of what was dropped there may be any number
        same = [f for f in fields if f.source_ids == field.source_ids and f.transform == field.transform]
        if len(same) > 1:
            problems.append(f"{same[0].name} and {same[1].name} are the same")
    if problems:
        raise InvalidRequest("the table cannot be partitioned so", problems=dict.fromkeys(problems))


def _repeated(names: Sequence[str], what: str) -> Iterator[str]:
    yield from (f"there are two of the {what} {name}" for name in sorted({n for n in names if names.count(n) > 1}))


def new_order(metadata: TableMetadata | None, schema: Schema, keys: Iterable[str]) -> SortOrder:
    """The sort order for these texts: a known one where it is the same. No keys are the order 0."""
    fields = tuple(_sort_field(key, schema) for key in keys)
    known = (SortOrder(),) if metadata is None else metadata.sort_orders
    for order in known:
        if order.fields == fields:
            return order
    return SortOrder(max((order.order_id for order in known), default=0) + 1, fields) if fields else SortOrder()


def _sort_field(text: str, schema: Schema) -> SortField:
    match = _ORDER.fullmatch(text)
    assert match is not None
    term = parse_term(match[1])
    is_descending = (match[2] or "ASC").upper() == "DESC"
    nulls = (match[3] or ("LAST" if is_descending else "FIRST")).lower()
    return SortField((source_id(term, schema),), str(term.transform), "desc" if is_descending else "asc", f"nulls-{nulls}")

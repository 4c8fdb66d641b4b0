"""How does a partition spec evolve?  (spec, "Partition Evolution")"""

from collections.abc import Sequence
from dataclasses import replace

from esker.errors import InvalidRequest
from esker.iceberg.metadata import PartitionField, PartitionSpec, TableMetadata
from esker.iceberg.partitioning import Term, check_fields, field_name, matching_spec, parse_term, source_id


def evolved_spec(metadata: TableMetadata, add: Sequence[str], drop: Sequence[str]) -> PartitionSpec:
    """The default spec with some fields more and some fewer. Fields are dropped by their names or by what they are made of.

    In version 1 a field that is dropped becomes `void`, because places in the spec are what fields are known by.
    """
    fields = list(metadata.spec.fields)
    for text in drop:
        at = _found(fields, text, metadata)
        if metadata.format_version > 1:
            del fields[at]
        else:
            fields[at] = replace(fields[at], transform="void")
    known = {
        (f.source_ids, f.transform, f.name): f.field_id for spec in metadata.partition_specs for f in spec.fields
    }
    following = metadata.last_partition_id + 1
    for term in map(parse_term, add):
        sources, name = (source_id(term, metadata.schema),), field_name(term)
        if any(f.source_ids == sources and f.transform == str(term.transform) for f in fields):
            raise InvalidRequest(f"the table is partitioned by {name}", where=metadata.location)
        number = known.get((sources, str(term.transform), name)) if metadata.format_version > 1 else None
        if number is None or any(f.field_id == number for f in fields):
            number, following = following, following + 1
        # what a field that was dropped leaves behind makes room for the name
        fields = [replace(f, name=f"{f.name}_{f.field_id}") if (f.name, f.transform) == (name, "void") else f for f in fields]
        fields.append(PartitionField(sources, number, name, str(term.transform)))
    check_fields(fields, metadata.schema)
    return matching_spec(metadata.partition_specs, tuple(fields))


def _found(fields: Sequence[PartitionField], text: str, metadata: TableMetadata) -> int:
    for at, field in enumerate(fields):
        if field.name == text and field.transform != "void":
            return at
    term: Term = parse_term(text)
    sources = (source_id(term, metadata.schema),)
    for at, field in enumerate(fields):
        if field.source_ids == sources and field.transform == str(term.transform):
            return at
    raise InvalidRequest(f"the table is not partitioned by {text}", where=metadata.location)

"""How does a Delta table come about?  (PROTOCOL.md, "Change Metadata", "Table Features for New and Existing Tables")"""

from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

from esker.core.demands import PROMISES
from esker.core.expressions import expression_problems
from esker.core.predicate import Path, Truth
from esker.core.table import TableDefinition
from esker.core.types import Json, Struct
from esker.core.write import RowSource, WrittenFile
from esker.delta import column_metadata
from esker.delta.actions import DomainMetadata, Metadata, removed, removed_domain, with_schema
from esker.delta.clustering import DOMAIN as CLUSTERING
from esker.delta.clustering import clustering_domain, resolved
from esker.delta.column_mapping import Mode
from esker.delta.commit import create as create_version
from esker.delta.commit import now
from esker.delta.constraints import PREFIX as CONSTRAINT_PREFIX
from esker.delta.contradictions import contradictions
from esker.delta.iceberg_rules import replacement_problems
from esker.delta.intended import Intended
from esker.delta.leftovers import commit_or_discard, discard
from esker.delta.live_adds import live_adds
from esker.delta.promises import check_promises
from esker.delta.properties import CHECKPOINT_PROTECTION, MAX_COLUMN_ID, column_mapping_mode, max_column_id
from esker.delta.property_changes import PropertyChanges, applied, validated
from esker.delta.protocol import merge
from esker.delta.settled import settled
from esker.delta.snapshot import Place, Snapshot, before_creation
from esker.delta.transaction import Change, Operation, ReadSet, identities
from esker.delta.writing import added, identity_marks, write_spec
from esker.errors import Conflict, InvalidRequest

_OPERATIONS: Mapping[tuple[bool, bool], str] = {
    (False, False): "CREATE TABLE", (False, True): "CREATE TABLE AS SELECT",
    (True, False): "REPLACE TABLE", (True, True): "REPLACE TABLE AS SELECT",
}  # fmt: skip


def create(place: Place, definition: TableDefinition, rows: RowSource | None) -> Snapshot:
    """Create the table, with its rows if there are any, in one commit."""
    metadata, asked = _wanted(definition, place.url)
    made = settled(metadata, None, asked, clustering=_clustering(definition, metadata.schema))
    unborn = before_creation(place, made.protocol, made.metadata)
    check_promises(unborn, made)
    files = () if rows is None else rows.write(write_spec(unborn, rows.schema))
    try:
        return create_version(unborn, _change(definition, unborn, files, rows is not None, None))
    except Conflict:
        discard(place.storage, [file.path for file in files])
        raise


def replace_table(snapshot: Snapshot, definition: TableDefinition, rows: RowSource | None) -> Snapshot:
    """Put another table in the place of this one; its history stays, and so does its id."""
    wanted, asked = _wanted(definition, snapshot.location)
    clustering = _clustering(definition, wanted.schema)
    made = settled(_continued(wanted, snapshot.metadata), None, asked, clustering=clustering)
    # The protocol never falls by the way: features are taken out only on demand.
    made = replace(made, protocol=merge(snapshot.protocol, made.protocol))
    intended = Intended(made.metadata, made.protocol, clustering=clustering)
    if problems := (*contradictions(intended), *replacement_problems(snapshot.metadata, made.metadata, made.protocol)):
        raise InvalidRequest("this table cannot take the place of the other", where=snapshot.location, problems=problems)
    check_promises(snapshot, made)
    target = snapshot.as_if(made.protocol, made.metadata)
    files = () if rows is None else rows.write(write_spec(target, rows.schema))
    change = _change(definition, target, files, rows is not None, snapshot)
    return commit_or_discard(snapshot, lambda base: change, [file.path for file in files])


def _continued(wanted: Metadata, before: Metadata) -> Metadata:
    """The metadata under the id of the table before. Column ids go on from those that files of older versions have.

    Clients find the table at the same place, so what it was promised to them holds on, unless something else is promised; and
    its history is as it was, so checkpoints that were protected still are.
    """
    is_mapped = column_mapping_mode(wanted.configuration) is not Mode.NONE
    highest = {MAX_COLUMN_ID.name: str(max_column_id(before.configuration))} if is_mapped else {}
    held = {key: before.configuration[key] for key in (PROMISES, CHECKPOINT_PROTECTION.name) if key in before.configuration}
    return replace(wanted, id=before.id, configuration={**held, **wanted.configuration, **highest})


def _wanted(definition: TableDefinition, where: str) -> tuple[Metadata, PropertyChanges]:
    schema = column_metadata.declared(definition.columns)
    stated = definition.constraints.items()
    if problems := [f"the constraint {name}: {problem}" for name, sql in stated for problem in expression_problems(sql)]:
        raise InvalidRequest("these constraints cannot be kept", where=where, problems=problems)
    constraints = {f"{CONSTRAINT_PREFIX}{name}": sql for name, sql in stated}
    features = {f"delta.feature.{name}": "supported" for name in definition.features}
    asked = validated({**definition.properties, **constraints, **features}, creating=True)
    metadata = Metadata(
        id=str(uuid4()),
        schema_string="",
        schema=schema,
        partition_columns=_partition_columns(definition, schema, where),
        configuration=applied({}, asked),
        name=definition.name,
        description=definition.comment,
        created_time=now(),
    )
    return with_schema(metadata, schema), asked


def _partition_columns(definition: TableDefinition, schema: Struct, where: str) -> tuple[str, ...]:
    found = {name: schema.find(name) for name in definition.partition_by}
    if missing := [name for name, field in found.items() if field is None]:
        raise InvalidRequest(f"the partition columns {', '.join(missing)} are not in the schema", where=where)
    if definition.partition_by and definition.cluster_by:
        raise InvalidRequest("a table is partitioned or clustered, not both", where=where)
    return tuple(field.name for field in found.values() if field is not None)


def _clustering(definition: TableDefinition, schema: Struct) -> tuple[Path, ...] | None:
    return resolved(definition.cluster_by, schema) or None


def _change(
    definition: TableDefinition, made: Snapshot, files: tuple[WrittenFile, ...], has_rows: bool, base: Snapshot | None
) -> Change:
    gone = () if base is None else tuple(live_adds(base))
    return Change(
        operation=_operation(definition, made, files, has_rows, base),
        adds=added(files, made.metadata, made.mapping, clustering=_clustering(definition, made.schema) or ()),
        removes=tuple(removed(add, now()) for add in gone),
        metadata=identity_marks(made.metadata, files, made.mapping),
        protocol=made.protocol if base is None or made.protocol != base.protocol else None,
        domains=_domains(definition, made, base),
        reads=ReadSet() if base is None else ReadSet((Truth(True),), identities(gone)),
    )


def _operation(
    definition: TableDefinition, made: Snapshot, files: tuple[WrittenFile, ...], has_rows: bool, base: Snapshot | None
) -> Operation:
    parameters: dict[str, Json] = {
        "isManaged": "false", "description": definition.comment, "partitionBy": [*made.metadata.partition_columns],
        "clusterBy": [*definition.cluster_by], "properties": {**made.metadata.configuration},
    }  # fmt: skip
    metrics = {
        "numFiles": len(files), "numOutputRows": sum(f.statistics.rows for f in files),
        "numOutputBytes": sum(f.size for f in files),
    }  # fmt: skip
    return Operation(_OPERATIONS[base is not None, has_rows], parameters, metrics if has_rows else {})


def _domains(definition: TableDefinition, made: Snapshot, base: Snapshot | None) -> tuple[DomainMetadata, ...]:
    if definition.cluster_by:
        return (clustering_domain(definition.cluster_by, made.schema, made.mapping),)
    if base is not None and CLUSTERING in base.domains:
        return (removed_domain(base.domains[CLUSTERING]),)
    return ()

"""What is a table whose rows are all replaced by others that bring their own columns?"""

from collections.abc import Sequence
from dataclasses import replace

from esker.core.types import Field, Struct, relaxed
from esker.delta.actions import with_schema
from esker.delta.clustering import clustering_columns
from esker.delta.iceberg_rules import replacement_problems
from esker.delta.metadata_commit import whole
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest


def with_schema_of(snapshot: Snapshot, rows: Struct, partition_by: Sequence[str] | None) -> Snapshot:
    """The snapshot as it is once the table has the columns of the rows instead of its own, each of which may be null.

    It is partitioned as before, or by other columns where some are given. Constraints stay, so what they use must be there.
    """
    if clustering_columns(snapshot):
        raise InvalidRequest("a clustered table keeps its columns", where=snapshot.location, hint="Replace the table.")
    schema = Struct(tuple(Field(f.name, relaxed(f.type)) for f in rows))
    wanted = snapshot.metadata.partition_columns if partition_by is None else tuple(partition_by)
    found = {name: schema.find(name) for name in wanted}
    if missing := [name for name, field in found.items() if field is None]:
        raise InvalidRequest(f"the rows do not have the partition columns {', '.join(missing)}", where=snapshot.location)
    names = tuple(field.name for field in found.values() if field is not None)
    after = whole(snapshot, replace(with_schema(snapshot.metadata, schema), partition_columns=names))
    if problems := replacement_problems(snapshot.metadata, after.metadata, after.protocol):
        raise InvalidRequest("the table cannot be partitioned anew", where=snapshot.location, problems=problems)
    return snapshot.as_if(after.protocol, after.metadata)

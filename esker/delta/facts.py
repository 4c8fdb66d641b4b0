"""What does the registry get to know of a snapshot?"""

from dataclasses import replace

import pyarrow.compute as pc

from esker.core.features import Operation
from esker.delta.features import Facts
from esker.delta.snapshot import Snapshot
from esker.errors import EskerError


def facts(snapshot: Snapshot) -> Facts:
    """What its predicates look at; nothing of the files where the table may not be read."""
    known = Facts(configuration=snapshot.metadata.configuration, schema=snapshot.schema)
    try:
        snapshot.gate(Operation.READ)
    except EskerError:
        return known
    table = snapshot.bare_files.table
    return replace(
        known,
        domains=frozenset(snapshot.domains),
        has_deletion_vectors=table.column("deletionVector").null_count < table.num_rows,
        has_row_ids=bool(pc.any(pc.is_valid(table.column("baseRowId"))).as_py()),
        checkpoint_is_v2=snapshot.checkpoint_is_v2,
    )

"""How do the clustering columns of a table change?  (PROTOCOL.md, "Clustered Table")

Only what the table says of itself: files are clustered by the next OPTIMIZE, and those that are clustered stay so.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from esker.core.column_paths import spelled
from esker.core.columns import mask_of
from esker.core.curve import MOST_COLUMNS
from esker.core.predicate import Path
from esker.delta.clustering import DOMAIN, clustering_columns, clustering_domain, resolved
from esker.delta.column_mapping import physical_path
from esker.delta.commit import commit
from esker.delta.settled import Settled, settled
from esker.delta.snapshot import Snapshot
from esker.delta.transaction import Change, Operation
from esker.errors import InvalidRequest


def cluster_by(snapshot: Snapshot, columns: Sequence[str]) -> Snapshot:
    """Cluster the table by these columns from now on, or no longer. Where it is so already, it stays at its version."""
    paths = resolved(columns, snapshot.schema)
    if (clustering_columns(snapshot) or ()) == paths:
        return snapshot
    if len(paths) > MOST_COLUMNS:
        raise InvalidRequest(f"a table is clustered by at most {MOST_COLUMNS} columns, not {len(paths)}", where=snapshot.location)
    return commit(snapshot, lambda base: _change(base, columns))


def _change(base: Snapshot, columns: Sequence[str]) -> Change:
    paths, before = resolved(columns, base.schema), clustering_columns(base) or ()
    if problems := list(_without_statistics(base, [path for path in paths if path not in before])):
        # "If a new column is included in the clustering columns list, it is required for all table files to have statistics
        # for these added columns."
        raise InvalidRequest(
            "rows cannot be clustered by columns of which files have no statistics", where=base.location, problems=problems,
            hint="Name the columns in delta.dataSkippingStatsColumns, and have the files rewritten.",
        )  # fmt: skip
    made = settled(base.metadata, Settled(base.metadata, base.protocol), domains={*base.domains, DOMAIN}, clustering=paths)
    return Change(
        operation=Operation("CLUSTER BY", {"oldClusteringColumns": _listed(before), "newClusteringColumns": _listed(paths)}),
        metadata=None if made.metadata == base.metadata else made.metadata,
        protocol=None if made.protocol == base.protocol else made.protocol,
        domains=(clustering_domain(columns, base.schema, base.mapping),),
    )


def _without_statistics(snapshot: Snapshot, paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        field = snapshot.schema.at(path)
        assert field is not None
        low, _, nulls = snapshot.statistics.bounds(physical_path(snapshot.schema, path, snapshot.mapping), field.type)
        is_missing = mask_of(pc.is_null(low)) & mask_of(pc.is_null(nulls))
        if is_missing.any():
            yield f"{np.count_nonzero(is_missing)} of {len(is_missing)} files have none of {spelled(path)}"


def _listed(paths: Sequence[Path]) -> str:
    return ",".join(spelled(path) for path in paths)

"""Which files of a clustered table are clustered next?  (PROTOCOL.md, "Clustered Table")

Files that were clustered together are a cluster. Rows that come later would each time lie across all others, so their files are
clustered, and take along every cluster that is no larger than what has come together so far: as in a binary counter, there are
never many clusters, and a row is not rewritten often. A cluster that is large enough is left alone for good.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from esker.core.columns import Mask, Rows
from esker.delta.clustering import PROVIDER

CLUSTER = "esker.cluster"
"""The tag with the id of a file's cluster."""
COLUMNS = "esker.clusterBy"
"""The tag with the columns that the cluster is clustered by."""
LARGEST = 100 << 30
"""The bytes from which on a cluster is left alone."""

Tags = Mapping[str, str | None] | None


@dataclass(frozen=True, slots=True)
class ClusteredFiles:
    """What is known of the clustering of each live file."""

    size: Rows
    provider: Sequence[str | None]
    tags: Sequence[Tags]


def to_cluster(files: ClusteredFiles, columns: str, is_worn: Mask) -> Mask:
    """The files to cluster by these columns; those that are worn are as good as not clustered.

    "a clustering implementation must only recluster files that have the field `clusteringProvider` set to the name of the same
    clustering implementation [...] In addition, a clustering implementation may cluster any files with an unset
    `clusteringProvider` field"
    """
    is_ours = np.array([provider == PROVIDER for provider in files.provider], dtype=bool)
    is_loose = np.array([provider is None for provider in files.provider], dtype=bool)
    chosen = is_loose | (is_ours & is_worn)
    if not chosen.any():
        return chosen
    together = int(files.size[chosen].sum())
    for members in _clusters(files, np.flatnonzero(is_ours & ~chosen).tolist(), columns):
        size = int(files.size[members].sum())
        if size > together or size >= LARGEST:
            break
        together += size
        chosen[members] = True
    return chosen


def _clusters(files: ClusteredFiles, ours: Iterable[int], columns: str) -> list[list[int]]:
    """The clusters by these columns, the smallest first. A file that lost its tags is one by itself."""
    found: dict[str, list[int]] = {}
    for number in ours:
        tags = files.tags[number] or {}
        if tags.get(COLUMNS, columns) == columns:
            found.setdefault(tags.get(CLUSTER) or f"file {number}", []).append(number)
    return sorted(found.values(), key=lambda members: int(files.size[members].sum()))

"""Which files of a clustered table are clustered next?  (PROTOCOL.md, "Clustered Table")"""

import numpy as np
import pytest

from esker.delta import reclustering
from esker.delta.clustering import PROVIDER
from esker.delta.reclustering import CLUSTER, COLUMNS, ClusteredFiles, to_cluster

BY = '[["a"]]'


def chosen(files: list[tuple[int, str | None, str | None]], worn: tuple[int, ...] = (), columns: str | None = BY) -> list[int]:
    """The files to cluster; each is given by its size, its provider and its cluster."""
    tags = [None if cluster is None else {CLUSTER: cluster, COLUMNS: columns} for _, _, cluster in files]
    known = ClusteredFiles(np.array([size for size, _, _ in files], np.int64), [provider for _, provider, _ in files], tags)
    is_worn = np.isin(np.arange(len(files)), worn)
    return np.flatnonzero(to_cluster(known, BY, is_worn)).tolist()


@pytest.mark.parametrize(
    "files, expected",
    [
        ([], []),
        ([(5, None, None)], [0]),
        ([(5, PROVIDER, "x"), (5, PROVIDER, "x")], []),
        ([(5, PROVIDER, "x"), (5, PROVIDER, "x"), (1, None, None)], [2]),
        ([(5, PROVIDER, "x"), (5, PROVIDER, "x"), (10, None, None)], [0, 1, 2]),
        ([(1, None, None), (1, PROVIDER, "x"), (2, PROVIDER, "y"), (4, PROVIDER, "z"), (9, PROVIDER, "w")], [0, 1, 2, 3]),
        ([(1, None, None), (1, PROVIDER, None)], [0, 1]),
    ],
)
def test_loose_files_take_along_the_clusters_that_are_no_larger(files, expected):
    assert chosen(files) == expected


def test_a_file_that_somebody_else_clustered_is_left_alone():
    """ "a clustering implementation must only recluster files that have the field `clusteringProvider` set to the name of the
    same clustering implementation [...] may cluster any files with an unset `clusteringProvider` field" """
    assert chosen([(1, "liquid", None), (5, None, None), (1, "liquid", None)]) == [1]


def test_a_cluster_by_other_columns_is_left_alone():
    assert chosen([(1, PROVIDER, "x"), (5, None, None)], columns='[["b"]]') == [1]


def test_a_file_with_many_dead_rows_is_clustered_again_if_it_is_ours():
    assert chosen([(9, PROVIDER, "x"), (3, PROVIDER, "y"), (3, "liquid", None)], worn=(1, 2)) == [1]


def test_a_large_cluster_stays_for_good(monkeypatch):
    monkeypatch.setattr(reclustering, "LARGEST", 8)
    assert chosen([(8, PROVIDER, "x"), (3, PROVIDER, "y"), (10, None, None)]) == [1, 2]


def test_a_table_that_grows_by_equal_steps_has_few_clusters_and_rewrites_a_row_seldom():
    sizes: list[int] = []
    rewritten = 0
    for _ in range(200):
        files = [*((size, PROVIDER, str(i)) for i, size in enumerate(sizes)), (1, None, None)]
        found = set(chosen(files))
        together = sum(size for i, (size, _, _) in enumerate(files) if i in found)
        rewritten += together
        sizes = [size for i, size in enumerate(sizes) if i not in found] + [together]
        assert len(sizes) <= 8
    assert rewritten <= 200 * 8

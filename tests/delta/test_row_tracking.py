"""Where a row's id and commit version come from.  (PROTOCOL.md, "Reader Requirements for Row Tracking")"""

import pyarrow as pa
import pytest

from esker.errors import InvalidRequest, InvalidTable
from tests.delta.tables import Log, ids, inline

FEATURES = ["rowTracking", "domainMetadata", "deletionVectors"]
SETTINGS = {
    "delta__enableRowTracking": "true", "delta__rowTracking__materializedRowIdColumnName": "_id",
    "delta__rowTracking__materializedRowCommitVersionColumnName": "_version",
}  # fmt: skip
COLUMNS = ["id", "_row_id", "_row_commit_version"]


def read(log: Log) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in log.open().to_arrow(columns=COLUMNS).to_pylist()]


def test_ids_are_derived_from_the_file_and_the_position_of_the_row() -> None:
    """ "readers must add the index of the row in the file to the `baseRowId`"  (Reader Requirements for Row Tracking)"""
    log = Log().start(features=FEATURES, **SETTINGS)
    log.commit(log.data("a.parquet", ids(1, 2, 3), baseRowId=10, defaultRowCommitVersion=1, row_group_size=2))
    log.commit(log.data("b.parquet", ids(4), baseRowId=13, defaultRowCommitVersion=2))
    assert read(log) == [(1, 10, 1), (2, 11, 1), (3, 12, 1), (4, 13, 2)]


def test_deleted_rows_are_counted() -> None:
    log = Log().start(features=FEATURES, **SETTINGS)
    log.commit(log.data("a.parquet", ids(1, 2, 3, 4), baseRowId=10, defaultRowCommitVersion=1, dv=inline(0, 2)))
    assert read(log) == [(2, 11, 1), (4, 13, 1)]


def test_materialised_ids_win_where_they_are_not_null() -> None:
    """ "must use the materialized Row ID if the column [...] is present in the data file and [...] non `null`"."""
    log = Log().start(features=FEATURES, **SETTINGS)
    mixed = pa.table({"id": [1, 2, 3], "_id": [99, None, 7], "_version": [None, 5, 6]})
    log.commit(log.data("a.parquet", mixed, baseRowId=10, defaultRowCommitVersion=1))
    log.commit(log.data("b.parquet", pa.table({"id": [4], "_id": [50]}), baseRowId=13, defaultRowCommitVersion=2))
    assert read(log) == [(1, 99, 1), (2, 11, 5), (3, 7, 6), (4, 50, 2)]


def test_materialised_columns_are_hidden() -> None:
    log = Log().start(features=FEATURES, **SETTINGS)
    log.commit(log.data("a.parquet", pa.table({"id": [1], "_id": [9]}), baseRowId=0))
    assert log.open().to_arrow().column_names == ["id"]
    assert log.open().to_arrow(columns=["*"]).column_names == ["id"]


@pytest.mark.parametrize("settings", [{}, {"delta__enableRowTracking": "false"}])
@pytest.mark.parametrize("column", COLUMNS[1:])
def test_ids_are_refused_where_row_tracking_is_not_enabled(column: str, settings: dict[str, str]) -> None:
    """ "supported but not yet enabled [...] they cannot yet be relied upon to be present"  (Row Tracking)"""
    log = Log().start(features=FEATURES, **settings)
    with pytest.raises(InvalidRequest, match="row tracking"):
        log.open().to_arrow(columns=[column])


def test_without_materialised_columns_ids_are_derived_alone() -> None:
    log = Log().start(features=FEATURES, delta__enableRowTracking="true")
    log.commit(log.data("a.parquet", ids(1, 2), baseRowId=3, defaultRowCommitVersion=4))
    assert read(log) == [(1, 3, 4), (2, 4, 4)]


def test_ids_survive_a_checkpoint() -> None:
    log = Log().start(features=FEATURES, **SETTINGS)
    action = log.data("a.parquet", ids(1), baseRowId=3, defaultRowCommitVersion=4)
    log.commit(action)
    snapshot = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": FEATURES}}]
    metadata = {"metaData": {"id": "x", "schemaString": log.snapshot().metadata.schema_string, "partitionColumns": [],
                             "configuration": {k.replace("__", "."): v for k, v in SETTINGS.items()}}}  # fmt: skip
    log.checkpoint(1, [*snapshot, metadata, action])
    assert read(log) == [(1, 3, 4)]


def test_without_a_mark_nobody_knows_which_ids_were_given_out() -> None:
    """ "Writers must never commit duplicate Row IDs in the table in any version."  (Writer Requirements for Row Tracking)"""
    log = Log().start(features=FEATURES, **SETTINGS)
    log.commit(log.data("a.parquet", ids(1, 2), baseRowId=0, defaultRowCommitVersion=1))
    with pytest.raises(InvalidTable, match="which says how far those go, is missing"):
        log.open().append(ids(3))
    log.open().drop_feature("rowTracking")
    log.open().enable("rowTracking").append(ids(3))
    assert [row[:2] for row in sorted(read(log))] == [(1, 0), (2, 1), (3, 2)]

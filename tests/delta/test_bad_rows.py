"""Rows that do not fit are refused: with a clear error, without a new version, and without a file that stays behind."""

import pyarrow as pa
import pytest

import esker
from esker.errors import EskerError, InvalidRequest
from esker.storage import open_storage
from tests.delta.bad_rows import BAD_ROWS, ONLY_ARROW, BadRows
from tests.delta.tables import Log

_CASES = {**BAD_ROWS, **ONLY_ARROW}


@pytest.mark.parametrize("case", _CASES.values(), ids=_CASES)
@pytest.mark.parametrize("how", ["append", "overwrite"])
def test_bad_rows_leave_no_trace(case: BadRows, how: str):
    table = esker.create(Log().url, case.schema, **case.options)
    before = _paths(table)
    with pytest.raises(case.error, match=case.said):
        getattr(table, how)(case.rows)
    assert _paths(table) == before
    assert table.at().version == table.version == 0


@pytest.mark.parametrize("rows", [3, [{"id": 1}], None, "id int", {"id": [1]}], ids=str)
def test_what_has_no_rows_is_refused(rows: object):
    table = esker.create(Log().url, "id int")
    with pytest.raises(InvalidRequest, match="rows are a Spark or pandas frame or an Arrow table, not a"):
        table.append(rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("transaction", [("app", "1"), (1, 1), ("app",), "app"])
def test_a_transaction_is_a_name_and_a_number(transaction: object):
    table = esker.create(Log().url, "id bigint")
    with pytest.raises(InvalidRequest, match="a transaction is an application's id and a whole number"):
        table.append(pa.table({"id": [1]}), transaction=transaction)  # type: ignore[arg-type]


def test_an_append_only_table_keeps_its_rows():
    """Append-only Tables: "New log entries MUST NOT change or remove data from the table." """
    table = esker.create(Log().url, pa.table({"id": [1]}), properties={"delta.appendOnly": "true"})
    table.append(pa.table({"id": [2]}))
    before = _paths(table)
    for options in ({}, {"dynamic": True}):
        with pytest.raises(InvalidRequest, match=r"delta\.appendOnly is true"):
            table.overwrite(pa.table({"id": [3]}), **options)
    assert _paths(table) == before
    assert table.at().version == 1


_BAD_TABLES = {
    "a column twice": ({"schema": "id int, ID int"}, InvalidRequest, "there twice"),
    "an unknown partition column": ({"schema": "id int", "partition_by": ["p"]}, InvalidRequest, "partition columns p"),
    "only partition columns": ({"schema": "id int", "partition_by": ["id"]}, InvalidRequest, "all columns are partition"),
    "a partition column twice": ({"schema": "id int, p int", "partition_by": ["p", "P"]}, InvalidRequest, "named twice"),
    "a struct as partition": (
        {"schema": "id int, s struct<a:int>", "partition_by": ["s"]}, InvalidRequest, "the partition column s is of type"
    ),
    "partitions and clusters": (
        {"schema": "id int, p int", "partition_by": ["p"], "cluster_by": ["id"]}, InvalidRequest, "not both"
    ),
    "clusters of arrays": ({"schema": "a array<int>", "cluster_by": ["a"]}, InvalidRequest, "no statistics|no simple"),
    "a name that needs mapping": ({"schema": "`a b` int"}, InvalidRequest, "needs column mapping"),
    "an unknown property": ({"schema": "id int", "properties": {"delta.noSuch": "1"}}, InvalidRequest, "delta.noSuch"),
    "a property of no sense": (
        {"schema": "id int", "properties": {"delta.appendOnly": "perhaps"}}, InvalidRequest, "delta.appendOnly"
    ),
    "an unknown feature": ({"schema": "id int", "features": ["noSuchFeature"]}, EskerError, "noSuchFeature"),
    "a constraint on nothing": (
        {"schema": "id int", "constraints": {"c": "no > 1"}}, InvalidRequest, "uses no, which is not in the schema"
    ),
    "a type of no format": ({"schema": pa.schema([("t", pa.time64("us"))])}, InvalidRequest, "time, which Delta does not have"),
    "an Arrow type of no table": ({"schema": pa.schema([("t", pa.uint32())])}, InvalidRequest, "t is of type uint32, which Delta does not have"),
    "no schema at all": ({"schema": 3}, InvalidRequest, "a schema is a text"),
    "no column": ({"schema": ""}, InvalidRequest, "."),
    "rows that break a constraint": (
        {"schema": pa.table({"id": [-1]}), "constraints": {"c": "id > 0"}}, InvalidRequest, "a row breaks the constraint c"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wanted", "error", "said"), _BAD_TABLES.values(), ids=_BAD_TABLES)
def test_a_table_that_makes_no_sense_does_not_come_about(wanted: dict[str, object], error: type[EskerError], said: str):
    storage = Log().storage
    with pytest.raises(error, match=said):
        esker.create(storage.url, **wanted)  # type: ignore[arg-type]
    assert [file.path for file in storage.list("")] == []


def _paths(table: esker.Table) -> list[str]:
    return [file.path for file in open_storage(table.location).list("")]

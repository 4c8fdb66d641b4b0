"""Do rows that take the place of all others bring their own columns with them?"""

import json
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.errors import Conflict, InvalidRequest
from tests.delta.handles import created, ids, last, rows, with_rival

OTHER = pa.table({"id": ["x", "y"], "n": pa.array([1, 2], pa.int64())})


@pytest.mark.parametrize("mode", ["none", "name"])
def test_the_columns_of_the_rows_take_the_place_of_the_tables(mode: str):
    table = created("id bigint NOT NULL, gone string COMMENT 'old'", properties={"delta.columnMapping.mode": mode})
    table.append(pa.table({"id": [1], "gone": ["a"]})).overwrite(OTHER, overwrite_schema=True)
    assert str(table.schema) == "struct<id:string,n:long>"
    assert rows(table) == OTHER.to_pylist()
    assert rows(table, version=1) == [{"id": 1, "gone": "a"}]


@pytest.mark.parametrize("partition_by, columns", [(["n"], ("n",)), ([], ()), (None, ("id",))])
def test_the_table_is_partitioned_anew_where_that_is_asked(partition_by: list[str] | None, columns: tuple[str, ...]):
    table = created("id bigint, k bigint", pa.table({"id": [1], "k": [2]}), partition_by=["id"])
    table.overwrite(OTHER, overwrite_schema=True, partition_by=partition_by)
    assert table.describe().partition_columns == columns
    assert rows(table) == OTHER.to_pylist()
    assert json.loads(last(table)["operationParameters"]["partitionBy"]) == list(columns)


def test_columns_of_the_same_name_are_other_columns_under_mapping():
    """ "Assign a globally unique identifier as the physical name for each new column that is added to the schema." """
    table = created("id bigint", ids(1), properties={"delta.columnMapping.mode": "name"})
    before = table.schema.find("id").metadata
    after = table.overwrite(ids(2), overwrite_schema=True).schema.find("id").metadata
    assert before["delta.columnMapping.physicalName"] != after["delta.columnMapping.physicalName"]
    assert before["delta.columnMapping.id"] < after["delta.columnMapping.id"]


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"overwrite_schema": True, "where": "id = 1"}, "no where"),
        ({"overwrite_schema": True, "dynamic": True}, "no where"),
        ({"overwrite_schema": True, "merge_schema": True}, "no where"),
        ({"partition_by": ["id"]}, "goes with overwrite_schema"),
        ({"overwrite_schema": True, "partition_by": ["nowhere"]}, "nowhere"),
        ({"overwrite_schema": True, "partition_by": ["id", "n"]}, "all columns are partition columns"),
        ({"overwrite_schema": True}, "uses k"),
    ],
)
def test_what_makes_no_sense_makes_no_version(options: dict[str, Any], problem: str):
    table = created("id bigint, k bigint", pa.table({"id": [1], "k": [1]}), constraints={"pos": "k > 0"})
    with pytest.raises(InvalidRequest, match=problem):
        table.overwrite(OTHER, **options)
    assert esker.open(table.location).version == 1


@pytest.mark.parametrize("compat", ["delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2"])
def test_a_table_that_stays_convertible_keeps_the_names_of_its_partition_columns(compat: str):
    """ "Block replacing partitioned tables with a differently-named partition spec"  (IcebergCompatV1, IcebergCompatV2)"""
    properties = {"delta.columnMapping.mode": "name", compat: "true"}
    table = created("id bigint, k bigint", partition_by=["id"], properties=properties)
    with pytest.raises(InvalidRequest, match="partition columns would change"):
        table.overwrite(OTHER, overwrite_schema=True, partition_by=["n"])
    with pytest.raises(InvalidRequest, match="partition columns would change"):
        esker.create(table.location, "id bigint, k bigint", partition_by=["k"], properties=properties, if_exists="replace")
    assert rows(table.overwrite(OTHER, overwrite_schema=True)) == OTHER.to_pylist()


def test_a_rival_that_changes_the_columns_first_is_a_conflict():
    table = created("id bigint", ids(1))
    with pytest.raises(Conflict, match="changed the schema"):
        with_rival(table, lambda rival: rival.add_columns("x int")).overwrite(OTHER, overwrite_schema=True)
    assert rows(table) == [{"id": 1, "x": None}]

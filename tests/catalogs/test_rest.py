"""Does a REST catalog know tables, and lose none to a rival?  (Apache's own test server of the REST catalog)"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import esker
from esker.errors import Conflict, InvalidRequest, NotFound
from tests.catalogs.rest_server import rest_server

pyiceberg = pytest.importorskip("pyiceberg", reason="catalogs need pyiceberg: pip install 'esker[catalogs]'")
pytestmark = pytest.mark.peers

@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with rest_server(tmp_path_factory.mktemp("rest")) as uri:
        yield {"type": "rest", "uri": uri}


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def values(table: esker.Table) -> list[int]:
    return sorted(table.to_arrow().column("id").to_pylist())


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_a_table_is_created_changed_and_found_by_its_name(catalog: dict[str, str], version: str) -> None:
    name = f"sales.v{version}"
    made = esker.create(name, ids(1), format="iceberg", catalog=catalog, properties={"format-version": version})
    made.append(ids(2))
    made.add_columns("city string")
    made.set_properties({"owner": "tests"})
    found = esker.open(name, catalog=catalog)
    assert values(found) == [1, 2]
    assert found.schema.names == ("id", "city")
    assert found.describe().properties["owner"] == "tests"
    assert found.describe().protocol == f"format version {version}"


def test_row_lineage_goes_to_the_server(catalog: dict[str, str]) -> None:
    """Version 3: snapshots have `first-row-id` and `added-rows`, which pyiceberg's own records leave out."""
    made = esker.create("sales.lineage", ids(1, 2), format="iceberg", catalog=catalog, properties={"format-version": "3"})
    made.append(ids(3))
    found = esker.open("sales.lineage", catalog=catalog).to_arrow(["id", "_row_id"])
    assert sorted(found.column("_row_id").to_pylist()) == [0, 1, 2]


def test_a_name_is_given_once_and_a_missing_one_is_not_found(catalog: dict[str, str]) -> None:
    esker.create("sales.once", ids(1), format="iceberg", catalog=catalog)
    with pytest.raises(InvalidRequest, match="there is a table here"):
        esker.create("sales.once", "id bigint", format="iceberg", catalog=catalog)
    with pytest.raises(NotFound, match=r"sales\.never"):
        esker.open("sales.never", catalog=catalog)


def test_of_rivals_every_acknowledged_row_is_there_once(catalog: dict[str, str]) -> None:
    esker.create("sales.rivals", "id bigint", format="iceberg", catalog=catalog)

    def append(worker: int) -> list[int]:
        table, acknowledged = esker.open("sales.rivals", catalog=catalog), []
        for i in range(5):
            try:
                table.append(ids(worker * 100 + i))
            except Conflict:
                continue
            acknowledged.append(worker * 100 + i)
        return acknowledged

    with ThreadPoolExecutor(3) as pool:
        told = sorted(one for part in pool.map(append, range(3)) for one in part)
    assert len(told) >= 10
    assert values(esker.open("sales.rivals", catalog=catalog)) == told


def test_pyiceberg_and_esker_share_a_table(catalog: dict[str, str]) -> None:
    theirs = pyiceberg.catalog.load_catalog("rest", **catalog)
    theirs.create_namespace_if_not_exists("shared")
    theirs.create_table("shared.orders", ids(1).schema).append(ids(1))
    ours = esker.open("shared.orders", catalog=catalog)
    ours.append(ids(2))
    theirs.load_table("shared.orders").append(ids(3))
    assert values(ours.at()) == [1, 2, 3]

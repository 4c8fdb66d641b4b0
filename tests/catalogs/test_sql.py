"""Does a catalog in a database know tables, and lose none to a rival?  (spec, "Metastore Tables")"""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import esker
from esker.errors import Conflict, EskerError, InvalidRequest, NotFound, Unsupported
from tests.catalogs.databases import postgres, sqlite

pyiceberg = pytest.importorskip("pyiceberg", reason="catalogs need pyiceberg: pip install 'esker[catalogs]'")


@pytest.fixture(scope="module", params=[sqlite, postgres], ids=["sqlite", "postgresql"])
def uri(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with request.param(tmp_path_factory.mktemp("database")) as found:
        yield found


@pytest.fixture
def catalog(uri: str, tmp_path: Path) -> dict[str, str]:
    """A catalog of its own in the database."""
    return {"type": "sql", "name": tmp_path.name, "uri": uri, "warehouse": (tmp_path / "lake").as_uri()}


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def test_a_table_is_found_by_its_name(catalog: dict[str, str]) -> None:
    made = esker.create("sales.eu.orders", "id bigint", format="iceberg", catalog=catalog)
    made.append(ids(1, 2))
    found = esker.open("sales.eu.orders", catalog=catalog)
    assert found.to_arrow() == ids(1, 2)
    assert found.version == made.version


def test_a_table_can_be_born_with_rows(catalog: dict[str, str]) -> None:
    esker.create("sales.orders", ids(7), format="iceberg", catalog=catalog)
    assert esker.open("sales.orders", catalog=catalog).to_arrow() == ids(7)


def test_a_name_is_given_once(catalog: dict[str, str]) -> None:
    esker.create("sales.orders", ids(1), format="iceberg", catalog=catalog)
    with pytest.raises(InvalidRequest, match="there is a table here"):
        esker.create("sales.orders", "id bigint", format="iceberg", catalog=catalog)
    same = esker.create("sales.orders", "id bigint", format="iceberg", catalog=catalog, if_exists="ignore")
    assert same.to_arrow() == ids(1)


def test_a_table_that_is_not_there_is_not_found(catalog: dict[str, str]) -> None:
    with pytest.raises(NotFound, match=r"sales\.orders"):
        esker.open("sales.orders", catalog=catalog)


def test_a_handle_sees_what_others_commit(catalog: dict[str, str]) -> None:
    esker.create("sales.orders", "id bigint", format="iceberg", catalog=catalog)
    one, other = (esker.open("sales.orders", catalog=catalog) for _ in range(2))
    one.append(ids(1))
    other.append(ids(2))
    assert sorted(one.at().to_arrow().column("id").to_pylist()) == [1, 2]


def test_of_rivals_every_acknowledged_row_is_there_once(catalog: dict[str, str]) -> None:
    """Optimistic Concurrency: who loses the race begins again from the winner's state."""
    esker.create("sales.orders", "id bigint", format="iceberg", catalog=catalog)

    def append(worker: int) -> list[int]:
        table = esker.open("sales.orders", catalog=catalog)
        acknowledged = []
        for i in range(5):
            try:
                table.append(ids(worker * 100 + i))
                acknowledged.append(worker * 100 + i)
            except Conflict:
                continue
        return acknowledged

    with ThreadPoolExecutor(3) as pool:
        told = sorted(one for part in pool.map(append, range(3)) for one in part)
    assert len(told) >= 10
    assert sorted(esker.open("sales.orders", catalog=catalog).to_arrow().column("id").to_pylist()) == told


@pytest.mark.parametrize("version", ["2", "3"])
def test_pyiceberg_reads_the_table_by_the_same_catalog(catalog: dict[str, str], version: str) -> None:
    made = esker.create("sales.orders", ids(1), format="iceberg", catalog=catalog, properties={"format-version": version})
    made.append(ids(2))
    theirs = pyiceberg.catalog.load_catalog(**catalog).load_table("sales.orders")
    assert sorted(theirs.scan().to_arrow().column("id").to_pylist()) == [1, 2]


def test_esker_goes_on_where_pyiceberg_began(catalog: dict[str, str]) -> None:
    theirs = pyiceberg.catalog.load_catalog(**catalog)
    theirs.create_namespace("sales")
    theirs.create_table("sales.orders", ids(1).schema).append(ids(1))
    ours = esker.open("sales.orders", catalog=catalog)
    ours.append(ids(2))
    assert sorted(theirs.load_table("sales.orders").scan().to_arrow().column("id").to_pylist()) == [1, 2]


@pytest.mark.parametrize("name", ["orders", "", "sales.", "../orders", "a/b.c", "sales...orders"])
def test_what_is_no_name_is_refused(name: str, tmp_path: Path) -> None:
    spec = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path)}
    with pytest.raises(InvalidRequest, match="names no table"):
        esker.create(name, "id bigint", format="iceberg", catalog=spec)
    assert not [path for path in tmp_path.rglob("*") if path.is_dir()]


def test_other_formats_are_not_kept_in_catalogs(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="delta in a catalog"):
        esker.create("a.b", "id bigint", catalog={"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db"})


def test_a_catalog_that_cannot_be_opened_says_what_to_do() -> None:
    with pytest.raises(InvalidRequest, match="cannot be opened"):
        esker.open("a.b", catalog="nobody-configured-this")


def test_a_database_that_does_not_answer_is_told(tmp_path: Path) -> None:
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/wh"}
    table = esker.create("sales.orders", ids(1), format="iceberg", catalog=catalog)
    with closing(sqlite3.connect(tmp_path / "c.db")) as database:
        database.execute("DROP TABLE iceberg_tables")
    with pytest.raises(EskerError, match=r"sales.orders: the database of the catalog esker does not answer"):
        table.append(ids(2))

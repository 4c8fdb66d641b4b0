"""Can a table be promised to clients, and is the promise then kept?"""

import pytest

import esker
from esker.core.demands import PROMISES
from esker.delta.rearrange import purge
from esker.delta.snapshot import Place, load
from esker.errors import InvalidRequest
from esker.storage import open_storage
from tests.arrow_editor import ArrowEditor
from tests.delta.arranging import ArrowArranger
from tests.delta.handles import created, ids, place

OLD, NEW = "deltalake==0.20.0: read", "delta-spark>=4.4: write"
VECTORS = {"delta.enableDeletionVectors": "true"}


def test_promises_are_kept_in_a_property_and_reported() -> None:
    table = created().require([OLD]).require(["delta-spark >= 4.4 : write", OLD])
    assert table.promises == (OLD, NEW)
    assert esker.open(table.location).describe().properties == {PROMISES: f"{OLD}; {NEW}"}
    report = table.compat(["trino"])
    assert (report.promises, report.breaches) == ((OLD, NEW), ())


def test_promises_can_be_taken_back_one_by_one_or_all() -> None:
    table = created().require([OLD, NEW, "trino: read"])
    assert table.unrequire(["Trino: read"]).promises == (OLD, NEW)
    assert table.unrequire().promises == ()
    assert PROMISES not in table.describe().properties
    version = table.version
    assert table.unrequire().version == version
    with pytest.raises(InvalidRequest, match="not promised"):
        table.unrequire([OLD])


def test_what_the_table_does_not_keep_cannot_be_promised_unless_it_is_forced() -> None:
    table = created(properties=VECTORS)
    with pytest.raises(InvalidRequest, match=r"(?s)deltalake==0\.20\.0: read.*deletionVectors"):
        table.require([OLD])
    with pytest.raises(InvalidRequest, match="nothing is known of a client paper"):
        table.require(["paper: read"])
    with table.forced():
        table.require([OLD])
    (breach,) = table.compat(["trino"]).breaches
    assert breach.startswith(OLD)


def test_a_table_that_would_break_its_own_promise_is_not_created() -> None:
    where = place()
    with pytest.raises(InvalidRequest, match="deletionVectors"):
        esker.create(where, "id BIGINT", properties={**VECTORS, PROMISES: OLD})
    with pytest.raises(esker.NotFound):
        esker.open(where)
    assert esker.create(where, "id BIGINT", properties={**VECTORS, PROMISES: OLD}, force=True).promises == (OLD,)


def test_a_table_in_the_place_of_another_keeps_its_promises() -> None:
    table = created(rows=ids(1)).require([OLD])

    def replaced(properties: dict[str, str], **options: bool) -> esker.Table:
        return esker.create(table.location, "id BIGINT", properties=properties, if_exists="replace", **options)

    with pytest.raises(InvalidRequest, match=r"deltalake==0\.20\.0"):
        replaced(VECTORS)
    assert table.at().version == table.version
    assert replaced({}).promises == (OLD,)
    assert replaced(VECTORS, force=True).promises == (OLD,)
    assert replaced({**VECTORS, PROMISES: NEW}).promises == (NEW,)


def test_a_promise_that_this_release_cannot_read_is_reported_and_can_be_taken_back() -> None:
    table = created(properties={PROMISES: f"paper: read; {OLD}"}, force=True)
    (breach,) = table.compat(["trino"]).breaches
    assert breach.startswith("paper: read: whether this is kept cannot be told")
    with pytest.raises(InvalidRequest, match="paper"):
        table.set_properties(VECTORS)
    assert table.unrequire().set_properties(VECTORS).promises == ()


@pytest.mark.parametrize(
    "change", [lambda t: t.enable("deletionVectors"), lambda t: t.upgrade(2, 5), lambda t: t.enable("rowTracking", "deletionVectors")]
)
def test_no_change_of_the_protocol_breaks_a_promise_unless_it_is_forced(change) -> None:
    table = created(rows=ids(1)).require([OLD])
    version = table.version
    with pytest.raises(InvalidRequest, match=r"deltalake==0\.20\.0: read"):
        change(table)
    assert table.at().version == version
    with table.forced():
        change(table)
    assert table.version > version


def test_a_drop_that_breaks_a_promise_is_refused_before_its_first_step() -> None:
    """Dropping it the fast way asks checkpointProtection of writers."""
    table = created(rows=ids(1), properties=VECTORS).require(["deltalake==1.6.6: write"])
    version = table.version
    with pytest.raises(InvalidRequest, match="checkpointProtection"):
        table.drop_feature("deletionVectors")
    assert table.at().version == version
    assert table.describe().properties["delta.enableDeletionVectors"] == "true"


def test_vectors_do_not_come_back_to_clients_that_were_promised_a_table_without() -> None:
    """The newest version and the restored one have the same metadata and protocol: only the files tell that it is used again."""
    table = created(rows=ids(1, 2, 3), properties=VECTORS)
    esker.Table(table._table.delete("id = 2", ArrowEditor()))  # type: ignore[attr-defined]
    marked = esker.open(table.location).set_properties({"delta.enableDeletionVectors": "false"})
    purge(load(Place(open_storage(table.location))), None, ArrowArranger())
    table = esker.open(table.location).require(["clickhouse>=25.8,<25.9: read"])
    with pytest.raises(InvalidRequest, match=r"(?s)clickhouse.*deletionVectors"):
        table.restore(marked.version)
    with table.forced():
        table.restore(marked.version)
    assert len(table.compat(["trino"]).breaches) == 1
    assert table.append(ids(4)).to_arrow(columns=["id"]).num_rows == 3

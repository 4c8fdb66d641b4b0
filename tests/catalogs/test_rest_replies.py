"""Does a change through a REST server know itself again, where the server's reply does not say whether it was made?

"The first request was granted, and the second refused" is told by what the table holds then; no server is needed to ask that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from esker.core.types import LONG, Field, Struct
from esker.errors import CommitUnknown, EskerError, InvalidRequest
from esker.iceberg.catalog import Swap
from esker.iceberg.metadata import StatisticsFile, TableMetadata
from esker.iceberg.metadata_json import metadata_json
from esker.iceberg.schema import Schema
from esker.iceberg.updates import (
    AddSchema,
    AddSnapshot,
    RemoveProperties,
    RemoveRef,
    RemoveSnapshots,
    SetCurrentSchema,
    SetProperties,
    SetRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
    updated,
)
from tests.iceberg.tables import Builder

rest = pytest.importorskip("esker.catalogs.rest", reason="catalogs need pyiceberg: pip install 'esker[catalogs]'")
requests = pytest.importorskip("requests", reason="catalogs need pyiceberg: pip install 'esker[catalogs]'")


def base() -> TableMetadata:
    """A table with two snapshots, the older of them tagged and with statistics."""
    table = Builder(Struct((Field("id", LONG, id=1),)), properties={"old": "1"})
    first = table.commit()
    table.commit()
    statistics = tuple(StatisticsFile(number, f"s3://far/{number}", 1, 1, ()) for number in (first, first + 1))
    tag = SetRef("old", replace(table.metadata.refs["main"], snapshot_id=first, type="tag"))
    return updated(table.metadata, [tag, *map(SetStatistics, statistics)], 5000)


BASE = base()
WIDER = Schema(Struct((*BASE.schema.struct, Field("w", LONG, id=2))), 1)
LATER = replace(BASE.snapshots[-1], snapshot_id=900, parent_snapshot_id=101, sequence_number=3)

CHANGES: dict[str, Sequence[Update]] = {
    "a property": [SetProperties({"x": "y"})],
    "a property less": [RemoveProperties(("old",))],
    "a column": [AddSchema(WIDER), SetCurrentSchema(1)],
    "an upgrade": [UpgradeFormatVersion(3)],
    "a branch": [SetRef("b", BASE.refs["main"])],
    "a rollback": [SetRef("main", replace(BASE.refs["main"], snapshot_id=100))],
    "a tag less": [RemoveRef("old")],
    "a snapshot less": [RemoveRef("old"), RemoveSnapshots((100,))],
    "statistics": [SetStatistics(replace(BASE.statistics[0], file_size_in_bytes=7))],
    "a snapshot": [AddSnapshot(LATER), SetRef("main", replace(BASE.refs["main"], snapshot_id=900))],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_after_it_was_made_and_not_before(change: str) -> None:
    updates = CHANGES[change]
    made = updated(BASE, updates, 6000)
    swap = Swap("v1", BASE, made, updates, ())
    assert not rest.holds(BASE, swap)
    assert rest.holds(made, swap)
    assert rest.holds(updated(made, [SetProperties({"of a rival": "1"})], 7000), swap)
    assert not rest.holds(updated(BASE, [SetProperties({"of a rival": "1"})], 7000), swap)
    assert not rest.holds(replace(made, table_uuid="another"), swap)


MADE = updated(BASE, CHANGES["a snapshot"], 6000)
UNHEARD = {"a timeout": (408, b""), "a gateway's own failure": (524, b""), "half a reply": (200, b'{"metadata'), "no reply": (200, b"")}


@pytest.mark.parametrize("reply", UNHEARD)
def test_a_reply_that_does_not_tell_is_never_taken_for_a_refusal(reply: str) -> None:
    """What was written for a change that is refused is deleted, so that nothing may look like a refusal that is none."""
    status, body = UNHEARD[reply]
    assert _swapped(_answer(status, body), lambda: _answer(200, _told(MADE))) == ("metadata/v9.metadata.json", MADE)
    with pytest.raises(CommitUnknown):
        _swapped(_answer(status, body), lambda: _answer(200, _told(BASE)))
    with pytest.raises(CommitUnknown):
        _swapped(_answer(status, body), lambda: _answer(200, b"{}"))


def test_a_reply_from_where_a_request_was_sent_on_to_is_no_commit() -> None:
    """A POST that is redirected by 301 becomes a GET, whose reply looks like that to a commit."""
    with pytest.raises(InvalidRequest, match="sends requests on"):
        _swapped(_answer(200, _told(BASE), "GET"), lambda: _answer(200, _told(BASE)))


def test_a_server_that_does_not_answer_is_told() -> None:
    def silent() -> Any:
        raise requests.ConnectionError("nobody there")

    with pytest.raises(EskerError, match=r"lake.t: the catalog a test does not answer: nobody there"):
        _table(_answer(200, b""), silent).load()


def _swapped(reply: Any, newest: Callable[[], Any]) -> tuple[str, TableMetadata]:
    """What comes of a commit that gets this reply, where the table is then found to be so."""
    swap = Swap("metadata/v8.metadata.json", BASE, MADE, CHANGES["a snapshot"], ())
    found: tuple[str, TableMetadata] = _table(reply, newest).swap(swap)
    return found


def _table(reply: Any, newest: Callable[[], Any]) -> Any:
    class Client:
        name = "a test"

        class _session:
            post = staticmethod(lambda url, data: reply)
            get = staticmethod(lambda url: newest())

        def _split_identifier_for_path(self, identifier: object) -> Mapping[str, str]:
            return {"namespace": "lake", "table": "t"}

        def url(self, endpoint: str, prefixed: bool, **parts: str) -> str:
            return endpoint

    return rest.RestTable(Client(), "lake", "t")


def _answer(status: int, body: bytes, method: str = "POST") -> Any:
    found = requests.Response()
    found.status_code, found._content, found.url = status, body, "https://elsewhere/lake/t"
    found.request = requests.Request(method, found.url).prepare()
    return found


def _told(metadata: TableMetadata) -> bytes:
    return orjson.dumps({"metadata-location": "s3://far/away/t/metadata/v9.metadata.json", "metadata": metadata_json(metadata)})

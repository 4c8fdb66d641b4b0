"""How does a REST server know the newest metadata of tables?  (Iceberg's REST catalog, `loadTable`, `updateTable`, `createTable`)

The server applies updates itself, and refuses those whose requirements it does not find met. Requests go through the session of
pyiceberg's client, which knows how to log in; what they say is Esker's own, as pyiceberg's records of snapshots leave out what
format version 3 adds to them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import orjson
from pyiceberg.catalog.rest import Endpoints, RestCatalog
from requests import RequestException, Response, Session

from esker.catalogs.pointers import folder_of, path_in
from esker.catalogs.port import Entry, split_name
from esker.core.types import Json
from esker.errors import CommitUnknown, EskerError, InvalidRequest, InvalidTable, NotFound, Unsupported
from esker.iceberg.catalog import LostRace, Swap
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.metadata_json import sort_order_json, spec_json
from esker.iceberg.metadata_parsing import parse_metadata
from esker.iceberg.schema import schema_json
from esker.iceberg.updates import AddSnapshot, SetRef, Update, updated
from esker.iceberg.updates_json import requirement_json, update_json

_TIMEOUT, _FAILURE = 408, 500
"""Replies that do not say whether a change was made: the one, and all from the other on, as gateways have some of their own."""


@dataclass(frozen=True)
class RestCatalogs:
    """The tables of one server."""

    client: RestCatalog
    options: Mapping[str, str]

    def table(self, name: str) -> Entry:
        table = RestTable(self.client, *split_name(name))
        location, _ = table.current()
        return Entry(folder_of(location), table, self.options)

    def new_table(self, name: str) -> Entry:
        namespace, own = split_name(name)
        self.client.create_namespace_if_not_exists(namespace)
        table = RestTable(self.client, namespace, own)
        return Entry(table.staged_location(), table, self.options)


@dataclass(frozen=True)
class RestTable:
    """One table of a server."""

    client: RestCatalog
    namespace: str
    name: str

    def current(self) -> tuple[str, TableMetadata]:
        """The location of the newest metadata file, and what it says."""
        try:
            reply = self._session.get(self._url(Endpoints.load_table))
        except RequestException as error:
            raise EskerError(
                f"the catalog {self.client.name} does not answer: {error}", where=f"{self.namespace}.{self.name}"
            ) from error
        if reply.status_code == 404:
            raise NotFound(f"there is no table {self.namespace}.{self.name} in the catalog {self.client.name}")
        return self._told(_checked(reply, self.namespace, self.name))

    def load(self) -> tuple[str, TableMetadata]:
        location, metadata = self.current()
        return path_in(location), metadata

    def staged_location(self) -> str:
        """Where the server wants a table of this name to be. Nothing is created."""
        empty: dict[str, Json] = {"type": "struct", "schema-id": 0, "fields": []}
        body = {"name": self.name, "schema": empty, "stage-create": True}
        reply = self._session.post(self._url(Endpoints.create_table), data=orjson.dumps(body))
        if reply.status_code == 409:
            raise InvalidRequest(
                "there is a table here", where=f"{self.namespace}.{self.name}",
                hint="Open it, or pass if_exists='ignore' or if_exists='replace'.",
            )  # fmt: skip
        told = _checked(reply, self.namespace, self.name).get("metadata")
        location = told.get("location") if isinstance(told, dict) else None
        if not isinstance(location, str):
            raise InvalidTable("the server does not say where a new table goes", where=f"{self.namespace}.{self.name}")
        return location

    def create(self, metadata: TableMetadata) -> tuple[str, TableMetadata]:
        # "assign-uuid": whoever else made a table of this name gave it another
        return self._commit([{"type": "assert-create"}], _creation(metadata), lambda now: now.table_uuid == metadata.table_uuid)

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        uuid: dict[str, Json] = {"type": "assert-table-uuid", "uuid": swap.base.table_uuid}
        requirements = [uuid, *_moved_refs(swap), *(one for r in swap.requirements for one in requirement_json(r))]
        version = swap.metadata.format_version
        return self._commit(requirements, [update_json(u, version) for u in swap.updates], lambda now: holds(now, swap))

    def _commit(
        self, requirements: list[dict[str, Json]], updates: list[dict[str, Json]], is_made: Callable[[TableMetadata], bool]
    ) -> tuple[str, TableMetadata]:
        """Ask for a change. `is_made` tells by what is current then whether it was made, where the reply does not."""
        identifier = {"namespace": self.namespace.split("."), "name": self.name}
        unique = list({orjson.dumps(r): r for r in requirements}.values())
        body = orjson.dumps({"identifier": identifier, "requirements": unique, "updates": updates})
        try:
            reply = self._session.post(self._url(Endpoints.update_table), data=body)
        except RequestException as error:
            return self._settled(is_made, str(error))
        if reply.status_code == 409:
            return self._refused(is_made, _reason(reply))
        if reply.status_code == _TIMEOUT or reply.status_code >= _FAILURE:
            return self._settled(is_made, _reason(reply))
        if reply.request.method != "POST":  # a client that is sent on asks for what is there, and changes nothing
            raise InvalidRequest(
                f"the catalog sends requests on to {reply.url}", where=f"{self.namespace}.{self.name}",
                hint="Open the catalog at the address that it sends them to.",
            )  # fmt: skip
        try:
            location, metadata = self._told(_checked(reply, self.namespace, self.name))
        except (InvalidTable, Unsupported) as error:  # it was granted, whatever is wrong with the reply
            return self._settled(is_made, error.what)
        return path_in(location), metadata

    def _refused(self, is_made: Callable[[TableMetadata], bool], why: str) -> tuple[str, TableMetadata]:
        """A gateway that asks twice gives back the reply to its second request, where the first was granted."""
        found = self._newest()
        if found is None:
            raise self._unknown(why)
        if is_made(found[1]):
            return found
        raise LostRace(why)

    def _settled(self, is_made: Callable[[TableMetadata], bool], why: str) -> tuple[str, TableMetadata]:
        """What is current, where the change is seen to be made; where it is not, it may still be on its way."""
        found = self._newest()
        if found is not None and is_made(found[1]):
            return found
        raise self._unknown(why)

    def _newest(self) -> tuple[str, TableMetadata] | None:
        """What is current; None where the server does not say."""
        try:
            return self.load()
        except EskerError:
            return None

    def _unknown(self, why: str) -> CommitUnknown:
        return CommitUnknown(
            f"the server did not say whether the change was made: {why}",
            where=f"{self.namespace}.{self.name}",
            hint="Look at the table's history before you repeat the operation.",
        )

    def _told(self, reply: Mapping[str, Json]) -> tuple[str, TableMetadata]:
        location = reply.get("metadata-location")
        if not isinstance(location, str):
            raise InvalidTable("the server names no metadata file", where=f"{self.namespace}.{self.name}")
        return location, parse_metadata(reply.get("metadata"), location)

    @property
    def _session(self) -> Session:
        return self.client._session

    def _url(self, endpoint: str) -> str:
        parts = self.client._split_identifier_for_path((*self.namespace.split("."), self.name))
        return self.client.url(endpoint, prefixed=True, **parts)


def _creation(metadata: TableMetadata) -> list[dict[str, Json]]:
    """All that makes a new table what it is."""
    told: list[dict[str, Json]] = [
        {"action": "assign-uuid", "uuid": metadata.table_uuid},
        {"action": "upgrade-format-version", "format-version": metadata.format_version},
        {"action": "add-schema", "schema": schema_json(metadata.schema), "last-column-id": metadata.last_column_id},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": spec_json(metadata.spec)},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": sort_order_json(metadata.sort_order)},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata.location},
        {"action": "set-properties", "updates": dict(metadata.properties)},
    ]
    return told + [update_json(update, metadata.format_version) for update in _snapshots(metadata)]


def _snapshots(metadata: TableMetadata) -> list[Update]:
    """The first snapshots of a table that is born with rows."""
    return [
        *(AddSnapshot(snapshot) for snapshot in metadata.snapshots),
        *(SetRef(name, ref) for name, ref in metadata.refs.items()),
    ]


def _moved_refs(swap: Swap) -> list[dict[str, Json]]:
    """A branch that moves must still be where it was when the change was made: the server would move it from anywhere."""
    moved = [update.name for update in swap.updates if isinstance(update, SetRef)]
    return [
        {
            "type": "assert-ref-snapshot-id", "ref": name,
            "snapshot-id": swap.base.refs[name].snapshot_id if name in swap.base.refs else None,
        }
        for name in moved
    ]  # fmt: skip


def holds(now: TableMetadata, swap: Swap) -> bool:
    """Whether the table has all that the swap was to bring: making its updates once more would change nothing.

    A snapshot has an id of its own. All else may as well be from a rival who asked for the same, and then nothing is left to do.
    """
    if now.table_uuid != swap.base.table_uuid:
        return False
    known = {snapshot.snapshot_id for snapshot in now.snapshots}
    added = {update.snapshot.snapshot_id for update in swap.updates if isinstance(update, AddSnapshot)}
    if added:
        return added <= known
    try:
        return _unordered(updated(now, swap.updates, now.last_updated_ms)) == _unordered(now)
    except EskerError:
        return False


def _unordered(metadata: TableMetadata) -> TableMetadata:
    """The metadata with what was replaced where it stood before."""
    return replace(
        metadata,
        statistics=tuple(sorted(metadata.statistics, key=lambda s: s.snapshot_id)),
        partition_statistics=tuple(sorted(metadata.partition_statistics, key=lambda s: s.snapshot_id)),
    )


def _checked(reply: Response, namespace: str, name: str) -> Mapping[str, Json]:
    """The object that a reply holds; an error where it reports one."""
    if reply.status_code >= 400:
        raise InvalidRequest(f"the catalog refuses: {_reason(reply)}", where=f"{namespace}.{name}")
    try:
        told = orjson.loads(reply.content)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"the catalog's reply is no JSON: {error}", where=f"{namespace}.{name}") from error
    if not isinstance(told, dict):
        raise InvalidTable("the catalog's reply is no object", where=f"{namespace}.{name}")
    return told


def _reason(reply: Response) -> str:
    return f"{reply.status_code} {reply.text[:300]}"

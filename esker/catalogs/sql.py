"""How does a database know the newest metadata of tables?  (the table `iceberg_tables` of JDBC catalogs)

The swap is one UPDATE that finds its row only while the base is still the newest. The metadata file is Esker's own: pyiceberg's
records of snapshots leave out what format version 3 adds to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from esker.catalogs.pointers import discard, folder_of, path_in, put_next, read
from esker.catalogs.port import Entry, split_name
from esker.errors import CommitUnknown, InvalidRequest, NotFound
from esker.iceberg.catalog import LostRace, Swap
from esker.iceberg.metadata import TableMetadata
from esker.storage import open_storage
from esker.storage.port import Storage


@dataclass(frozen=True)
class SqlCatalogs:
    """The tables of one catalog in a database."""

    client: SqlCatalog
    options: Mapping[str, str]

    def table(self, name: str) -> Entry:
        row = _Row(self.client, *split_name(name))
        location = row.metadata_location()
        folder = folder_of(location)
        return Entry(folder, SqlTable(row, open_storage(folder, self.options)), self.options)

    def new_table(self, name: str) -> Entry:
        namespace, own = split_name(name)
        warehouse = self.client.properties.get("warehouse")
        if not warehouse:
            raise InvalidRequest(
                f"the catalog {self.client.name} does not say where new tables go", hint="Give it the property warehouse."
            )
        self.client.create_namespace_if_not_exists(namespace)
        folder = f"{warehouse.rstrip('/')}/{namespace.replace('.', '/')}/{own}"
        storage = open_storage(folder, self.options)
        return Entry(storage.url, SqlTable(_Row(self.client, namespace, own), storage), self.options)


@dataclass(frozen=True)
class _Row:
    """A table's row in the database."""

    client: SqlCatalog
    namespace: str
    name: str

    def metadata_location(self) -> str:
        wanted = select(IcebergTables.metadata_location).where(*self._keys)
        with self.client.engine.connect() as connection:
            found = connection.execute(wanted).scalar()
        if found is None:
            raise NotFound(f"there is no table {self.namespace}.{self.name} in the catalog {self.client.name}")
        return found

    def insert(self, location: str) -> None:
        keys = {"catalog_name": self.client.name, "table_namespace": self.namespace, "table_name": self.name}
        with self.client.engine.begin() as connection:
            connection.execute(insert(IcebergTables).values(**keys, metadata_location=location))

    def update(self, base: str, location: str) -> bool:
        """Whether the base was still the newest."""
        following = update(IcebergTables).where(*self._keys, IcebergTables.metadata_location == base)
        with self.client.engine.begin() as connection:
            done = connection.execute(following.values(metadata_location=location, previous_metadata_location=base))
        return done.rowcount == 1

    @property
    def _keys(self) -> tuple[ColumnElement[bool], ...]:
        return (
            IcebergTables.catalog_name == self.client.name,
            IcebergTables.table_namespace == self.namespace,
            IcebergTables.table_name == self.name,
        )


@dataclass(frozen=True)
class SqlTable:
    """One table of a catalog in a database."""

    row: _Row
    storage: Storage

    def load(self) -> tuple[str, TableMetadata]:
        path = path_in(self.row.metadata_location())
        return path, read(self.storage, path)

    def create(self, metadata: TableMetadata) -> tuple[str, TableMetadata]:
        path = put_next(self.storage, None, metadata)
        try:
            self.row.insert(self._location(path))
        except IntegrityError as error:
            discard(self.storage, path)
            raise LostRace(path) from error
        except SQLAlchemyError as error:
            self._settle(path, error)
        return path, metadata

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        base = self.row.metadata_location()
        if path_in(base) != swap.base_file:
            raise LostRace(base)
        path = put_next(self.storage, swap.base_file, swap.metadata)
        try:
            if not self.row.update(base, self._location(path)):
                discard(self.storage, path)
                raise LostRace(path)
        except SQLAlchemyError as error:
            self._settle(path, error)
        return path, swap.metadata

    def _location(self, path: str) -> str:
        return f"{self.storage.url}/{path}"

    def _settle(self, path: str, error: SQLAlchemyError) -> None:
        """Look whether a change happened although the database reported a failure. Nothing is cleaned unless it is certain."""
        try:
            newest = self.row.metadata_location()
            current = read(self.storage, path_in(newest))
        except (SQLAlchemyError, NotFound):
            raise CommitUnknown(
                f"the database did not say whether the change was made: {error}",
                where=self.storage.url,
                hint="Look at the table's history before you repeat the operation.",
            ) from error
        if newest != self._location(path) and not any(e.metadata_file == self._location(path) for e in current.metadata_log):
            discard(self.storage, path)
            raise LostRace(path) from error

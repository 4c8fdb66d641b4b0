"""How does a database know the newest metadata of tables?  (the table `iceberg_tables` of JDBC catalogs)

The swap is one UPDATE that finds its row only while the base is still the newest. The metadata file is Esker's own: pyiceberg's
records of snapshots leave out what format version 3 adds to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import ColumnElement, Connection, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from esker.catalogs.pointers import discard, folder_of, path_in, put_next, read
from esker.catalogs.port import Entry, split_name
from esker.errors import CommitUnknown, EskerError, InvalidRequest, NotFound
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


class _NotMade(Exception):
    """The change was certainly not made."""


@dataclass(frozen=True)
class _Row:
    """A table's row in the database."""

    client: SqlCatalog
    namespace: str
    name: str

    def metadata_location(self) -> str:
        wanted = select(IcebergTables.metadata_location).where(*self._keys)
        try:
            with self.client.engine.connect() as connection:
                found = connection.execute(wanted).scalar()
        except SQLAlchemyError as error:
            raise EskerError(
                f"the database of the catalog {self.client.name} does not answer: {error}", where=f"{self.namespace}.{self.name}"
            ) from error
        if found is None:
            raise NotFound(f"there is no table {self.namespace}.{self.name} in the catalog {self.client.name}")
        return found

    def insert(self, location: str) -> None:
        keys = {"catalog_name": self.client.name, "table_namespace": self.namespace, "table_name": self.name}
        with self.client.engine.connect() as connection:
            connection.execute(insert(IcebergTables).values(**keys, metadata_location=location))
            _commit(connection)

    def update(self, base: str, location: str) -> bool:
        """Whether the base was still the newest. Raises `_NotMade` where that failed before the database was asked to keep it."""
        following = update(IcebergTables).where(*self._keys, IcebergTables.metadata_location == base)
        with self.client.engine.connect() as connection:
            try:
                done = connection.execute(following.values(metadata_location=location, previous_metadata_location=base))
            except SQLAlchemyError as error:
                raise _NotMade from error
            if done.rowcount == 1:
                _commit(connection)
        return done.rowcount == 1

    @property
    def _keys(self) -> tuple[ColumnElement[bool], ...]:
        return (
            IcebergTables.catalog_name == self.client.name,
            IcebergTables.table_namespace == self.namespace,
            IcebergTables.table_name == self.name,
        )


def _commit(connection: Connection) -> None:
    """Commit; where that fails, drop the connection: whoever used it next would see a change that nobody else sees."""
    try:
        connection.commit()
    except SQLAlchemyError:
        connection.invalidate()
        raise


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
            self._settle(path, None, error)
        return path, metadata

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        base = self.row.metadata_location()
        if path_in(base) != swap.base_file:
            raise LostRace(base)
        path = put_next(self.storage, swap.base_file, swap.metadata)
        try:
            is_made = self.row.update(base, self._location(path))
        except _NotMade:
            is_made = False
        except SQLAlchemyError as error:
            self._settle(path, swap.base_file, error)
            is_made = True
        if not is_made:
            discard(self.storage, path)
            raise LostRace(path)
        return path, swap.metadata

    def _location(self, path: str) -> str:
        return f"{self.storage.url}/{path}"

    def _settle(self, path: str, base_file: str | None, error: SQLAlchemyError) -> None:
        """Look whether a change was made although the database reported a failure; `LostRace` where it was certainly not.

        It was where the log of the newest metadata names our file, and was not where another file followed on the base. As long
        as the base is the newest, the change may still be on its way, and nothing is cleaned.
        """
        try:
            newest = self.row.metadata_location()
            log = read(self.storage, path_in(newest)).metadata_log
            known = [*(path_in(entry.metadata_file) for entry in log), path_in(newest)]
        except EskerError:
            known = []
        if path in known:
            return
        if base_file in known[:-1]:
            discard(self.storage, path)
            raise LostRace(path) from error
        raise CommitUnknown(
            f"the database did not say whether the change was made: {error}",
            where=self.storage.url,
            hint="Look at the table's history before you repeat the operation.",
        ) from error

"""What does a catalog of many tables offer?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from esker.errors import InvalidRequest
from esker.iceberg.catalog import Catalog


@dataclass(frozen=True)
class Entry:
    """A table in a catalog: where its folder is, who knows its newest metadata, and what its storage is opened with."""

    location: str
    catalog: Catalog
    options: Mapping[str, str]


class Catalogs(Protocol):
    """A catalog of many tables; each has a name, the last of which is its own: `lake.events`."""

    def table(self, name: str) -> Entry:
        """A table that is there; `NotFound` where it is not."""

    def new_table(self, name: str) -> Entry:
        """The place for a table that is to be created."""


def split_name(name: str) -> tuple[str, str]:
    """The namespace, whose own parts are parted by dots, and the table's own name."""
    namespace, _, own = name.rpartition(".")
    if not namespace or not own or "/" in name or ".." in name:
        raise InvalidRequest(f"{name!r} names no table of a catalog", hint="Write namespace.table, as in lake.events.")
    return namespace, own

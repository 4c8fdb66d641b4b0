"""Catalogs that know the newest metadata files of Iceberg tables: SQL databases and REST servers, by the clients of pyiceberg.

Importing this costs nothing: pyiceberg, which is an extra, is loaded when a catalog is first asked for.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TypeAlias

from esker.catalogs.port import Catalogs
from esker.errors import Unsupported

CatalogSpec: TypeAlias = str | Mapping[str, str]
"""A name, which pyiceberg's configuration describes; or properties, as `{"type": "sql", "uri": "sqlite:///lake.db"}`."""


def open_catalog(spec: CatalogSpec, options: Mapping[str, str]) -> Catalogs:
    """The catalog; `options` are what its tables' storages are opened with: see `esker.catalogs.opening`."""
    try:
        opening = import_module("esker.catalogs.opening")
    except ImportError as error:
        raise Unsupported(
            f"catalogs need pyiceberg, which is not there ({error})", hint="Install it: pip install 'esker[catalogs]'."
        ) from error
    catalogs: Catalogs = opening.open_catalog(spec, options)
    return catalogs

"""Which catalog does the caller mean, and which of ours speaks with it?"""

from collections.abc import Mapping

from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import RESTError
from requests import RequestException
from sqlalchemy.exc import SQLAlchemyError

from esker.catalogs.port import Catalogs
from esker.catalogs.rest import RestCatalogs
from esker.catalogs.sql import SqlCatalogs
from esker.errors import InvalidRequest, Unsupported

_NAME = "esker"
"""The name of a catalog that is given by its properties and has none among them."""


def open_catalog(spec: str | Mapping[str, str], options: Mapping[str, str]) -> Catalogs:
    """The catalog. `options` are what its tables' storages are opened with."""
    properties = {} if isinstance(spec, str) else dict(spec)
    name = spec if isinstance(spec, str) else properties.pop("name", _NAME)
    try:
        client = load_catalog(name, **properties)
    except (ValueError, KeyError, RESTError, RequestException, SQLAlchemyError) as error:
        raise InvalidRequest(
            f"the catalog {name} cannot be opened: {error}",
            hint="Pass its properties, such as {'type': 'rest', 'uri': ...}, or configure it for pyiceberg.",
        ) from error
    match client:
        case SqlCatalog():
            return SqlCatalogs(client, options)
        case RestCatalog():
            return RestCatalogs(client, options)
    raise Unsupported(f"catalogs of the kind {type(client).__name__}; Esker speaks with SQL and REST catalogs")

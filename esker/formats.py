"""Which format has the table at a location?"""

import os
from collections.abc import Mapping

from esker.core.table import FormatTable
from esker.delta.table import open_delta
from esker.errors import NotFound, Unsupported
from esker.storage import Storage, open_storage


def open_format(
    location: str | os.PathLike[str], options: Mapping[str, str], moves: Mapping[str, str]
) -> FormatTable:
    """Look which format the table has, and open it."""
    storage = open_storage(location, options)
    if _has(storage, "_delta_log"):
        return open_delta(storage, options, moves)
    if _has(storage, "metadata"):
        raise Unsupported("this looks like an Iceberg table, and Esker does not read Iceberg yet", where=storage.url)
    if _has(storage, "_versions"):
        raise Unsupported("this looks like a Lance table, and Esker does not read Lance yet", where=storage.url)
    raise NotFound("there is no table here", where=storage.url, hint="A Delta table has a folder _delta_log.")


def _has(storage: Storage, folder: str) -> bool:
    return next(iter(storage.list(folder)), None) is not None

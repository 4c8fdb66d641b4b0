"""How far did the last vacuum reach?

`_delta_log/_last_vacuum_info`, which the protocol does not know and Delta's Spark connector keeps. It saves a vacuum that goes by
the log from reading commits twice, so nothing about it is ever an error.
"""

import orjson

from esker.delta.log import LOG_FOLDER
from esker.errors import EskerError
from esker.storage.port import Storage

LAST_VACUUM = f"{LOG_FOLDER}/_last_vacuum_info"
_REACH = "latestCommitVersionOutsideOfRetentionWindow"


def read_last_vacuum(storage: Storage) -> int | None:
    """The newest version of which all that it and those before it removed is gone; None where nobody says."""
    try:
        said = orjson.loads(storage.read(LAST_VACUUM))
    except (EskerError, orjson.JSONDecodeError):
        return None
    match said:
        case {"latestCommitVersionOutsideOfRetentionWindow": int(version)} if version >= 0:
            return version
    return None


def write_last_vacuum(storage: Storage, reach: int) -> None:
    """Say how far a vacuum reached. One that reached less far takes nothing back."""
    known = read_last_vacuum(storage)
    if known is None or known < reach:
        storage.put(LAST_VACUUM, orjson.dumps({_REACH: reach}) + b"\n")

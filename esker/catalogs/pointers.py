"""How is the next metadata file of a table in a catalog named and written?  (spec, "Metastore Tables")

`metadata/<N>-<uuid>.metadata.json`: "V is the version number"; no two writers ever write the same file, so that one of them can
lose the race in the catalog and nothing is harmed.
"""

import re
from contextlib import suppress
from uuid import uuid4

from esker.errors import EskerError, InvalidTable
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.metadata_json import read_metadata, write_metadata
from esker.iceberg.place import METADATA
from esker.iceberg.state import split_location
from esker.storage.port import Storage

_NUMBERED = re.compile(rf"{METADATA}/(\d+)-[^/]+\.metadata\.json(?:\.gz)?")
CODEC = "write.metadata.compression-codec"


def folder_of(metadata_location: str) -> str:
    """The folder of the table whose metadata file this is."""
    folder, path = split_location(metadata_location)
    if path is None or not path.startswith(f"{METADATA}/"):
        raise InvalidTable("the catalog names a metadata file that lies in no table's folder", where=metadata_location)
    return folder


def path_in(metadata_location: str) -> str:
    """The metadata file's path below its table."""
    _, path = split_location(metadata_location)
    return path or metadata_location


def read(storage: Storage, path: str) -> TableMetadata:
    return read_metadata(storage.read(path), f"{storage.url}/{path}")


def put_next(storage: Storage, base: str | None, metadata: TableMetadata) -> str:
    """Write the metadata file that follows on another, or the first; its path."""
    match = None if base is None else _NUMBERED.fullmatch(base)
    number = int(match[1]) + 1 if match else 0
    is_gzipped = metadata.properties.get(CODEC, "none").lower() == "gzip"
    path = f"{METADATA}/{number:05}-{uuid4()}{'.gz' if is_gzipped else ''}.metadata.json"
    storage.put_if_absent(path, write_metadata(metadata, is_gzipped=is_gzipped))
    return path


def discard(storage: Storage, path: str) -> None:
    """Take a metadata file away that never became anybody's; where that fails, it is an orphan."""
    with suppress(EskerError):
        storage.delete(path)

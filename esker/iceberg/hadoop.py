"""How does a table in a folder get its next metadata file?  (spec, "File System Tables")

`metadata/v<N>.metadata.json` by number: who puts the next number has committed. The specification renames a file for that, which
is not safe everywhere; `put_if_absent` is. `version-hint.text` is a hint, and nothing more.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

from esker.errors import AlreadyExists, CommitUnknown, EskerError, InvalidRequest, Unsupported
from esker.iceberg.catalog import LostRace, Swap
from esker.iceberg.current_file import HINT, current_file
from esker.iceberg.metadata import TableMetadata
from esker.iceberg.metadata_json import read_metadata, write_metadata
from esker.iceberg.place import METADATA
from esker.storage.port import Storage

_NUMBERED = re.compile(rf"{METADATA}/v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?")
CODEC = "write.metadata.compression-codec"


@dataclass(frozen=True)
class FolderCatalog:
    """The folder of a table as its own catalog."""

    storage: Storage

    def load(self) -> tuple[str, TableMetadata]:
        path = current_file(self.storage)
        return path, read_metadata(self.storage.read(path), f"{self.storage.url}/{path}")

    def swap(self, swap: Swap) -> tuple[str, TableMetadata]:
        number = self._number(swap.base_file) + 1
        # By what the base says, so that rivals agree on the name that they race for.
        is_gzipped = swap.base.properties.get(CODEC, "none").lower() == "gzip"
        return self._put(number, swap.metadata, is_gzipped), swap.metadata

    def create(self, metadata: TableMetadata) -> tuple[str, TableMetadata]:
        return self._put(1, metadata, is_gzipped=False), metadata

    def _number(self, path: str) -> int:
        match = _NUMBERED.fullmatch(path)
        if match is None:
            raise Unsupported(
                f"the table's newest metadata file is {path}, which a catalog has named: only by it can the table be changed",
                where=self.storage.url,
                hint="Open the table through its catalog.",
            )
        return int(match[1])

    def _put(self, number: int, metadata: TableMetadata, is_gzipped: bool) -> str:
        path = f"{METADATA}/v{number}{'.gz' if is_gzipped else ''}.metadata.json"
        data = write_metadata(metadata, is_gzipped=is_gzipped)
        try:
            self.storage.put_if_absent(path, data)
        except (InvalidRequest, Unsupported):
            raise  # it was not even tried
        except EskerError as error:
            if not self._is_ours(path, data, error):
                raise LostRace(path) from error
        with suppress(EskerError):  # readers go on from any hint, and without one
            self.storage.put(HINT, str(number).encode())
        return path

    def _is_ours(self, path: str, data: bytes, error: EskerError) -> bool:
        """Whether the file is the one that was put: a client that repeats a request whose reply was lost finds its own file."""
        try:
            return self.storage.read(path) == data
        except EskerError:
            if isinstance(error, AlreadyExists):
                raise LostRace(path) from error
            raise CommitUnknown(
                f"the store did not say whether {path} was written: {error}",
                where=self.storage.url,
                hint="Look at the table's history before you repeat the operation.",
            ) from error

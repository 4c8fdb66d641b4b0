"""What do the footers of many files say?"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from esker.core.footers import FileStatistics, file_statistics
from esker.errors import InvalidTable
from esker.storage import FileInfo, Storage, open_input


def read_statistics(storage: Storage, files: Sequence[FileInfo]) -> list[FileStatistics]:
    """The statistics of each file, read in parallel."""

    def read(file: FileInfo) -> FileStatistics:
        try:
            with open_input(storage, file.path, file.size) as source:
                return file_statistics(pq.read_metadata(source))
        except (pa.ArrowException, OSError) as error:
            raise InvalidTable(f"the footer cannot be read: {error}", where=f"{storage.url}/{file.path}") from error

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(read, files))

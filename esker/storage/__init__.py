"""Where do a table's files lie, and how are they reached?"""

from esker.storage.opening import open_storage, storage_at
from esker.storage.paths import join_url, relocated, resolve, split_url
from esker.storage.port import FileInfo, Storage
from esker.storage.source import open_input

__all__ = [
    "FileInfo",
    "Storage",
    "join_url",
    "open_input",
    "open_storage",
    "relocated",
    "resolve",
    "split_url",
    "storage_at",
]

"""Do all the storages keep the contract?"""

from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import MemoryStore

from esker.storage import Storage, open_storage
from esker.storage.cloud import CloudStorage
from esker.testing.faults import Counting
from esker.testing.storage import StorageContract


class TestLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return open_storage(tmp_path / "not yet there" / "100% table#1")


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return open_storage(f"memory://{uuid4()}")


class TestFolderInMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        name = uuid4()
        open_storage(f"memory://{name}/other folder").put("neighbour", b"x")
        return open_storage(f"memory://{name}/a folder/below")


class TestCloud(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return CloudStorage(MemoryStore(), "s3://bucket")


class TestPrefixInCloud(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        store = MemoryStore()
        CloudStorage(store, "s3://bucket/a prefix").put("neighbour", b"x")
        return CloudStorage(store, "s3://bucket/a prefix/100% table#1")


class TestWrapped(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return Counting(open_storage(f"memory://{uuid4()}"))

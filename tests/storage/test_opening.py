"""Does a location open the storage that it means?"""

import pickle
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from esker.errors import EskerError, InvalidRequest, NotFound, Unsupported
from esker.storage import open_storage, storage_at
from esker.storage.cloud import CloudStorage

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "eu-north-1"}


@pytest.mark.parametrize("name", ["a b", "a%20b", "100%", "a#1", "a?b", "[x]", "é"])
def test_a_plain_path_is_literal(tmp_path: Path, name: str) -> None:
    for location in (tmp_path / name, str(tmp_path / name), f"{tmp_path}/x/..//{name}/"):
        assert open_storage(location).url == f"file://{tmp_path}/{name}"


@pytest.mark.parametrize("start", ["file:", "file://", "file://localhost", "FILE:"])
def test_a_file_url_is_decoded_once(start: str) -> None:
    assert open_storage(f"{start}/lake/a%20b%2520c").url == "file:///lake/a b%20c"


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    assert open_storage("lake/t").url == f"file://{tmp_path}/lake/t"
    assert open_storage(Path("lake")).url == f"file://{tmp_path}/lake"
    assert open_storage(".").url == f"file://{tmp_path}"
    assert open_storage("~/lake").url == "file:///home/someone/lake"
    assert open_storage("/").url == "file://"


def test_the_root_folder_can_be_a_storage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert storage_at("file://").read(f"{tmp_path}/a".removeprefix("/")) == b"x"


def test_storages_in_memory_are_shared_by_name() -> None:
    name = uuid4()
    open_storage(f"memory://{name}/folder").put("a", b"x")
    assert open_storage(f"memory://{name}").read("folder/a") == b"x"
    with pytest.raises(NotFound):
        open_storage(f"memory://{uuid4()}").read("folder/a")


@pytest.mark.parametrize("url", ["file:///lake/a%20b", "memory://name/a%20b", "s3://bucket/a%20b", "file://"])
def test_the_url_of_a_storage_leads_back_to_it(url: str) -> None:
    assert storage_at(url, KEYS if url.startswith("s3") else None).url == url


@pytest.mark.parametrize(
    "location", ["", "file:", "file:relative", "file://host/x", "memory://", "s3://", "s3:///x", "a\0b"]
)
def test_a_location_that_means_nothing_is_refused(location: str) -> None:
    with pytest.raises(InvalidRequest):
        open_storage(location)


def test_an_unknown_scheme_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="hdfs"):
        open_storage("hdfs://host/x")


@pytest.mark.parametrize(
    "url, options",
    [
        ("s3://bucket/table", KEYS),
        ("s3a://bucket/table/", {key.upper(): value for key, value in KEYS.items()}),
        ("s3://bucket/table", KEYS | {"allow_http": "true", "AWS_CONNECT_TIMEOUT": "3s"}),
        ("gs://bucket/table", {"google_skip_signature": "true"}),
        ("az://container/table", {"azure_storage_account_name": "account", "azure_skip_signature": "true"}),
        ("abfss://container@account.dfs.core.windows.net/table", {"timeout": "3s"}),
    ],
)
def test_a_bucket_opens_with_options_of_the_store_and_of_its_client(url: str, options: Mapping[str, str]) -> None:
    storage = open_storage(url, options)
    assert storage.url == url.rstrip("/")
    assert pickle.loads(pickle.dumps(storage)).url == storage.url


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no_such_option"):
        open_storage("s3://bucket", KEYS | {"no_such_option": "1"})


def test_an_azure_container_without_an_account_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(EskerError, match="azure_storage_account_name"):
        open_storage("az://container/table")


def test_a_store_that_cannot_be_reached_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    options = KEYS | {"aws_endpoint": "http://127.0.0.1:9"}
    with pytest.raises(EskerError, match="allow_http=true") as refused:
        open_storage("s3://bucket", options).read("a")
    assert not isinstance(refused.value, NotFound)
    assert "Debug source" not in str(refused.value)


def test_a_storage_is_not_opened_by_a_cloud_key_that_climbs() -> None:
    with pytest.raises(InvalidRequest):
        open_storage("s3://bucket/a/../b", KEYS)
    assert isinstance(open_storage("s3://bucket/a", KEYS), CloudStorage)

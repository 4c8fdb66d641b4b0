"""Does the contract hold over HTTP, with the answers that S3 gives?  (moto's server, when it is installed)"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from esker.errors import NotFound, Unsupported
from esker.storage import Storage, open_storage
from esker.testing.storage import LITERAL_NAMES, StorageContract

server = pytest.importorskip("moto.server", reason="moto[s3,server] is not installed, so there is no S3 to talk to")
boto3 = pytest.importorskip("boto3", reason="boto3 is not installed, so no bucket can be made")

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def options(endpoint: str) -> dict[str, str]:
    return KEYS | {"aws_region": "us-east-1", "aws_endpoint": endpoint, "allow_http": "true"}


@pytest.fixture
def client(endpoint: str) -> Any:
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **KEYS)


@pytest.fixture
def bucket(client: Any) -> str:
    name = str(uuid4())
    client.create_bucket(Bucket=name)
    return name


class TestS3(StorageContract):
    @pytest.fixture
    def storage(self, options: dict[str, str], bucket: str) -> Storage:
        return open_storage(f"s3://{bucket}/a prefix/100% table#1", options)


def test_keys_are_literal_to_other_clients_too(options: dict[str, str], bucket: str, client: Any) -> None:
    storage = open_storage(f"s3://{bucket}/a%20b", options)
    for name in LITERAL_NAMES:
        storage.put_if_absent(name, b"")
    keys = [found["Key"] for found in client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == sorted(f"a%20b/{name}" for name in LITERAL_NAMES)


def test_a_listing_of_several_pages_is_whole(options: dict[str, str], bucket: str, client: Any) -> None:
    for number in range(1100):
        client.put_object(Bucket=bucket, Key=f"log/{number:04}", Body=b"")
    found = [file.path for file in open_storage(f"s3://{bucket}", options).list("log", after="log/0001")]
    assert found == [f"log/{number:04}" for number in range(2, 1100)]


def test_the_marker_of_a_folder_is_not_a_file_in_it(options: dict[str, str], bucket: str, client: Any) -> None:
    for key in ("table/", "table/log/", "table/log/0"):
        client.put_object(Bucket=bucket, Key=key, Body=b"")
    assert [file.path for file in open_storage(f"s3://{bucket}/table", options).list("log")] == ["log/0"]


def test_a_key_with_an_empty_segment_is_unsupported(options: dict[str, str], bucket: str, client: Any) -> None:
    client.put_object(Bucket=bucket, Key="table//x", Body=b"")
    with pytest.raises(Unsupported, match="table//x"):
        list(open_storage(f"s3://{bucket}/table", options).list())


@pytest.mark.parametrize("act", [lambda s: s.read("a"), lambda s: s.put("a", b""), lambda s: [*s.list()]])
def test_a_missing_bucket_is_said_to_be_missing(options: dict[str, str], act: Callable[[Storage], object]) -> None:
    with pytest.raises(NotFound, match="no such bucket"):
        act(open_storage("s3://no-such-bucket/table", options))


def test_what_the_options_do_not_say_comes_from_the_environment(
    options: dict[str, str], bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in options.items():
        monkeypatch.setenv(key.upper() if key.startswith("aws_") else f"AWS_{key.upper()}", value)
    open_storage(f"s3://{bucket}").put("a", b"x")
    assert open_storage(f"s3://{bucket}", {"aws_region": "us-east-1"}).read("a") == b"x"

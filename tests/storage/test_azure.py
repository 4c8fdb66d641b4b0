"""Does the contract hold over HTTP, with the answers that Azure gives?  (Azurite, when `make test-peers` has installed it)"""

import base64
import hashlib
import hmac
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import uuid4
from xml.etree import ElementTree

import pytest

from esker.errors import NotFound
from esker.storage import Storage, open_storage
from esker.testing.storage import LITERAL_NAMES, StorageContract
from tests.catalogs.databases import free_port

SERVER = os.environ.get("ESKER_AZURITE", "")
ACCOUNT, KEY = "esker", base64.b64encode(b"a key of this test alone").decode()

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        not Path(SERVER).is_file(),
        reason="Azurite is not there: `make test-peers` installs it where there is npm, and says where in ESKER_AZURITE",
    ),
]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("azurite"), free_port()
    command = [SERVER, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--silent", "--disableTelemetry", "--skipApiVersionCheck"],
            env={**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait(server, f"http://127.0.0.1:{port}", folder / "log")
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def options(endpoint: str) -> dict[str, str]:
    return {
        "azure_storage_account_name": ACCOUNT, "azure_storage_account_key": KEY, "azure_endpoint": endpoint, "allow_http": "true",
    }  # fmt: skip


@pytest.fixture
def container(endpoint: str) -> str:
    name = str(uuid4())
    _ask("PUT", endpoint, name, restype="container")
    return name


class TestAzure(StorageContract):
    refused_names = ("a\\b",)

    @pytest.fixture
    def storage(self, options: dict[str, str], container: str) -> Storage:
        return open_storage(f"az://{container}/a prefix/100% table#1", options)


def test_keys_are_literal_to_other_clients_too(options: dict[str, str], container: str, endpoint: str) -> None:
    names = sorted(set(LITERAL_NAMES) - set(TestAzure.refused_names))
    storage = open_storage(f"az://{container}/a%20b", options)
    for name in names:
        storage.put_if_absent(name, b"")
    listed = ElementTree.fromstring(_ask("GET", endpoint, container, comp="list", restype="container").decode("utf-8-sig"))
    assert sorted(found.text or "" for found in listed.iter("Name")) == [f"a%20b/{name}" for name in names]


@pytest.mark.parametrize("act", [lambda s: s.read("a"), lambda s: s.put("a", b""), lambda s: [*s.list()]])
def test_a_missing_container_is_not_found(options: dict[str, str], act: Callable[[Storage], object]) -> None:
    with pytest.raises(NotFound):
        act(open_storage("az://no-such-container/table", options))


def test_a_url_of_hadoop_leads_to_the_same_files(options: dict[str, str], container: str) -> None:
    open_storage(f"az://{container}/table", options).put("a", b"x")
    account = f"{container}@{ACCOUNT}.dfs.core.windows.net"
    assert open_storage(f"abfss://{account}/table", options).read("a") == b"x"


def _wait(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    while server.poll() is None:
        try:
            urlopen(url, timeout=5).close()
        except URLError as error:
            if hasattr(error, "code"):  # it answers
                return
            time.sleep(0.2)
    pytest.fail(f"the server ended: {log.read_text()[-2000:]}")


def _ask(method: str, endpoint: str, container: str, **query: str) -> bytes:
    """One request, signed with the shared key as Azure's documentation of its REST interface says."""
    date, version = formatdate(usegmt=True), "2021-08-06"
    asked = "".join(f"\n{name}:{value}" for name, value in sorted(query.items()))
    text = f"{method}{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{version}\n/{ACCOUNT}/{ACCOUNT}/{container}{asked}"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers = {"x-ms-date": date, "x-ms-version": version, "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
    url = f"{endpoint}/{container}?" + "&".join(f"{name}={value}" for name, value in query.items())
    with urlopen(Request(url, method=method, headers=headers), timeout=60) as reply:
        return bytes(reply.read())

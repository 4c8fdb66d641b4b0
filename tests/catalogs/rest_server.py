"""Apache's own test server of the REST catalog, and a gateway before it that does what gateways do on bad days."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.catalogs.databases import free_port

JAR = os.environ.get("ESKER_ICEBERG_REST")
NO_JAR = "the server of the REST catalog is not there: `make test-peers` fetches it and says where in ESKER_ICEBERG_REST"


@contextmanager
def rest_server(folder: Path) -> Iterator[str]:
    """The URI of a server of its own, with its tables in the folder and its pointers in a database there."""
    if JAR is None or not Path(JAR).exists():
        pytest.skip(NO_JAR)
    port = free_port()
    told = {
        "CATALOG_WAREHOUSE": folder.as_uri(), "CATALOG_REST_PORT": str(port), "REST_PORT": str(port),
        "CATALOG_URI": f"jdbc:sqlite:{folder}/pointers.db",
    }  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(["java", "-jar", JAR], env={**os.environ, **told}, stdout=log, stderr=log)
    try:
        _wait(server, f"http://127.0.0.1:{port}/v1/config", folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _wait(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    while server.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the server ended: {log.read_text()[-2000:]}")


class Gateway:
    """Hands requests on to a server. What `mood` says happens to the next commit, once.

    `lost` hands it on and then drops the connection, `refused` drops it at once, `broken` hands it on and replies 502, `twice`
    hands it on two times and gives back the second reply.
    """

    def __init__(self, server: str) -> None:
        self.mood: str | None = None
        self._server = urlsplit(server).netloc
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.uri = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def asked(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, str]:
        """The server's own reply."""
        connection = HTTPConnection(self._server, timeout=60)
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        found = reply.status, reply.read(), reply.getheader("Content-Type") or "application/json"
        connection.close()
        return found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._hand_on(None)

            do_HEAD = do_DELETE = do_GET

            def do_POST(self) -> None:
                is_commit = "/tables/" in self.path
                mood, gateway.mood = (gateway.mood, None) if is_commit else (None, gateway.mood)
                self._hand_on(mood)

            def _hand_on(self, mood: str | None) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if mood == "refused":
                    self.close_connection = True
                    return
                kept = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "accept-encoding")}
                reply = gateway.asked(self.command, self.path, body, kept)
                if mood == "lost":
                    self.close_connection = True
                    return
                if mood == "twice":
                    reply = gateway.asked(self.command, self.path, body, kept)
                status, text, kind = (502, b"", "text/plain") if mood == "broken" else reply
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler

"""A real browser, driven over ChromeDriver's HTTP interface (W3C WebDriver) with nothing but the standard library."""

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
MISSING = "there is no Chromium with its ChromeDriver (Debian: chromium, chromium-driver)"
_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
]  # fmt: skip


class Browser:
    """One page at a time. `run` gives what a piece of JavaScript returns."""

    def __init__(self, base: str, session: str) -> None:
        self._base = f"{base}/session/{session}"

    def open(self, page: Path) -> None:
        _ask("POST", f"{self._base}/url", {"url": page.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        return _ask("POST", f"{self._base}/execute/sync", {"script": script, "args": list(arguments)})

    def type(self, selector: str, text: str) -> None:
        _ask("POST", f"{self._base}/element/{self._element(selector)}/value", {"text": text})

    def click(self, selector: str) -> None:
        _ask("POST", f"{self._base}/element/{self._element(selector)}/click", {})

    def choose(self, selector: str, value: str) -> None:
        self.run("const f = document.querySelector(arguments[0]); f.value = arguments[1]; f.dispatchEvent(new Event('change'))", selector, value)

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def resize(self, width: int, height: int) -> None:
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        """Light or dark, as the system would say."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")  # the page is told with its next frame

    def devtools(self, command: str, **parameters: Any) -> Any:
        return _ask("POST", f"{self._base}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def messages(self) -> list[str]:
        """What the browser wrote on its console: errors, and what the page's policy forbade."""
        return [entry["message"] for entry in _ask("POST", f"{self._base}/se/log", {"type": "browser"})]

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(_ask("GET", f"{self._base}/screenshot")))

    def _element(self, selector: str) -> str:
        found = _ask("POST", f"{self._base}/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the block."""
    assert DRIVER, MISSING
    assert BROWSER, MISSING
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _await(base, driver)
        options = {"binary": BROWSER, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = _ask("POST", f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        yield Browser(base, session)
        _ask("DELETE", f"{base}/session/{session}")
    finally:
        driver.terminate()
        driver.wait(20)


def _await(base: str, driver: "subprocess.Popen[bytes]") -> None:
    for _ in range(150):
        assert driver.poll() is None, "ChromeDriver ended by itself"
        try:
            if _ask("GET", f"{base}/status")["ready"]:
                return
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError("ChromeDriver does not answer")


def _ask(method: str, url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=60) as answer:
        return json.load(answer)["value"]

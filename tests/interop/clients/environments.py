"""Which releases of clients can be run here, and in which environment?

The releases that the data says were run, each with the companion that it was run with. An environment is built once and kept.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from esker.compat.clients import Client, clients
from tests.conftest import ROOT
from tests.interop.peer import PYTHON as DELTA_SPARK

FOLDER = Path(os.environ.get("ESKER_CLIENTS", ROOT / ".venv-clients")).absolute()
SCRIPTS = {"delta": ("deltalake", "polars", "daft", "duckdb"), "iceberg": ("pyiceberg",), "lance": ("pylance",)}
"""The clients of each format that a script beside this file can ask, `by_NAME.py`."""
_ARROW = (("0.13", "11.0.0"), ("0.18", "15.0.2"), ("1.0", "17.0.0"), ("999", "21.0.0"))
"""Releases of deltalake below a version, and the newest Arrow that they get along with."""
_MORE = {
    "daft": ("packaging", "pyiceberg", "setuptools<81"),
    "pyiceberg": ("pyarrow", "sqlalchemy>=2", "pydantic<2.12"),
    "pylance": ("setuptools<81",),
}
"""What a client imports and does not ask for, or asks for in releases that it does not get along with."""
_BEFORE_NUMPY_2 = {"pyiceberg": "0.8", "pylance": "0.20"}
"""Below which release a client, or the Arrow that it asks for, needs an older numpy."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One release of a client, and what has to be installed to run it; nothing, where it has an environment already."""

    client: Client
    version: str
    requirements: tuple[str, ...]
    python: Path

    def __str__(self) -> str:
        return f"{self.client.name}=={self.version}"

    @property
    def script(self) -> Path:
        return Path(__file__).with_name(f"by_{self.client.name.replace('-', '_')}.py")

    def built(self) -> str | None:
        """Build the environment, unless it is there; why that cannot be done, where it cannot."""
        done = self.python.parent.parent / ".installed"
        if done.exists() or not self.requirements:
            return None if self.python.exists() else f"there is no {self.python}"
        made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(done.parent)], capture_output=True, text=True)
        if made.returncode == 0:
            pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
            made = subprocess.run([*pip, *self.requirements], capture_output=True, text=True)
        if made.returncode:
            return (made.stderr.strip().splitlines() or ["it cannot be installed"])[-1]
        done.touch()
        return None


def environments(format: str) -> Iterator[Environment]:
    """All that can be tried, client by client, the newest release first."""
    for client in clients(format):
        if client.name in SCRIPTS.get(format, ()):
            told = [run for release in client.releases for run in release.run]
            yield from (_environment(client, run) for run in reversed(told))
        elif client.name == "delta-spark":
            yield Environment(client, "4.4.0", (), DELTA_SPARK)


def _environment(client: Client, run: str) -> Environment:
    """From what the data says was run: `1.9.0 with deltalake 0.20.2`."""
    version, _, companion = run.partition(" with ")
    name = {"daft": "getdaft"}.get(client.name, client.name) if Version(version) < Version("0.5") else client.name
    packages = [f"{name}=={version}", *([companion.replace(" ", "==")] if companion else [])]
    python = FOLDER / f"{client.name}-{version}" / "bin" / "python"
    return Environment(client, version, (*packages, *_arrow(client, companion, version), *_MORE.get(client.name, ())), python)


def _arrow(client: Client, companion: str, version: str) -> tuple[str, ...]:
    """The Arrow and the numpy that a release gets along with, where it does not say so itself."""
    if client.name == "duckdb":
        return ()
    if client.name in _BEFORE_NUMPY_2:
        return ("numpy<2", "pyarrow<18") if Version(version) < Version(_BEFORE_NUMPY_2[client.name]) else ()
    deltalake = Version(companion.removeprefix("deltalake ") or version)
    newest = next(arrow for below, arrow in _ARROW if deltalake < Version(below))
    return (f"pyarrow=={newest}", *(("numpy<2",) if Version(newest) < Version("18") else ()))

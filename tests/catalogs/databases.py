"""Which databases can hold a catalog here? Each starts one of its own, and gives its URI."""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def sqlite(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder}/catalog.db"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A server on a port of its own; skipped where PostgreSQL or its driver is not installed."""
    pytest.importorskip("psycopg2", reason="PostgreSQL's driver is not installed: pip install psycopg2-binary")
    found = shutil.which("initdb") or next(iter(sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")))), None)
    if found is None:
        pytest.skip("PostgreSQL's server is not installed")
    binaries, data, port = Path(found).parent, folder / "postgres", free_port()
    data.mkdir()
    # The server does not run as root; it is given to whoever Debian made for it.
    prefix: list[str] = []
    if os.geteuid() == 0:
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
        shutil.chown(data, "postgres", "postgres")
        for parent in data.parents:
            if parent.owner() == getpass.getuser() and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
    control = [*prefix, str(binaries / "pg_ctl"), "-D", str(data), "-w"]
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/"}
    subprocess.run([*prefix, found, "-D", str(data), "-U", "esker", "-A", "trust"], **run)  # type: ignore[call-overload]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    subprocess.run([*control, "-l", str(data / "log"), "-o", options, "start"], **run)  # type: ignore[call-overload]
    try:
        yield f"postgresql+psycopg2://esker@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **run)  # type: ignore[call-overload]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""A session is found or made, and says nothing while it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = "from esker.spark.session import session; session(); print(session().range(3).count())"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "version, told", [("1.8.0_372", "version 8"), ("11.0.2", "version 11"), ("what", "no Java was found")]
)
def test_an_old_java_is_refused_in_one_sentence(tmp_path: Path, version: str, told: str):
    done = run(START, JAVA_HOME=str(fake_java(tmp_path, version)))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("esker.errors.Unsupported: Spark needs Java 17 or newer, and ")
    assert told in last


def test_without_java_there_is_no_session(tmp_path: Path):
    done = run(START, JAVA_HOME=str(tmp_path))
    assert "no Java was found: install one" in done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("said, heap", [("4294967296\n", 2048), ("max\n", None), ("1", 1024), (None, None)])
def test_the_driver_takes_half_of_what_its_container_may(tmp_path: Path, monkeypatch, said: str | None, heap: int | None):
    from esker.spark import session

    monkeypatch.setattr(session.os, "sysconf", {"SC_PAGE_SIZE": 1 << 12, "SC_PHYS_PAGES": 1 << 22}.__getitem__)  # 16 GiB
    monkeypatch.setattr(session, "_CONTAINER_LIMIT", tmp_path / "memory.max")
    if said is not None:
        (tmp_path / "memory.max").write_text(said)
    assert session._driver_memory() == (heap or 8192)


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_starts_without_a_word(tmp_path: Path):
    done = run(START, HOME=str(tmp_path))
    assert (done.stdout, done.stderr) == ("3\n", "")


@pytest.mark.spark
def test_an_active_session_is_taken_as_it_is(spark):
    from esker.spark.session import is_connect, session

    assert session("another", **{"spark.sql.session.timeZone": "Asia/Tokyo"}) is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert not is_connect(spark)

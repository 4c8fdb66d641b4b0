"""What do tests share: the corpus, and a Spark session where there is a Java to run it?"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tests.shares import Shares, turn

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("ESKER_CORPUS", ROOT.parent / "shared" / "corpus"))
NO_CORPUS = f"the corpus of tables is not at {CORPUS}; set ESKER_CORPUS to where it lies"
HANGS = 1800
NO_JAVA = "Spark needs Java 17 or newer, on the path or at JAVA_HOME"

# What passed passes again: the examples of a property are drawn anew by `make fuzz` only.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)
settings.load_profile(os.environ.get("ESKER_EXAMPLES", "same"))

# Hundreds of small queries: optimizing the code for one of them does not pay, and there is one such session for each worker.
FOR_FEW_ROWS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    # the little compiler has little room for its code by default: where that is full, code is thrown away and compiled again
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xms2g -Xmn640m -XX:MetaspaceSize=256m",
    "spark.sql.shuffle.partitions": 2,
}


def corpus_cases(format: str) -> list[Any]:
    """One parameter per table of the corpus in this format: its entry in expected.json. Without a corpus, one skipped.

    The entry's `table` is a folder relative to the fixture `corpus`; the corpus describes the other keys itself.
    """
    if not CORPUS.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason=NO_CORPUS), id="no-corpus")]
    entries = [entry for entry in _expected()["tables"] if entry["format"] == format]
    return [pytest.param(entry, id=entry["table"].removeprefix(f"{format}/")) for entry in entries]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the corpus; a test that asks for it is skipped where there is none."""
    if not CORPUS.is_dir():
        pytest.skip(NO_CORPUS)
    return CORPUS


@pytest.fixture(scope="session")
def corpus_digest(corpus: Path) -> ModuleType:
    """The corpus's own module of digests: `digest(table)` and `schema(table)` of an Arrow table."""
    spec = importlib.util.spec_from_file_location("corpus_digest", corpus / "digest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One classic Spark session for all tests."""
    if not has_java():
        pytest.skip(NO_JAVA)
    import esker  # tests that need no Spark run where the package's face does not import

    session = esker.session("tests", **FOR_FEW_ROWS)
    yield session
    session.stop()


@cache
def has_java() -> bool:
    """Whether the Java that Spark would take is there and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        return False
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    return version is not None and int(version[1]) >= 17


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `spark` or `connect` where there is no Java, and `corpus` where there is no corpus.

    The time of a test counts what is made for it. With peers that is other software's, for many tests at once: only one that
    hangs is to be ended.
    """
    items.sort(key=turn)
    for item in items:
        if (item.get_closest_marker("spark") or item.get_closest_marker("connect")) and not has_java():
            item.add_marker(pytest.mark.skip(reason=NO_JAVA))
        if item.get_closest_marker("peers"):
            item.add_marker(pytest.mark.timeout(HANGS))
        if item.get_closest_marker("corpus") and not CORPUS.is_dir():
            item.add_marker(pytest.mark.skip(reason=NO_CORPUS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares:
    """Share the tests out among workers, where there are several."""
    config.option.loadscopereorder = False
    return Shares(config, log)


@cache
def _expected() -> dict[str, Any]:
    return json.loads((CORPUS / "expected.json").read_text())

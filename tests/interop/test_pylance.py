"""What releases of pylance make of flags, as `compat` predicts it; and whose tables are read by whom."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.compat.verdicts import Verdict
from tests.conftest import ROOT
from tests.lance.tables import ROWS, editor, flagged, made, rows

pytestmark = pytest.mark.peers
OLDER = ("10.0.0", "0.39.0")
ENVIRONMENTS = Path(os.environ.get("ESKER_PYLANCE", ROOT / ".venv-pylance"))
BITS = [1 << place for place in range(12)]


def _pythons() -> dict[str, Path]:
    found = {version("pylance"): Path(sys.executable)}
    return found | {release: ENVIRONMENTS / f"pylance-{release}" / "bin" / "python" for release in OLDER}


def _probed(release: str, jobs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    python = _pythons()[release]
    if not python.exists():
        pytest.skip(f"pylance {release} is not at {python}: `make test-peers` installs it, ESKER_PYLANCE says where it is")
    said = subprocess.run(
        [str(python), str(Path(__file__).with_name("pylance_probe.py"))], input=json.dumps(jobs), capture_output=True, text=True,
        check=True, env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip
    found: list[dict[str, Any]] = json.loads(said.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of files that every release here reads and appends to, whose rows have ids, so that flag 2 can be set."""
    path = tmp_path_factory.mktemp("pylance") / "t"
    made(path, properties={"lance.data_storage_version": "2.0"}, features=["STABLE_ROW_IDS"])
    return path


@pytest.mark.parametrize("release", [version("pylance"), *OLDER])
def test_compat_predicts_what_each_release_does_with_every_flag(base: Path, tmp_path: Path, release: str) -> None:
    words = {f"{bit}-{which}": (bit if which != "writer" else 0, bit if which != "reader" else 0)
             for bit in BITS for which in ("reader", "writer", "both")}  # fmt: skip
    predicted: dict[tuple[str, str], Verdict] = {}
    jobs: list[tuple[str, str]] = []
    for name, (reader, writer) in words.items():
        for operation in ("read", "append", "delete"):
            copy = tmp_path / f"{name}-{operation}"
            flagged(Path(shutil.copytree(base, copy)), 2 | reader, 2 | writer)
            jobs.append((str(copy), operation))
            (report,) = esker.open(copy).compat([f"pylance=={release}"]).clients
            predicted[name, operation] = (report.read if operation == "read" else report.write).verdict
    wrong = []
    for (path, operation), seen in zip(jobs, _probed(release, jobs), strict=True):
        name = Path(path).name.removesuffix(f"-{operation}")
        verdict = predicted[name, operation]
        did = "error" not in seen
        # a hazard of deleting is not one of appending: who gets a table wrong still refuses what it checks
        expected = verdict in (Verdict.YES, Verdict.LIMITED) or (verdict is Verdict.HARMS and operation == "delete")
        if did != expected:
            wrong.append((name, operation, verdict.value, seen))
    assert not wrong, wrong


@pytest.mark.parametrize("release", [version("pylance"), *OLDER])
@pytest.mark.parametrize("file_version", ["2.0", "2.1"])
def test_what_esker_wrote_each_release_reads_and_changes_and_esker_reads_that(
    tmp_path: Path, release: str, file_version: str
) -> None:
    path = tmp_path / "t"
    port = made(path, properties={"lance.data_storage_version": file_version})._table
    port.delete("id < 3", editor()).update({"name": "'u'"}, "id = 5", editor())
    read, appended, deleted = _probed(release, [(str(path), "read"), (str(path), "append"), (str(path), "delete")])
    assert (read, appended, deleted) == ({"rows": 7}, {"rows": 8}, {"rows": 8})
    found = esker.open(path)
    assert {row["id"]: row["name"] for row in rows(found._table)} == {
        **{row["id"]: row["name"] for row in ROWS.to_pylist() if row["id"] >= 3}, 5: "u", 77: "w",
    }  # fmt: skip
    assert not [finding for finding in found.check(deep=True) if finding.severity.name == "ERROR"]
    assert found.append(pa.table({"id": [78]})).to_arrow().num_rows == 9

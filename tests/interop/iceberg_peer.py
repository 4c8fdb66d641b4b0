"""A running iceberg-spark, in an environment of its own; `iceberg_spark.py` says what it can be asked."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

PYTHON = Path(os.environ.get("ESKER_ICEBERG_SPARK", ROOT / ".venv-iceberg-spark" / "bin" / "python")).absolute()
ABSENT = f"iceberg-spark's own environment is not at {PYTHON}: `make test-peers` builds it, ESKER_ICEBERG_SPARK says where it is"


@contextmanager
def iceberg_spark(folder: Path) -> "Iterator[IcebergSpark]":
    if not PYTHON.exists():
        pytest.skip(ABSENT)
    running = IcebergSpark(folder)
    yield running
    running.stop()


class IcebergSpark:
    def __init__(self, folder: Path) -> None:
        self.warehouse = folder / "warehouse"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
        self._log = folder / "said.txt"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(PYTHON), str(Path(__file__).with_name("iceberg_spark.py")), str(self.warehouse)],
                env={**kept, "SPARK_LOCAL_IP": "127.0.0.1"}, cwd=folder,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def sql(self, *texts: str) -> list[dict[str, Any]]:
        """Run the texts; the rows of the last one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self._log.read_text()[-5000:]
        found = json.loads(line)
        assert "error" not in found, found["error"]
        rows: list[dict[str, Any]] = found["rows"]
        return rows

    def place(self, name: str) -> Path:
        return self.warehouse / "db" / name

    def rows(self, name: str) -> dict[int, int]:
        found = self.sql(f"SELECT id, v FROM local.db.{name}")
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: row["v"] for row in found}

    def stop(self) -> None:
        self._process.communicate()

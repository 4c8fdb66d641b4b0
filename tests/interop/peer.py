"""How do tests talk to a peer that has a Spark of its own?

`DeltaSpark` is a process of delta-spark's own environment, kept for all tests of a run: starting it costs more than most of what it is
asked.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PYTHON = Path(os.environ.get("ESKER_DELTA_SPARK", ROOT / ".venv-delta-spark" / "bin" / "python")).absolute()
ABSENT = f"delta-spark's own environment is not at {PYTHON}: `make test-peers` builds it, ESKER_DELTA_SPARK says where it is"


class DeltaSpark:
    """A running delta-spark; `delta_spark.py` says what it can be asked."""

    def __init__(self, folder: Path) -> None:
        # the settings of Esker's own session are not for the other Spark
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
        self._log = folder / "said.txt"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(PYTHON), str(Path(__file__).with_name("delta_spark.py"))], env={**kept, "SPARK_LOCAL_IP": "127.0.0.1"},
                cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def reports(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Have the jobs done, a few at a time; a report for each."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._log.read_text()[-5000:]
        found: list[dict[str, Any]] = json.loads(answer)
        return found

    def stop(self) -> None:
        """Let it end, as it does when no more can be asked."""
        self._process.communicate()


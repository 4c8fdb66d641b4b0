"""What becomes of a Lance table whose writer dies at any of the calls by which pylance changes files?"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.rivals.lance_crashes import OPERATIONS

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(900),
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C compiler, and a loader that preloads"),
]  # fmt: skip


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that kills."""
    made = tmp_path_factory.mktemp("dying") / "dying.so"
    source = Path(__file__).with_name("dying.c")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    return made


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_writer_that_dies_at_any_call_leaves_the_old_table_or_the_new(tmp_path: Path, dying: Path, operation: str) -> None:
    command = [sys.executable, "-m", "tests.rivals.lance_crashes", str(tmp_path), operation]
    environment = {**os.environ, "LD_PRELOAD": str(dying), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout
    print(done.stdout.strip())

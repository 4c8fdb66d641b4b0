"""How does a test run on Spark Connect?

In a process of its own, since a process has either a classic session or one on a server.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

# With SPARK_TESTING a server takes a free port, where it would else take the one that all servers take.
OWN = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
SESSION = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
folder = Path(sys.argv[1])
"""


def on_connect(code: str, folder: Path) -> str:
    """What the code prints. It has `spark`, a session on a server of its own, and `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", SESSION + code, str(folder)], cwd=ROOT, env=os.environ | OWN,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout

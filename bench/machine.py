"""Where and with what was measured?"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

from bench.failures import ROOT
from bench.questions import ICEBERG_RUNTIME

ENVIRONMENTS = {"delta-spark": "ESKER_DELTA_SPARK", "iceberg-spark": "ESKER_ICEBERG_SPARK"}
"""The variables that name the Pythons of peers whose Spark is not ours."""


def facts() -> Mapping[str, str]:
    """What a reader needs to judge the seconds; ratios carry further."""
    cores = psutil.cpu_count(logical=True) or 0
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {cores} cores",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Java": java() or "none",
        **{name: metadata.version(name) for name in ("pyspark", "pyarrow", "deltalake", "pyiceberg")},
        "delta-spark": _said_by("delta-spark", "print(v('delta-spark'), 'on pyspark', v('pyspark'))") or "none",
        "iceberg-spark": _said_by("iceberg-spark", f"print('{ICEBERG_RUNTIME}', 'on pyspark', v('pyspark'))") or "none",
    }


def busy() -> float | None:
    """What else the processors have to do, as runnable processes for each core; noise, where it is not near zero."""
    return os.getloadavg()[0] / (psutil.cpu_count() or 1) if hasattr(os, "getloadavg") else None


def python_of(peer: str) -> Path | None:
    """The Python of a peer whose Spark is not ours."""
    found = Path(os.environ.get(ENVIRONMENTS[peer], ROOT / f".venv-{peer}" / "bin" / "python"))
    return found if found.exists() else None


def java() -> str | None:
    """The version of the Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if found is None:
        return None
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "([^"]+)"', said)
    return version[1] if version else "unknown"


def _said_by(peer: str, script: str) -> str | None:
    python = python_of(peer)
    if python is None:
        return None
    lines = f"from importlib.metadata import version as v; {script}"
    return subprocess.run([python, "-c", lines], capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()

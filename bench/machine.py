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
        **{name: metadata.version(name) for name in ("pyspark", "pyarrow", "deltalake")},
    }


def busy() -> float | None:
    """What else the processors have to do, as runnable processes for each core; noise, where it is not near zero."""
    return os.getloadavg()[0] / (psutil.cpu_count() or 1) if hasattr(os, "getloadavg") else None


def java() -> str | None:
    """The version of the Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if found is None:
        return None
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "([^"]+)"', said)
    return version[1] if version else "unknown"


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()

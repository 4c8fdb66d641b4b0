"""Where and with what was measured?"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
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
        "Java": _java(),
        **{name: version(name) for name in ("pyspark", "pyarrow", "deltalake")},
    }


def busy() -> float | None:
    """What else the processors have to do, as runnable processes for each core; noise, where it is not near zero."""
    return os.getloadavg()[0] / (psutil.cpu_count() or 1) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        return "none"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "unknown"

"""Which Spark session is used?

The caller's, if there is one. Otherwise a quiet one on this machine, which needs Java and nothing else.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock, Thread
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from esker.errors import Unsupported

OLDEST_JAVA = 17
_starting = Lock()  # two threads that ask for the first session get one


def session(name: str = "esker", **config: str | int | bool) -> SparkSession:
    """The active session if there is one, untouched; else a local one, with `config` on top of Esker's settings."""
    if active := SparkSession.getActiveSession():
        return active
    with _starting:
        if SparkContext._active_spark_context is not None:  # another thread's, which no option may change
            return SparkSession.Builder().getOrCreate()
        if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
            _start(name, config)
        builder = SparkSession.Builder().appName(name)
        for key, value in config.items():
            builder = builder.config(key, _text(value))
        return builder.getOrCreate()


def is_connect(spark: SparkSession) -> bool:
    """Whether the session talks to a server, so that there is no JVM at hand."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def java_version() -> int | None:
    """The major version of the Java that Spark would start, None without one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not java or not os.access(java, os.X_OK):
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said.stderr + said.stdout)
    if not match:
        return None
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major  # Java 8 called itself 1.8


def _start(name: str, config: dict[str, str | int | bool]) -> None:
    """Start the driver's JVM, so that the first thing it says is an error or nothing."""
    found = java_version()
    if found is None or found < OLDEST_JAVA:
        have = "no Java was found" if found is None else f"the Java that was found is version {found}"
        raise Unsupported(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {have}: install one (for example OpenJDK {OLDEST_JAVA}) "
            "and set JAVA_HOME to it"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="esker-") as folder:
        for echo in _ECHOES:
            PySparkLogger.getLogger(echo).setLevel(logging.CRITICAL)
        log4j = Path(folder, "log4j2.properties")
        log4j.write_text(_QUIET)
        conf = SparkConf().setAll([(key, _text(value)) for key, value in (_settings(log4j) | config).items()])
        conf.setAppName(name)
        gateway = launch_gateway(conf, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
        Thread(target=_forward, args=(gateway.proc.stderr,), daemon=True).start()
        SparkContext(conf=conf, gateway=gateway)


def _settings(log4j: Path) -> dict[str, str | int | bool]:
    return {
        "spark.master": "local[*]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": f"{_driver_memory()}m",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": True,
        "spark.sql.execution.arrow.pyspark.enabled": True,
    }


def _driver_memory() -> int:
    """Half of the memory that there is for us in MiB: at least one GiB, at most sixteen."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(max(min(total, _allowed(total)) // 2 >> 20, 1024), 16384)


def _allowed(total: int) -> int:
    """What a container may take, all where nothing limits it."""
    try:
        limit = _CONTAINER_LIMIT.read_text()
    except OSError:
        return total
    return int(limit) if limit.strip().isdecimal() else total


_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def _forward(errors: IO[bytes]) -> None:
    """Pass on what the JVM says, but not that Spark asked for an incubator module: no setting silences that."""
    for line in errors:
        if not line.startswith(b"WARNING: Using incubator modules"):
            sys.stderr.write(line.decode(errors="replace"))


# They print what an exception says, in JSON, before it is raised.
_ECHOES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# The gateway's logger is set too, or else Spark announces the level it chose for it.
_QUIET = """\
status = off
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""

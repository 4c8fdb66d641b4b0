"""How does Java source of ours come into the driver's JVM?

Two sources come with this package, and Spark ships a compiler. Each is compiled once in a JVM, on its first use, and has a
`Door`: an object whose methods Python calls. What Spark asks back while it plans a query comes through the callback server.
"""

from importlib.resources import files as resources
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.java_gateway import JavaGateway
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

_SOURCES = ("PlannedFiles", "PlannedFragments")
"""A source may name the classes of those before it."""

_loaders: "WeakKeyDictionary[JavaGateway, dict[str, Any]]" = WeakKeyDictionary()
_compiling = Lock()


def door_of(spark: SparkSession, source: str) -> Any:
    """The door of a source, compiled with those before it where that is still to be done."""
    gateway: JavaGateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    with _compiling:
        loaders = _loaders.setdefault(gateway, {})
        loader = gateway.jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
        for name in _SOURCES[: _SOURCES.index(source) + 1]:
            if name not in loaders:
                loaders[name] = _compiled(gateway, name, loader)
            loader = loaders[name]
    door = loader.loadClass(f"esker.{source}$Door")
    return door.getConstructors()[0].newInstance(gateway.new_array(gateway.jvm.Object, 0))


def known_zone(name: str) -> ZoneInfo | None:
    """The session's time zone; None for the names that only Java knows, which rules out nothing by instants."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _compiled(gateway: JavaGateway, name: str, parent: Any) -> Any:
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(resources("esker.spark").joinpath(f"{name}.java").read_text("utf-8"))
    return compiler.getClassLoader()

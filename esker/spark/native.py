"""How does Spark scan the planned files as its own?

A Java source that comes with this package is compiled, once, in the driver's JVM and implements Spark's `FileIndex` over the
plan. Spark then plans and reads as for any Parquet table: no file is listed, filters reach the plan when a query is
planned, constants are partition columns.
"""

import json
import zlib
from importlib.resources import files as resources
from threading import Lock
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from py4j.java_gateway import JavaGateway, JavaObject
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from esker.core.binding import bind
from esker.core.catalyst import from_catalyst
from esker.core.predicate import Predicate, all_of, columns
from esker.core.scan import ScanPlan
from esker.core.types import Struct
from esker.errors import EskerError, Unsupported
from esker.spark.files import spark_path
from esker.spark.layout import Layout
from esker.spark.types import to_spark_schema

# What table formats store needs no rebasing; files that say otherwise in their footer are still believed.
PARQUET_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}


def relation(spark: SparkSession, plan: ScanPlan, layout: Layout) -> DataFrame:
    """The planned files as a frame that follows the layout."""
    gateway: JavaGateway = spark.sparkContext._gateway
    jvm: Any = spark.sparkContext._jvm
    ensure_callback_server_started(gateway)
    parse = jvm.org.apache.spark.sql.types.DataType.fromJson
    planned = _door(gateway).relation(
        spark._jsparkSession,
        spark_path(plan.location),
        _listing(plan, layout),
        len(plan),
        *(parse(_json(schema)) for schema in (layout.partitions, layout.data, layout.stored)),
        plan.resolution.value == "id",
        jvm.PythonUtils.toScalaMap(PARQUET_OPTIONS),
        _Planner(plan),
    )
    frame = DataFrame(spark._jsparkSession.baseRelationToDataFrame(planned), spark)
    if not layout.needs_row:
        return frame
    return frame.withColumn(layout.row, frame.metadataColumn("_metadata").getField("row_index"))


class _Planner:
    """Answers Spark's pushed filters with a bit for each file, or with a text that says what went wrong.

    An exception must not cross to the JVM: Spark could take it for one of its own.
    """

    def __init__(self, plan: ScanPlan):
        self._plan = plan

    def apply(self, filters: str) -> bytes | bytearray | str:
        try:
            wanted = all_of(*self._conditions(json.loads(filters)))
            return bytearray(np.packbits(self._plan.matching(wanted), bitorder="little").tobytes())
        except EskerError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            return f"the files of {self._plan.location} could not be planned: {type(error).__name__}: {error}"

    def _conditions(self, trees: list[list[dict[str, Any]]]) -> list[Predicate]:
        """What the filters say of visible columns. Those that name another, as Spark's own joins do, skip no file."""
        schema = self._plan.schema
        known = set(schema.names)
        each = (from_catalyst(tree) for tree in trees)
        return [bind(p, schema) for p in each if all(path[0] in known for path in columns(p))]

    class Java:
        implements: ClassVar[list[str]] = ["java.util.function.Function"]


_doors: "WeakKeyDictionary[JavaGateway, JavaObject]" = WeakKeyDictionary()
_compiling = Lock()


def _door(gateway: JavaGateway) -> Any:
    """The object of our Java source that makes relations, compiled on its first use in a JVM."""
    with _compiling:
        if gateway not in _doors:
            _doors[gateway] = _compiled(gateway)
        return _doors[gateway]


def _compiled(gateway: JavaGateway) -> JavaObject:
    jvm = gateway.jvm
    source = resources("esker.spark").joinpath("PlannedFiles.java").read_text("utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(source)
    door = compiler.getClassLoader().loadClass("esker.PlannedFiles$Door")
    return door.getConstructors()[0].newInstance(gateway.new_array(jvm.Object, 0))


def _listing(plan: ScanPlan, layout: Layout) -> bytearray:
    """Paths, sizes and constants as a deflated Arrow stream."""
    columns = {"path": pa.array([spark_path(url) for url in plan.paths.to_pylist()], pa.string()), "size": plan.sizes}
    table = pa.table(columns)
    for ours, constant in layout.constants.items():
        table = table.append_column(ours, plan.constants.column(constant))
    if layout.has_deletes:
        table = table.append_column(layout.file, pa.array(np.arange(len(plan), dtype=np.int32)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=100_000)
    return bytearray(zlib.compress(sink.getvalue(), 1))


def _json(schema: Struct) -> str:
    return to_spark_schema(schema).json()

"""Which rows and which schema does the caller mean?

Callers bring Spark frames, Arrow tables or pandas frames, and schemas of Spark, Arrow, Esker or as text. A Spark value is told by
the name of its class, so that nothing of Spark is loaded for those who do not use it.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from esker.arrow.brought import columns_of
from esker.arrow.write import ArrowRows
from esker.core.ddl import ColumnDefinition, parse_ddl
from esker.core.types import Struct
from esker.core.write import RowSource
from esker.errors import InvalidRequest
from esker.spark import spark_rows, spark_schema

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Rows: TypeAlias = "DataFrame | pa.Table | pa.RecordBatch | pandas.DataFrame"
Schema: TypeAlias = "str | Struct | pa.Schema | StructType"


def row_source(rows: Rows) -> RowSource:
    """The rows, ready to be written."""
    match rows:
        case pa.Table():
            return ArrowRows(rows)
        case pa.RecordBatch():
            return ArrowRows(pa.Table.from_batches([rows]))
    match _package(rows):
        case "pyspark" if is_rows(rows) and hasattr(rows, "sparkSession"):
            return spark_rows(rows)
        case "pandas" if is_rows(rows):
            return ArrowRows(_from_pandas(rows))
    raise InvalidRequest(f"rows are a Spark or pandas frame or an Arrow table, not a {type(rows).__name__}")


def is_rows(value: object) -> bool:
    """Whether the value has rows, and not just a schema."""
    return isinstance(value, pa.Table | pa.RecordBatch) or type(value).__name__ == "DataFrame"


def column_definitions(schema: Schema) -> tuple[ColumnDefinition, ...]:
    """The columns that a schema declares."""
    match schema:
        case str():
            return parse_ddl(schema)
        case Struct():
            return tuple(ColumnDefinition(field) for field in schema)
        case pa.Schema():
            return tuple(ColumnDefinition(field) for field in columns_of(schema))
    if _package(schema) == "pyspark":
        return column_definitions(spark_schema(schema))
    raise InvalidRequest(f"a schema is a text, a StructType or an Arrow schema, not a {type(schema).__name__}")


def _from_pandas(frame: "pandas.DataFrame") -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InvalidRequest(f"the pandas frame has no form in Arrow: {error}") from error


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]

"""How does an Arrow table become a frame, and a frame an Arrow table?"""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from esker.core.arrow_types import from_arrow
from esker.core.types import Field, Struct
from esker.spark.expressions import asked
from esker.spark.failures import job
from esker.spark.types import to_spark_schema


def frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows as a frame. The types are ours to choose: Spark would take a time without a zone for one in the session's."""
    schema = Struct(tuple(Field(f.name, from_arrow(f.type), f.nullable) for f in rows.schema))
    return spark.createDataFrame(rows, to_spark_schema(schema))


def filtered(rows: DataFrame, where: str) -> DataFrame:
    """The rows for which the condition is true."""
    with asked(f"this is no condition on a row: {where}"):
        return rows.where(where)


def collected(rows: DataFrame) -> pa.Table:
    """All of the rows, in this process."""
    with job("read the rows"):
        return rows.toArrow()

"""What does delta-spark make of a table?  Run by a Python that has it."""

import sys
from pathlib import Path

from answering import answer
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

CONFIG = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.jars.ivy": str(Path(sys.prefix, "ivy")),  # what is fetched stays in this environment
}


def read(place):
    frame = spark.read.format("delta").load(place)
    variants = [field.name for field in frame.schema if field.dataType.simpleString() == "variant"]
    return [row.asDict() for row in frame.withColumns({name: F.to_json(name) for name in variants}).collect()]


def append(place, rows):
    spark.read.parquet(rows).write.format("delta").mode("append").save(place)


builder = SparkSession.builder.master("local[2]").appName("client")
for key, value in CONFIG.items():
    builder = builder.config(key, value)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
answer({"read": read}, {"append": append})
spark.stop()

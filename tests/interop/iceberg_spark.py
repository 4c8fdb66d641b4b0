"""What does iceberg-spark write, and what does it see in a table?

    python iceberg_spark.py WAREHOUSE

Run by a Python that has the Spark which the runtime fits, and which is not the one of the tests: nothing here imports Esker. It takes
requests, a line of JSON each, and answers each with a line. A request is a list of SQL texts, in which tables are named
`local.db.NAME` and lie in the folder `db/NAME` of the warehouse; the answer has the rows of the last text, or the error.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1"

CONFIG = {
    "spark.jars.packages": RUNTIME,
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.local.type": "hadoop",
    "spark.sql.catalog.local.cache-enabled": "false",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xmn640m",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
}


def main(warehouse: str) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the JVM has to say is no answer
    builder = SparkSession.builder.master("local[2]").appName("peer").config("spark.sql.catalog.local.warehouse", warehouse)
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    # what is fetched stays in this environment, and goes with it
    spark = builder.config("spark.jars.ivy", str(Path(sys.prefix, "ivy"))).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), spark), default=plain), file=answers, flush=True)
    spark.stop()


def plain(value: object) -> str:
    """What JSON cannot say: binary in hexadecimal digits, the rest as Python spells it."""
    return bytes(value).hex() if isinstance(value, bytes | bytearray) else str(value)


def answer(texts: list[str], spark: SparkSession) -> dict[str, object]:
    """The rows of the last text."""
    rows: list[dict[str, object]] = []
    try:
        for text in texts:
            rows = [row.asDict(recursive=True) for row in spark.sql(text).collect()]
    except Exception as error:  # whatever it is, the test is to see it
        return {"error": str(error)[:3000]}
    return {"rows": rows}


if __name__ == "__main__":
    main(sys.argv[1])

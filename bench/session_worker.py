"""What does one side do in a Spark session of its own?  `python -m bench.session_worker MODULE CONFIG`

Told so on its input, line by line, it makes a call of the module and answers with a line; asked to read, it tells what rows the
table has. The Python may be one without Esker. Whoever tells it measures.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from bench.questions import aggregated


def main(module: str, config: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    side = import_module(f"bench.{module}")
    builder = side.configured(SparkSession.builder)
    for key, value in json.loads(config).items():
        builder = builder.config(key, value)
    spark = side.started(builder)
    spark.sparkContext.setLogLevel("OFF")
    _say({"ready": True})
    for line in sys.stdin:
        _say(_done(side, spark, json.loads(line)))
    spark.stop()


def _done(side: Any, spark: SparkSession, asked: dict[str, Any]) -> dict[str, Any]:
    match asked["do"]:
        case "collect":
            spark._jvm.System.gc()  # type: ignore[union-attr]  # one call's garbage is not the next one's burden
            return {}
        case "read":
            return {"answer": aggregated(side.rows(spark, asked["table"]))}
    getattr(side, asked["do"])(spark, asked["table"], asked["source"], **asked["options"])
    return {}


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

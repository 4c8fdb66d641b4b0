"""What do calls cost in one Spark session?  `python -m bench.spark_worker FOLDER ROUNDS CALL [CALL]`

With rounds, the calls share a session: each is warmed up, then they take turns, and who begins changes from round to round.
Time is measured so, because two JVMs differ by more than the calls do. Without rounds each call is made once, and what is
measured is the peak of the memory.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

import esker
from bench.measure import Cost, timed, tree_cpu, tree_peak

WARM_UPS = 2


def main(folder: str, rounds: str, *calls: str) -> None:
    spark = esker.session("bench")
    functions = {call: partial(_function(call), spark, folder) for call in calls}
    for found in _times(spark, functions, int(rounds)) if int(rounds) else _peaks(functions):
        print(json.dumps(found), flush=True)
    spark.stop()


def _function(call: str) -> Callable[..., Any]:
    module, name = call.split(".")
    function: Callable[..., Any] = getattr(import_module(f"bench.{module}"), name)
    return function


def _times(spark: SparkSession, functions: Mapping[str, Callable[[], Any]], rounds: int) -> Iterator[dict[str, Any]]:
    for _ in range(WARM_UPS):
        for function in functions.values():
            function()
    for number in range(rounds):
        for call in list(functions)[:: -1 if number % 2 else 1]:
            spark._jvm.System.gc()  # type: ignore[union-attr]  # one call's garbage is not the next one's burden
            cpu, wall, answer = timed(tree_cpu, functions[call])
            yield {"call": call, "answer": answer, "cost": asdict(Cost(cpu, wall, None))}


def _peaks(functions: Mapping[str, Callable[[], Any]]) -> Iterator[dict[str, Any]]:
    for call, function in functions.items():
        answer = function()
        yield {"call": call, "answer": answer, "cost": asdict(Cost(None, None, tree_peak()))}


if __name__ == "__main__":
    main(*sys.argv[1:])

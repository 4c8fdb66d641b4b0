"""What does one call cost in a fresh process?  `python -m bench.worker CALL FOLDER`

Imports come before the clock starts; nothing has been called before, so what a first call sets up is counted.
"""

import json
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module

from bench.measure import Cost, own_cpu, own_peak, timed


def main(call: str, folder: str) -> None:
    module, name = call.split(".")
    function = getattr(import_module(f"bench.{module}"), name)
    cpu, wall, answer = timed(own_cpu, partial(function, folder))
    print(json.dumps({"answer": answer, "cost": asdict(Cost(cpu, wall, own_peak()))}))


if __name__ == "__main__":
    main(*sys.argv[1:])

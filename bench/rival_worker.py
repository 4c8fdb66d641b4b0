"""What does one of several writers do?  `python -m bench.rival_worker CALL FOLDER SECONDS`

It gets ready, says so, and waits for a line; then it appends until the time is up, says how often it did, and waits again, so
that its account can still be read.
"""

import sys
from importlib import import_module
from time import perf_counter

from bench.data import small_rows


def main(call: str, folder: str, seconds: str) -> None:
    module, name = call.split(".")
    append = getattr(import_module(f"bench.{module}"), name)(folder)
    rows = small_rows(0)
    print("ready", flush=True)
    sys.stdin.readline()
    end, commits = perf_counter() + float(seconds), 0
    while perf_counter() < end:
        append(rows)
        commits += 1
    print(commits, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])

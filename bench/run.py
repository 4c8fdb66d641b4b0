"""How are the sides of a comparison run against each other?

Without Spark: each call in a fresh process, the sides taking turns; a first round, which fills the page cache, does not count.
With Spark: see `spark_worker`, and for what changes tables `sessions`. Many writers at once: see `rivals`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_never

from bench import machine
from bench.cases import Case
from bench.failures import ROOT, Absent, Failed
from bench.measure import Cost
from bench.results import Result
from bench.rivals import raced
from bench.scale import Scale
from bench.sessions import competed

MEMORY_ROUNDS = 3
"""On Spark, where each takes a new JVM."""

Round = tuple[str, dict[str, Any], bool]
"""The call, what its worker said, and whether it counts."""


def run(case: Case, folder: Path, scale: Scale, repeats: int, say: Callable[[str], None]) -> Result:
    """All rounds of a case."""
    if case.on_spark and machine.java() is None:
        raise Absent("Spark needs Java 17 or newer, on the path or at JAVA_HOME")
    load = machine.busy()
    costs: list[list[Cost]] = [[] for _ in case.contenders]
    for number, (contender, cost) in enumerate(_costs(case, folder, scale, repeats)):
        say(f"{case.name}: {number + 1} measured")
        costs[contender].append(cost)
    return Result(case, tuple(map(tuple, costs)), load)


def _costs(case: Case, folder: Path, scale: Scale, repeats: int) -> Iterator[tuple[int, Cost]]:
    match case.how:
        case "process":
            return _agreed(case, _process_rounds(case, folder, repeats))
        case "session":
            return _agreed(case, _session_rounds(case, folder, repeats))
        case "sessions":
            return competed(case, folder, scale, min(repeats, 1) if case.turns > 1 else repeats)
        case "rivals":
            return raced(case, folder, scale, repeats)
    assert_never(case.how)


def _agreed(case: Case, rounds: Iterator[Round]) -> Iterator[tuple[int, Cost]]:
    """The costs of the rounds that count, where both sides gave the same answers."""
    calls = [c.call for c in case.contenders]
    answers: dict[str, list[Any]] = {call: [] for call in calls}
    for call, found, counts in rounds:
        answers[call].append(found["answer"])
        if counts:
            yield calls.index(call), Cost(**found["cost"])
    ours, *others = answers.values()
    for theirs in others:
        _check_answers(case, ours, theirs)


def _process_rounds(case: Case, folder: Path, repeats: int) -> Iterator[Round]:
    for number in range(repeats + 1):
        for contender in case.contenders:
            yield contender.call, _worker("bench.worker", contender.call, str(folder))[0], number > 0


def _session_rounds(case: Case, folder: Path, repeats: int) -> Iterator[Round]:
    calls = [c.call for c in case.contenders]
    for _ in range(min(repeats, MEMORY_ROUNDS)):
        for call in calls:
            yield call, _worker("bench.spark_worker", str(folder), "0", call)[0], True
    for found in _worker("bench.spark_worker", str(folder), str(repeats), *calls):
        yield found["call"], found, True


def _worker(module: str, *arguments: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{module} {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _check_answers(case: Case, ours: list[Any], theirs: list[Any]) -> None:
    """Both sides did the same work, every time."""
    if any(answer != ours[0] for answer in ours) or any(answer != theirs[0] for answer in theirs):
        raise Failed(f"{case.name}: a side answered differently from one time to the next")
    agrees = ours[0] == theirs[0] if case.live == 1 else ours[0][0] == round(theirs[0][0] * case.live)
    if not agrees:
        raise Failed(f"{case.name}: {case.ours.name} answered {ours[0]}, the peer {theirs[0]}")

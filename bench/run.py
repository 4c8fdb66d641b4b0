"""How are the sides of a comparison run against each other?

Without Spark: each call in a fresh process, the sides taking turns; a first round, which fills the page cache, does not count.
With Spark: see `spark_worker`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import machine
from bench.cases import Case
from bench.measure import Cost
from bench.results import Result
from bench.tables import Absent

ROOT = Path(__file__).resolve().parent.parent
MEMORY_ROUNDS = 3
"""On Spark, where each takes a new JVM."""

Round = tuple[str, dict[str, Any], bool]
"""The call, what its worker said, and whether it counts."""


class Failed(Exception):
    """A side did not answer, or the sides answered differently."""


def run(case: Case, folder: Path, repeats: int, say: Callable[[str], None]) -> Result:
    """All rounds of a case."""
    if case.on_spark and machine.java() is None:
        raise Absent("Spark needs Java 17 or newer, on the path or at JAVA_HOME")
    costs: dict[str, list[Cost]] = {c.call: [] for c in case.contenders}
    answers: dict[str, list[Any]] = {c.call: [] for c in case.contenders}
    rounds = _spark_rounds if case.on_spark else _process_rounds
    for number, (call, found, counts) in enumerate(rounds(case, folder, repeats)):
        say(f"{case.name}: {number + 1} measured")
        answers[call].append(found["answer"])
        if counts:
            costs[call].append(Cost(**found["cost"]))
    _check_answers(case, answers[case.ours.call], answers[case.peer.call])
    return Result(case, tuple(costs[case.ours.call]), tuple(costs[case.peer.call]))


def _process_rounds(case: Case, folder: Path, repeats: int) -> Iterator[Round]:
    for number in range(repeats + 1):
        for contender in case.contenders:
            yield contender.call, _worker("bench.worker", contender.call, str(folder))[0], number > 0


def _spark_rounds(case: Case, folder: Path, repeats: int) -> Iterator[Round]:
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
        raise Failed(f"{case.name}: {case.ours.name} answered {ours[0]}, {case.peer.name} {theirs[0]}")

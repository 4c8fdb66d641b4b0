"""How do sides compete that need a Spark session each?

All sessions run at once and take turns, so that only one of them works at any time. Each call gets a copy of the table, which
is made before the clock starts. After a first round, which does not count, the rows that every side left behind are compared.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.cases import Case, Contender
from bench.failures import ROOT, Absent, Failed
from bench.machine import ENVIRONMENTS, python_of
from bench.measure import Cost, timed, tree_cpu, tree_peak
from bench.scale import Scale

CONFIG = {
    "spark.master": "local[*]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True)
class Side:
    """A contender in its session."""

    contender: Contender
    process: subprocess.Popen[str]
    inputs: Path
    table: Path
    copied: Callable[[Path, Path], Path]
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        self._answer()

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def renew(self) -> None:
        """Have a fresh copy of the table, and memory without garbage."""
        self.copied(self.inputs / self.contender.table, self.table)
        self.ask("collect")

    def call(self) -> Cost:
        """Make the call and measure it."""
        cpu, wall, _ = timed(partial(tree_cpu, self.process.pid), partial(self.ask, self.contender.call.split(".")[1]))
        return Cost(cpu, wall, None)

    def peak(self) -> Cost:
        """The most memory that the session has had so far."""
        return Cost(None, None, tree_peak(self.process.pid))

    def ask(self, do: str) -> Any:
        assert self.process.stdin is not None
        asked = {"do": do, "table": str(self.table), "source": str(self.inputs / self.contender.source), "options": self.options}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return self._answer().get("answer")

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise Failed(f"{self.contender.call} ended with {self.process.wait()}: see its messages above")


def competed(case: Case, inputs: Path, scale: Scale, rounds: int) -> Iterator[tuple[int, Cost]]:
    """The costs of each round, with the number of the contender."""
    options = {"times": scale.appends} if case.turns > 1 else {}
    with tempfile.TemporaryDirectory(prefix="esker-bench-", dir=inputs.parent) as folder, ExitStack() as stack:
        started = (_side(c, case, inputs, Path(folder, str(i)), options) for i, c in enumerate(case.contenders))
        sides = [stack.enter_context(side) for side in started]
        for number in range(rounds + 1):
            order = list(enumerate(sides))[:: -1 if number % 2 else 1]
            for _, side in order:
                side.renew()
            costs = _turns(order, case.turns if number else 1)
            if number:
                yield from costs
            else:
                _compare(case, sides)
        yield from ((i, side.peak()) for i, side in enumerate(sides))


def _turns(order: Sequence[tuple[int, Side]], turns: int) -> list[tuple[int, Cost]]:
    """What each side spends in all its turns."""
    spent: dict[int, list[Cost]] = {i: [] for i, _ in order}
    for _ in range(turns):
        for i, side in order:
            spent[i].append(side.call())
    return [(i, Cost(sum(c.cpu or 0 for c in costs), sum(c.wall or 0 for c in costs), None)) for i, costs in spent.items()]


def _side(contender: Contender, case: Case, inputs: Path, table: Path, options: Mapping[str, Any]) -> Side:
    module = contender.call.split(".")[0]
    config = CONFIG | {"spark.driver.memory": case.heap}
    command = [_python(contender), "-m", "bench.session_worker", module, json.dumps(config)]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **streams)
    return Side(contender, process, inputs, table, case.copied, options)


def _python(contender: Contender) -> str:
    if contender.name not in ENVIRONMENTS:
        return sys.executable
    found = python_of(contender.name)
    if found is None:
        variable = ENVIRONMENTS[contender.name]
        raise Absent(f"{contender.name} needs a Python of its own: `make bench` builds it, or set {variable} to one that has it")
    return str(found)


def _compare(case: Case, sides: Sequence[Side]) -> None:
    """All sides that began with the same table left the same rows."""
    ours, *others = sides
    found = ours.ask("read")
    for side in others:
        if side.contender.table == ours.contender.table and (answer := side.ask("read")) != found:
            raise Failed(f"{case.name}: {ours.contender.name} left {found}, {side.contender.name} {answer}")

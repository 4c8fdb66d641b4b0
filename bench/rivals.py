"""How many commits do rival processes make on one table?

The processes start together, on a sign, and append small rows until the time is up. Each says how many of its appends were
acknowledged; all of them, and nothing else, must then be in the table, in versions without a gap.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from deltalake import DeltaTable

from bench.cases import Case, Contender
from bench.data import SMALL_ROWS
from bench.failures import ROOT, Failed
from bench.measure import Cost, timed, tree_cpu
from bench.scale import Scale
from bench.targets import copied


def raced(case: Case, inputs: Path, scale: Scale, rounds: int) -> Iterator[tuple[int, Cost]]:
    """The costs of one commit, round by round, with the number of the contender."""
    with tempfile.TemporaryDirectory(prefix="esker-bench-", dir=inputs.parent) as folder:
        for number in range(rounds):
            for i, contender in list(enumerate(case.contenders))[:: -1 if number % 2 else 1]:
                table = copied(inputs / contender.table, Path(folder, f"{number}-{i}"))
                yield i, _race(contender, table, case.processes, scale.rival_seconds)


def _race(contender: Contender, table: Path, processes: int, seconds: float) -> Cost:
    command = [sys.executable, "-m", "bench.rival_worker", contender.call, str(table), str(seconds)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    rivals = [subprocess.Popen(command, cwd=ROOT, text=True, **streams) for _ in range(processes)]
    for rival in rivals:
        _line(contender, rival)
    cpu, wall, commits = timed(lambda: sum(tree_cpu(r.pid) for r in rivals if r.poll() is None), partial(_go, contender, rivals))
    for rival in rivals:
        rival.communicate("\n")
    _check(contender, table, commits)
    return Cost(cpu / commits, wall / commits, None)


def _go(contender: Contender, rivals: list[subprocess.Popen[str]]) -> int:
    """Have all of them commit; how often they did."""
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("\n")
        rival.stdin.flush()
    return sum(int(_line(contender, rival)) for rival in rivals)


def _line(contender: Contender, rival: subprocess.Popen[str]) -> str:
    assert rival.stdout is not None
    if line := rival.stdout.readline():
        return line
    raise Failed(f"{contender.call} ended with {rival.wait()}: see its messages above")


def _check(contender: Contender, table: Path, commits: int) -> None:
    """Every acknowledged commit is a version, and nothing else is."""
    if not commits:
        raise Failed(f"{contender.name} made no commit")
    opened = DeltaTable(table)
    rows = sum(opened.get_add_actions().column("num_records").to_pylist())
    if (opened.version(), rows) != (commits, commits * SMALL_ROWS):
        raise Failed(f"{contender.name} acknowledged {commits} commits; the table has {opened.version()} and {rows} rows")

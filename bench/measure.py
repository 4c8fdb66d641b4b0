"""What did a call cost?

CPU time is user and system time of a process, all its threads counted, or of a process and everything it started: Spark's
JVM and its Python workers. Peak memory is the resident high-water mark, from the start of the process, summed over the tree.
"""

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of CPU, seconds on the wall, bytes at the peak; None is what was not measured."""

    cpu: float | None
    wall: float | None
    memory: int | None


def timed(clock: Callable[[], float], call: Callable[[], T]) -> tuple[float, float, T]:
    """Run the call; CPU by this clock, wall time, and what it gave."""
    cpu, wall = clock(), time.perf_counter()
    given = call()
    return clock() - cpu, time.perf_counter() - wall, given


def own_cpu() -> float:
    """Of this process, whose children do not count."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def tree_cpu(pid: int | None = None) -> float:
    """Of a process, by default this one, and all below it; a child that has ended is in its parent's account."""
    total = 0.0
    for process in _tree(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def tree_peak(pid: int | None = None) -> int:
    """The high-water marks of a process, by default this one, and of all below it that still run, added up."""
    return sum(_peak(process.pid) for process in _tree(pid))


def own_peak() -> int:
    return _peak(os.getpid())


def _tree(pid: int | None) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _peak(pid: int) -> int:
    # Not ru_maxrss: Linux lets a new program start from the mark of the process that started it.
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return int(psutil.Process(pid).memory_info().rss) if psutil.pid_exists(pid) else 0
    marks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return marks[0] if marks else 0

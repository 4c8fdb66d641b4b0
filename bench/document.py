"""How are results written down?

All samples are kept beside the page, so that a part can be measured again and the page printed with the rest as it was.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import plot
from bench.cases import Case
from bench.failures import ROOT
from bench.results import Result, Verdict, shown

DOCS = ROOT / "docs"
PAGE = "benchmarks.md"
SAMPLES = "benchmarks.json"


def update(
    results: Sequence[Result], machine: Mapping[str, str], chapters: Mapping[str, Sequence[Case]], docs: Path = DOCS
) -> None:
    """Put the results in the place of earlier ones of the same cases, and print the page and its plots."""
    path = docs / SAMPLES
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    where = {"date": machine["date"], "processor": machine["processor"]}
    earlier = {"processor": kept.get("machine", machine)["processor"]}
    cases = {name: earlier | case for name, case in kept.get("cases", {}).items()}
    cases |= {result.case.name: {**result.to_json(), **where} for result in results}
    path.write_text(json.dumps({"machine": dict(machine), "cases": cases}, indent=1) + "\n")
    told = {name: list(_stored(cases, own)) for name, own in chapters.items()}
    shown = {**machine, "processor": _processors(cases)}
    (docs / PAGE).write_text(markdown(told, shown, {name: case["date"] for name, case in cases.items()}))
    for name, found in told.items():
        if found:
            plot.draw(found, docs / plot_of(name))


def plot_of(chapter: str) -> str:
    return f"benchmarks-{chapter}.svg"


def markdown(chapters: Mapping[str, Sequence[Result]], machine: Mapping[str, str], dates: Mapping[str, str]) -> str:
    """The page."""
    parts = [
        "# Benchmarks\n",
        "Printed by `python -m bench --write`; `make bench` shows the same tables on a terminal. Each line is a ratio of one "
        "run, in which Esker and its peers took turns on the same machine and the same tables. A ratio below 1 says that Esker "
        "needs less. All samples are in [benchmarks.json](benchmarks.json).\n",
        *_missed([result for results in chapters.values() for result in results]),
        *(line for name, results in chapters.items() for line in _chapter(name, results, dates)),
        "\n## The machine\n",
        "| | |\n|---|---|",
        *(f"| {name} | {value} |" for name, value in machine.items()),
        f"\n{_HOW}",
    ]
    return "\n".join(parts)


def _processors(cases: Mapping[str, Any]) -> str:
    """What most cases were measured on, and which cases on what else."""
    names: dict[str, list[str]] = {}
    for name, case in cases.items():
        names.setdefault(case["processor"], []).append(f"`{name}`")
    most, *others = sorted(names, key=lambda processor: -len(names[processor]))
    return "; ".join([most, *(f"{other} for {', '.join(names[other])}" for other in others)])


def _stored(kept: Mapping[str, Any], cases: Sequence[Case]) -> Iterator[Result]:
    """The cases that were measured with the contenders they have now."""
    for case in cases:
        if case.name in kept and set(kept[case.name]["samples"]) == {c.name for c in case.contenders}:
            yield Result.from_json(case, kept[case.name])


def _missed(results: Sequence[Result]) -> Iterator[str]:
    """How many bars are met, and by how much the others are not."""
    judged = [(result, verdict, verdict.bar) for result in results for verdict in result.verdicts if verdict.bar]
    missed = [(result.case.name, v, bar) for result, v, bar in judged if not v.is_met]
    yield f"{len(judged) - len(missed)} of {len(judged)} bars are met{'; missed are:' if missed else '.'}\n"
    for name, verdict, bar in missed:
        reached = f"{verdict.ratio:.2f} where {bar.at_most:.2f} was to be reached, {verdict.ratio / bar.at_most - 1:.0%} too much"
        yield f"- `{name}` against {verdict.peer}, {verdict.measure}: {reached}"
    if missed:
        yield ""


def _chapter(name: str, results: Sequence[Result], dates: Mapping[str, str]) -> Iterator[str]:
    if not results:
        return
    yield f"## {name.capitalize()}\n"
    yield f"![Esker's costs as a share of the peers']({plot_of(name)})\n"
    yield from _table(results)
    yield "\n| case | date | load | Esker | peers |\n|---|---|---:|---|---|"
    for r in results:
        peers = "; ".join(f"{peer.name}: {peer.does}" for peer in r.case.peers)
        load = "" if r.load is None else f"{r.load:.1f}"
        yield f"| `{r.case.name}` | {dates[r.case.name]} | {load} | {r.case.ours.does} | {peers} |"
    yield ""
    for note in dict.fromkeys(r.case.note for r in results if r.case.note):
        names = ", ".join(f"`{r.case.name}`" for r in results if r.case.note == note)
        yield f"{names}: {note}\n"


def _table(results: Sequence[Result]) -> Iterator[str]:
    yield "| case | | peer | measure | Esker | peer | ratio | bar | |\n|---|---|---|---|---:|---:|---:|---:|---|"
    for result in results:
        for i, verdict in enumerate(result.verdicts):
            head = f"| `{result.case.name}` | {result.case.title} " if i == 0 else "| | "
            yield f"{head}| {' | '.join(_cells(verdict))} |"


def _cells(verdict: Verdict) -> tuple[str, ...]:
    bar = f"≤ {verdict.bar.at_most:.2f}" if verdict.bar else ""
    word = {True: "met", False: "**missed**", None: ""}[verdict.is_met]
    costs = (shown(verdict.measure, verdict.ours), shown(verdict.measure, verdict.theirs))
    return (verdict.peer, verdict.measure, *costs, f"{verdict.ratio:.2f}", bar, word)


_HOW = """\
## How it is measured

Medians over the rounds of a case. CPU is user and system time, all threads counted. The load is what else the machine had to do
when a case began, as runnable processes for each core: near zero on a quiet one. What is measured comes first where the system
allows it, so the CPU time says much the same on a busy machine; the time on the wall says little there.

**Reading without Spark**: every call is made in a fresh process, once. The clock starts after the imports that the call's module
makes. Whatever else a first call sets up is counted. The sides take turns, and a first round that fills the page cache is
thrown away. Memory is the high-water mark of the resident set since the process began, so the interpreter and the imports are
in it.

**Reading with Spark**: both sides share one session of `esker.session()` with its defaults. Each is warmed up twice, then they
take turns, the order changing from round to round, with a garbage collection between calls that is not measured. A call is
everything from the path to the answer: opening the table or listing the folder, planning, reading. CPU is that of the process
and of all that it started, so the JVM with its compiler and collector is in it. Memory comes from sessions of their own, in
which a call is made once: the high-water marks of Python and of the JVM, added up. A JVM takes what it is allowed before it
cleans up, so this says less than the other measures.

**Writing**: each side has a session of its own, all with the same settings (`local[*]`, a heap of 4 GiB unless a case says
otherwise, else Spark's defaults); delta-spark has its own Python and its own Spark, the newest it supports, with its defaults.
So has iceberg-spark, against which reading is measured in this way too.
The sides take turns: only one works at any time. Each call gets a fresh copy of the table, made before the clock starts. A first
round does not count. CPU is that of the whole tree of processes: Python, JVM, Python workers. Memory is the sum of the
high-water marks of these processes over all rounds. The 200 small appends are ten turns of twenty to each side, on one table for
each, and are measured once.

**Commits**: so many processes start on a sign, append 100 rows from Arrow again and again for ten seconds, and count what was
acknowledged. The time and the CPU are those of one commit: ten seconds by the number of commits.

Both sides must give the same answer, or the case fails: the number of files or columns, the rows found, or for scans and
writes the number of rows and a hash over every value of every column of the table afterwards. Under deletion vectors a scan's
number of rows alone is compared, with what must be left; the peer reads the same files with nothing deleted. Where processes
raced, every acknowledged commit must be in the table, once.

## The tables

The 300,000 files are a log of the corpus: five JSON commits, 100 columns, one partition column, no statistics. The checkpoints
of the same state are written by the benchmark: one Parquet file, or a v2 checkpoint with its adds in four sidecars. The table
for filters has 10,000 files of 100 rows with statistics; the filter is an equality that holds for one row. The 20 million rows
are in 40 files, nine columns of eight types, compressed by Snappy. Deletion vectors take 1 % of the rows of each file, at
random. The partitioned table has the same rows with one column in its folder names, two files to a folder.

The tables that are written to have 10 million such rows in 20 files. Every hundredth row is deleted or updated, so that each
file has some. Half of the 100,000 rows that are merged have ids that are in the table, at random, half have new ones. The small
files that are compacted have 1,000 rows.

The Iceberg tables have such rows too, 10 million in 20 files, and are written by hand. Deletes take 1 % of the rows of each file,
at random: a position delete file for each data file, one Puffin file with a deletion vector for each, or one file with the ids.
The tables that are planned have manifests of 10,000 files each, partitioned by one column, with counts and bounds of nine
columns. The filter is an equality that holds in one file and that no partition tells of, so that every manifest has to be read.
"""

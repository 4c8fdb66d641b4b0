"""How are results written down?"""

from collections.abc import Mapping, Sequence

from bench.results import Result, Verdict, shown

PLOT = "benchmarks.svg"


def markdown(results: Sequence[Result], machine: Mapping[str, str], repeats: int, absent: Mapping[str, str]) -> str:
    """The page `docs/benchmarks.md`."""
    parts = [
        "# Benchmarks\n",
        "Printed by `python -m bench --write`; `make bench` shows the same table on a terminal. Each line is a ratio of one run, "
        "in which Esker and the peer took turns on the same machine and the same table.\n",
        f"![Esker's costs as a share of the peer's]({PLOT})\n",
        "## Results\n",
        f"Medians of {repeats} rounds. A ratio below 1 says that Esker needs less.\n",
        *_table(results),
        *(f"\n`{name}` was not run: {why}." for name, why in absent.items()),
        "\n## The machine\n",
        "| | |\n|---|---|",
        *(f"| {name} | {value} |" for name, value in machine.items()),
        "\n## What is compared\n",
        "| case | Esker | peer |\n|---|---|---|",
        *(f"| `{r.case.name}` | {r.case.ours.does} | {r.case.peer.name}: {r.case.peer.does} |" for r in results),
        f"\n{_HOW}",
    ]
    return "\n".join(parts)


def _table(results: Sequence[Result]) -> list[str]:
    lines = ["| case | | measure | Esker | peer | ratio | bar | |", "|---|---|---|---:|---:|---:|---:|---|"]
    for result in results:
        for i, verdict in enumerate(result.verdicts):
            head = f"| `{result.case.name}` | {result.case.title} " if i == 0 else "| | "
            lines.append(f"{head}| {' | '.join(_cells(verdict))} |")
    return lines


def _cells(verdict: Verdict) -> tuple[str, ...]:
    bar = f"≤ {verdict.bar.at_most:.2f}" if verdict.bar else ""
    word = {True: "met", False: "**missed**", None: ""}[verdict.is_met]
    costs = (shown(verdict.measure, verdict.ours), shown(verdict.measure, verdict.peer))
    return (verdict.measure, *costs, f"{verdict.ratio:.2f}", bar, word)


_HOW = """\
## How it is measured

**Without Spark** every call is made in a fresh process, once. The clock starts after the imports, and pandas is among
them where pyarrow is used: pyarrow loads it at its first value, if it is installed. Whatever else a first call sets up is
counted. The sides take turns, and a first round that fills the page cache is thrown away. CPU is the user and system time of the
process with all its threads. Memory is the high-water mark of the resident set since the process began, so the interpreter and
the imports are in it.

**With Spark** both sides share one session of `esker.session()` with its defaults. Each is warmed up twice, then they take
turns, the order changing from round to round, with a garbage collection between calls that is not measured. A call is
everything from the path to the answer: opening the table or listing the folder, planning, reading. CPU is that of the process
and of all that it started, so the JVM with its compiler and collector is in it. Memory comes from sessions of their own, in
which a call is made once: the high-water marks of Python and of the JVM, added up. A JVM takes what it is allowed before it
cleans up, so this says less than the other measures.

Both sides must give the same answer, or the case fails: the number of files or columns, the rows found, or for a scan the
number of rows and a hash over every value of every column. Under deletion vectors the number of rows alone is compared, with
what must be left; the peer reads the same files with nothing deleted.

## The tables

The 300,000 files are a log of the corpus: five JSON commits, 100 columns, one partition column, no statistics. The checkpoints
of the same state are written by the benchmark: one Parquet file, or a v2 checkpoint with its adds in four sidecars. The table
for filters has 10,000 files of 100 rows with statistics; the filter is an equality that holds for one row. The 20 million rows
are in 40 files, nine columns of eight types, compressed by Snappy. Deletion vectors take 1 % of the rows of each file, at
random. The partitioned table has the same rows with one column in its folder names, two files to a folder.
"""

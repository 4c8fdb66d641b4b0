"""How is the benchmark run?  `python -m bench --help`"""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import document, machine, terminal
from bench.cases import Case
from bench.failures import Absent, Failed
from bench.iceberg import ICEBERG
from bench.lance import LANCE
from bench.reading import READING
from bench.results import Result
from bench.run import run
from bench.scale import FULL, QUICK, Scale
from bench.tables import cache
from bench.writing import WRITING

QUIET = 0.3


class Part(StrEnum):
    """What is measured."""

    reading = "reading"
    writing = "writing"
    iceberg = "iceberg"
    lance = "lance"


CASES = {Part.reading: READING, Part.writing: WRITING, Part.iceberg: ICEBERG, Part.lance: LANCE}


def chosen(parts: Sequence[Part], patterns: Sequence[str]) -> list[Case]:
    """The cases of these parts whose names match one of the patterns; all of them where there is none."""
    return [case for part in parts for case in CASES[part] if any(fnmatch(case.name, p) for p in patterns or ["*"])]


def main(
    parts: Annotated[list[Part] | None, typer.Argument(help="What to measure: all where none is named.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Names of cases, with * and ?; may be given again.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds that count.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Small tables: to see that it runs.")] = False,
    output: Annotated[Path | None, typer.Option("--json", help="A file for all samples.")] = None,
    taken: Annotated[
        list[Path] | None, typer.Option("--take", help="Take the samples of such files and measure nothing; may be given again.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Put the results into docs/benchmarks.md and its plot.")] = False,
) -> None:
    """Run Esker and its peers on the same tables, and print ratios."""
    screen, errors = Console(), Console(stderr=True, highlight=False)
    cases = chosen(parts or list(Part), only or [])
    if not cases:
        raise typer.BadParameter(f"no case is named {', '.join(only or [])}")
    if write and quick:
        raise typer.BadParameter("--write goes with whole tables, without --quick")
    if taken:
        results, failures = [result for path in taken for result in _kept(path, cases)], []
        screen.print(terminal.rendered(results))
    else:
        results, failures = _measured(cases, QUICK if quick else FULL, repeats, screen, errors)
    for failure in failures:
        errors.print(failure, style="red", markup=False)
    if output:
        output.write_text(json.dumps({"machine": machine.facts(), "results": [r.to_json() for r in results]}, indent=1))
    if write:
        document.update(results, machine.facts(), {part.value: CASES[part] for part in Part})
    sys.exit(1 if failures else 0)


def _kept(path: Path, cases: Sequence[Case]) -> list[Result]:
    """What a file of samples has of these cases."""
    stored = {result["case"]: result for result in json.loads(path.read_text())["results"]}
    return [Result.from_json(case, stored[case.name]) for case in cases if case.name in stored]


def _measured(
    cases: Sequence[Case], scale: Scale, repeats: int, screen: Console, errors: Console
) -> tuple[list[Result], list[str]]:
    """The results of the cases, shown one by one, and what went wrong."""
    if (load := machine.busy()) is not None and load > QUIET:
        errors.print(f"The machine is busy ({load:.1f} processes for each core): trust no number of this run.", style="yellow")
    results: list[Result] = []
    failures: list[str] = []
    for case in cases:
        with errors.status(f"{case.name}: making the table") as status:
            try:
                results.append(run(case, case.table(cache(), scale), scale, repeats, status.update))
                screen.print(terminal.rendered(results[-1:]))
            except Absent as error:
                errors.print(f"{case.name} was skipped: {error}", style="yellow")
            except Failed as error:
                failures.append(str(error))
    return results, failures


if __name__ == "__main__":
    typer.run(main)

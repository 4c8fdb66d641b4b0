"""How is the benchmark run?  `python -m bench --help`"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import document, machine, plot, terminal
from bench.cases import chosen
from bench.results import Result
from bench.run import ROOT, Failed, run
from bench.tables import FULL, QUICK, Absent, cache

QUIET = 0.3


def main(
    only: Annotated[list[str] | None, typer.Option(help="Names of cases, with * and ?; may be given again.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds that count.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Small tables: to see that it runs.")] = False,
    output: Annotated[Path | None, typer.Option("--json", help="A file for all samples.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write docs/benchmarks.md and its plot.")] = False,
) -> None:
    """Run Esker and its peers on the same tables, and print ratios."""
    screen, errors = Console(), Console(stderr=True, highlight=False)
    cases = chosen(only or [])
    if not cases:
        raise typer.BadParameter(f"no case is named {', '.join(only or [])}")
    if write and (quick or only):
        raise typer.BadParameter("--write goes with a whole run, without --quick and --only")
    if (load := machine.busy()) is not None and load > QUIET:
        errors.print(f"The machine is busy ({load:.1f} processes for each core): trust no number of this run.", style="yellow")
    results: list[Result] = []
    absent: dict[str, str] = {}
    failures: list[str] = []
    for case in cases:
        with errors.status(f"{case.name}: making the table") as status:
            try:
                folder = case.table(cache(), QUICK if quick else FULL)
                results.append(run(case, folder, repeats, status.update))
            except Absent as error:
                absent[case.name] = str(error)
            except Failed as error:
                failures.append(str(error))
    screen.print(terminal.rendered(results))
    for name, why in absent.items():
        errors.print(f"{name} was skipped: {why}", style="yellow")
    for failure in failures:
        errors.print(failure, style="red", markup=False)
    if output:
        output.write_text(json.dumps({"machine": machine.facts(), "results": [r.to_json() for r in results]}, indent=1))
    if write and not failures:
        docs = ROOT / "docs"
        (docs / "benchmarks.md").write_text(document.markdown(results, machine.facts(), repeats, absent))
        plot.draw(results, docs / document.PLOT)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    typer.run(main)

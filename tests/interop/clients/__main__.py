"""Do clients do what the data on them says?  `python -m tests.interop.clients`, or `make verify-clients`

Installs releases of clients, shows each of them tables with one feature at a time, and tells where the data under `esker/compat`
and the client differ. With `--write` what was seen is kept, and `make test` holds the data against it from then on.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import esker
from tests.interop.clients.asking import Asked, build
from tests.interop.clients.catalogue import FORMATS, cases
from tests.interop.clients.cells import Agreement, Cell, counted
from tests.interop.clients.environments import Environment, environments
from tests.interop.clients.observed import recorded
from tests.interop.clients.tables import Case

_QUIET = (Agreement.EQUAL, Agreement.WARNED)


def main(arguments: Sequence[str]) -> int:
    """Run what can be run; 1 where the data says yes and the client does not, or gets it wrong unforeseen."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.clients", description=__doc__)
    parser.add_argument("--format", action="append", choices=[*FORMATS], help="the format of the tables, by default all")
    parser.add_argument("--client", action="append", default=[], metavar="NAME[==V]", help="only this client, or this release")
    parser.add_argument("--table", default="", metavar="TEXT", help="only tables with this in their name")
    parser.add_argument("--write", action="store_true", help="keep what was seen")
    parser.add_argument("--all", action="store_true", help="tell of the cells that agree as well")
    told = parser.parse_args(arguments)
    cells: list[Cell] = []
    for format in told.format or FORMATS:
        chosen = [each for each in environments(format) if not told.client or {str(each), each.client.name} & set(told.client)]
        shown = [case for case in cases(format) if told.table in case.name] if chosen else []
        with TemporaryDirectory() as folder:
            build(shown, Path(folder, "tables"))
            for environment in chosen:
                found = list(verified(environment, shown, Path(folder)))
                cells += found
                _tell(environment, found, told.all)
                if told.write:
                    recorded(format, found)
    summary = ", ".join(f"{count} {agreement.value}" for agreement, count in counted(cells).items() if count)
    print(f"{len(cells)} cells: {summary or 'nothing could be run'}")
    return int(any(cell.agreement in (Agreement.FALSE_YES, Agreement.MISSED) for cell in cells))


def verified(environment: Environment, shown: Iterable[Case], folder: Path) -> Iterator[Cell]:
    """What a release does with the tables in a folder's `tables`, beside what the data says of it."""
    if problem := environment.built():
        print(f"{environment}: not runnable: {problem}")
        return
    asked = Asked(environment, folder / str(environment))
    try:
        if problem := asked.problem():
            print(f"{environment}: not runnable: {problem}")
            return
        for case in shown:
            contract = esker.open(folder / "tables" / case.name / "table").compat([str(environment)])
            (report,) = contract.clients
            for operation, ways in asked.outcomes(case, folder / "tables"):
                yield Cell(environment.client.name, environment.version, case.name, operation, report.judgement(operation), ways)
    finally:
        asked.stop()


def _tell(environment: Environment, cells: Sequence[Cell], everything: bool) -> None:
    print(f"{environment}: {', '.join(f'{n} {a.value}' for a, n in counted(cells).items() if n) or 'nothing seen'}")
    for cell in sorted(cells, key=lambda cell: [*Agreement].index(cell.agreement)):
        if everything or cell.agreement not in _QUIET:
            reasons = "; ".join(str(reason) for reason in cell.predicted.reasons)
            print(f"  {cell.agreement.value}: {cell.table}, {cell.operation.value}: {cell.predicted.verdict.value} ({reasons})")
            for way, outcome in cell.ways.items():
                print(f"    {way}: {outcome.seen.value} {outcome.why}"[:200].replace("\n", " "))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

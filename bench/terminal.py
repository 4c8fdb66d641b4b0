"""How are results shown on a terminal?"""

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.table import Table

from bench.results import Result, Verdict, shown

_STYLES = {True: "green", False: "red", None: ""}
_WORDS = {True: "met", False: "missed", None: ""}


def rendered(results: Sequence[Result]) -> Table:
    """A line for each measure of each case."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for name in ("case", "peer", "measure"):
        table.add_column(name, no_wrap=True)
    for name in ("esker", "peer", "ratio", "bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        for i, verdict in enumerate(result.verdicts):
            head = (result.case.name if i == 0 else "", verdict.peer)
            last = i == len(result.verdicts) - 1
            table.add_row(*head, *_cells(verdict), style=_STYLES[verdict.is_met], end_section=last)
    return table


def _cells(verdict: Verdict) -> tuple[str, ...]:
    bar = f"≤ {verdict.bar.at_most:.2f}" if verdict.bar else ""
    costs = (shown(verdict.measure, verdict.ours), shown(verdict.measure, verdict.theirs))
    return (verdict.measure, *costs, f"{verdict.ratio:.2f}", bar, _WORDS[verdict.is_met])

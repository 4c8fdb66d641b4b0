"""What can one see of Esker in a minute?

A tour of a pipeline on a table made for it: created, written, changed, followed, tidied up. Each step shows a line of Python and
then what the line gives; the line that is shown is the line that is run.
"""

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import pyarrow as pa
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

import esker
from esker.cli import render
from esker.cli.demo_rows import CEILING, COLUMNS, DAYS, corrections, rides_of
from esker.cli.report import Inspection, VacuumReport, feature_reports, outcome
from esker.cli.rows import of_arrow
from esker.cli.terminal import Screen
from esker.core.arrange import OptimizePlan
from esker.core.scan import ScanPlan
from esker.core.sql import parse
from esker.core.table import Description
from esker.errors import EskerError, InvalidRequest, Unsupported
from esker.formats import open_format

NAME = "rides"
FORMATS = ("delta", "iceberg", "lance")
FILTER = "city = 'Oslo' AND id >= 26000"


def show(keep: Path | None = None, *, with_spark: bool = True) -> None:
    """Make the table, in `keep` or where it vanishes afterwards, and show what can be done with it."""
    start = monotonic()
    with _folder(keep) as folder, chdir(folder):
        tour = Tour(Screen())
        _create(tour)
        _append(tour)
        _evolve(tour)
        _filter(tour)
        _restore(tour)
        if with_spark and _starts_spark(tour):
            _change(tour)
            _follow(tour)
            _optimize(tour)
        _look_back(tour)
        _vacuum(tour)
        _three_formats(tour)
        tour.say("")
        tour.say(f"That was Esker, in {monotonic() - start:.0f} seconds.", "bold")
        tour.say(_farewell(keep))


class Tour:
    """Runs lines of Python and shows them with what they give; names stay from line to line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._names: dict[str, object] = {
            "esker": esker, "pa": pa, "COLUMNS": COLUMNS, "rides_of": rides_of, "corrections": corrections,
        }  # fmt: skip

    def chapter(self, title: str, text: str) -> None:
        self._screen.show()
        if self._screen.is_bounded:
            self._screen.show(Rule(Text(title, style="bold cyan"), align="left", style="cyan"))
        else:
            self._screen.show(Text(f"== {title}"))
        self.say(text)

    def say(self, text: str, style: str = "") -> None:
        self._screen.show(Text(text, style=style))

    def run(self, line: str) -> object:
        """Show the line, run it, show its value if it has one."""
        self._show_line(line)
        with self._screen.status("running"):
            name, assigned, expression = line.partition(" = ")
            is_named = bool(assigned) and name.isidentifier()
            value: object = eval(expression if is_named else line, self._names)
        if is_named:
            self._names[name] = value
        else:
            self._screen.show(Padding(self._shown(value), (0, 0, 0, 2), expand=False))
        return value

    def refused(self, line: str) -> None:
        """Show the line, run it, and show why it is refused."""
        self._show_line(line)
        try:
            eval(line, self._names)
        except EskerError as error:
            self.say("\n".join(f"  {text}" for text in f"{type(error).__name__}: {error}".splitlines()), "yellow")

    def _show_line(self, line: str) -> None:
        self._screen.show()
        text = ">>> " + line.replace("\n", "\n... ")
        if self._screen.is_terminal:
            self._screen.show(Syntax(text, "pycon", theme="ansi_dark", background_color="default", word_wrap=True))
        else:
            self._screen.show(Text(text))

    def _shown(self, value: object) -> RenderableType:
        match value:
            case esker.Table():
                return render.outcome(outcome(value))
            case esker.Vacuumed():
                return render.vacuum(VacuumReport(NAME, value), most=3)
            case OptimizePlan():
                return render.optimize(value, most=3)
            case Description():
                return render.inspection(Inspection(value))
            case pa.Table() if "operationParameters" in value.column_names:
                return render.history(value)
            case pa.Table():
                return render.rows(of_arrow(value), self._screen)[0]
            case tuple():
                return render.features(feature_reports(value, with_absent=False), self._screen)
        return Text(str(value))


def _create(tour: Tour) -> None:
    tour.chapter("Create a table", "A bicycle hire keeps its rides in a Delta table. It takes no jar, and so far no Spark.")
    tour.run("""rides = esker.create(
    "rides", COLUMNS, partition_by=["city"], constraints={"paid": "price > 0"}, comment="bicycles hired by the hour",
    properties={"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"},
)""")
    tour.run("rides.describe()")
    tour.chapter("What it asks of its clients", "Each feature is supported, active or in use; and there is a way out, or none.")
    tour.run("rides.features()")


def _append(tour: Tour) -> None:
    tour.chapter("Append", "Rows from Arrow, pandas or Spark. Each append is one version, with its statistics.")
    tour.run("rides.append(rides_of(day=1))")
    tour.run(f"[rides.append(rides_of(day)).version for day in range(2, {DAYS + 1})]")
    tour.say("Rows that do not fit are refused, and no version is made:")
    tour.refused('rides.append(pa.table({"id": [1], "minutes": ["ten"], "tip": [5]}))')


def _evolve(tour: Tour) -> None:
    tour.chapter("Change the schema", "With column mapping a column gets another name, and no file is touched.")
    tour.run('rides.set_properties({"delta.columnMapping.mode": "name"})')
    tour.run('rides.rename_column("minutes", "duration")')


def _filter(tour: Tour) -> None:
    tour.chapter("Read a part", "The filter meets partition values and statistics before it meets a file.")
    kept, total = files_left(NAME, FILTER)
    tour.run(f'recent = "{FILTER}"')
    tour.run('rides.to_arrow(["id", "started", "duration", "price"], where=recent).slice(0, 4)')
    tour.say(f"  {kept} of {total} files were read: the others cannot hold such a ride.", "green")


def _restore(tour: Tour) -> None:
    tour.chapter("Take it back", "Somebody overwrites the table with one day. A restore puts it back, as a new version.")
    tour.run("rides.overwrite(rides_of(day=1).rename_columns(rides.schema.names))")
    tour.run("rides.restore(version=rides.version - 1)")


def _starts_spark(tour: Tour) -> bool:
    tour.chapter("On Spark", "Rows are found, joined and rewritten by Spark: a session of yours, or one on this machine.")
    try:
        tour.run("spark = esker.session()")
    except Unsupported as error:
        tour.say(f"  Merge, delete, change feed and optimize are left out. {error.what}.", "yellow")
        return False
    return True


def _change(tour: Tour) -> None:
    tour.run('rides.to_df(spark).where(recent).groupBy("city").agg({"id": "count", "price": "sum"}).toArrow()')
    tour.chapter("Merge", f"No ride was to cost more than {CEILING}, and some were reported late: update these, add those.")
    tour.run("""(rides.merge(corrections(), on="target.id = source.id")
    .when_matched_update_all().when_not_matched_insert_all().execute())""")
    tour.chapter("Delete", "Rides of two minutes or less did not take place. Deletion vectors hide them; no file is rewritten.")
    tour.run('rides.delete("duration <= 2")')


def _follow(tour: Tour) -> None:
    tour.chapter("Follow the changes", "Rows inserted, deleted and updated since, with what they were before.")
    tour.run("changes = rides.changes(from_version=rides.version - 1).to_arrow()")
    tour.run('changes.group_by(["_commit_version", "_change_type"]).aggregate([("id", "count")]).sort_by("_commit_version")')
    tour.run("in_order = [('_commit_version', 'ascending'), ('id', 'ascending'), ('_change_type', 'descending')]")
    tour.run('changes.sort_by(in_order).select(["id", "price", "_change_type", "_commit_version"]).slice(0, 4)')


def _optimize(tour: Tour) -> None:
    tour.chapter("Optimize", "Small files become larger ones. No row changes, and the change feed stays silent.")
    tour.run("rides.optimize(dry_run=True)")
    tour.run("rides.optimize()")


def _look_back(tour: Tour) -> None:
    tour.chapter("Its history", "Every version, who made it and how.")
    tour.run("rides.history()")
    tour.chapter("Travel in time", "By version, or by the moment. On its first day the column was still called minutes.")
    tour.run('rides.at(version=1).to_arrow(where="id < 3")')


def _vacuum(tour: Tour) -> None:
    tour.chapter("Vacuum", "Files that no version needs go after a week. Nobody else is at this table, so they may go now.")
    tour.run("rides.vacuum(retention=0, allow_unsafe=True, dry_run=True)")
    tour.run("rides.vacuum(retention=0, allow_unsafe=True)")


def _three_formats(tour: Tour) -> None:
    tour.chapter("Delta, Iceberg, Lance", "The same lines for each of them: only the word for the format differs.")
    tour.run('stations = pa.table({"id": [1, 2, 3], "city": ["Oslo", "Oslo", "Bergen"], "bikes": [12, 30, 7]})')
    names = FORMATS if find_spec("lance") else FORMATS[:2]
    if names != FORMATS:
        tour.say("  Lance is left out: pip install 'esker[lance]' brings the library that reads its files.", "yellow")
    tour.run(f'tables = [esker.create(f"stations-{{name}}", stations, format=name) for name in {names}]')
    tour.run("[table.append(stations.slice(2)).version for table in tables]")
    tour.run("[table.to_arrow(where=\"city = 'Oslo'\").num_rows for table in tables]")
    tour.run("[table.describe().protocol for table in tables]")
    tour.run("[[str(f) for f in table.check(deep=True) if f.severity.name == 'ERROR'] for table in tables]")


def files_left(location: str, where: str) -> tuple[int, int]:
    """How many of a table's files may hold rows that the filter wants, and how many there are."""
    plan = open_format(location, {}, {}).plan()
    assert isinstance(plan, ScanPlan)
    return int(plan.matching(parse(where)).sum()), len(plan)


def _farewell(keep: Path | None) -> str:
    if keep is None:
        return "esker demo --keep FOLDER leaves the table for you; then try: esker inspect FOLDER/rides --files"
    return f"The table stays; try: esker inspect {keep / NAME} --files"


@contextmanager
def _folder(keep: Path | None) -> Iterator[str]:
    if keep is None:
        with TemporaryDirectory(prefix="esker-demo-") as folder:
            yield folder
        return
    if (keep / NAME).exists():
        raise InvalidRequest("there is something already", where=str(keep / NAME), hint="Name another folder.")
    keep.mkdir(parents=True, exist_ok=True)
    yield str(keep)

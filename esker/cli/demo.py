"""What can one see of Esker in a minute?

A tour on a table made for it. Each step shows a line of Python and then what the line gives; the line that is shown is the
line that is run.
"""

from collections.abc import Iterator
from contextlib import chdir, contextmanager
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
from esker.cli.demo_table import build
from esker.cli.report import Inspection, feature_reports, totals
from esker.cli.rows import of_arrow
from esker.cli.terminal import Screen
from esker.core.sql import parse
from esker.core.table import Description
from esker.errors import InvalidRequest, Unsupported
from esker.formats import open_format

NAME = "rides"
FILTER = "city = 'Oslo' AND id >= 52000"


def show(keep: Path | None = None, *, with_spark: bool = True) -> None:
    """Make the table, in `keep` or where it vanishes afterwards, and show what can be done with it."""
    start = monotonic()
    with _folder(keep) as folder, chdir(folder):
        build(NAME)
        tour = Tour(Screen())
        _look(tour)
        _travel(tour)
        _filter(tour)
        _follow(tour)
        if with_spark:
            _on_spark(tour)
        tour.say("")
        tour.say(f"That was Esker, in {monotonic() - start:.0f} seconds.", "bold")
        tour.say(_farewell(keep))


class Tour:
    """Runs lines of Python and shows them with what they give; names stay from line to line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._names: dict[str, object] = {"esker": esker}

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
        self._screen.show()
        if self._screen.is_terminal:
            self._screen.show(Syntax(f">>> {line}", "pycon", theme="ansi_dark", background_color="default", word_wrap=True))
        else:
            self._screen.show(Text(f">>> {line}"))
        with self._screen.status("running"):
            name, assigned, expression = line.partition(" = ")
            is_named = bool(assigned) and name.isidentifier()
            value: object = eval(expression if is_named else line, self._names)
        if is_named:
            self._names[name] = value
        else:
            self._screen.show(Padding(self._shown(value), (0, 0, 0, 2), expand=False))
        return value

    def _shown(self, value: object) -> RenderableType:
        match value:
            case Description():
                return render.inspection(Inspection(value))
            case pa.Table() if "operationParameters" in value.column_names:
                return render.history(value)
            case pa.Table() if "row_commit_version" in value.column_names:
                return render.files(value, totals(value))
            case pa.Table():
                return render.rows(of_arrow(value), self._screen)[0]
            case tuple():
                return render.features(feature_reports(value, with_absent=False), self._screen)
        return Text(str(value))


def _look(tour: Tour) -> None:
    tour.chapter("Open a table", "A bicycle hire keeps its rides in a Delta table. Opening it reads the log, no jar, no Spark.")
    tour.run(f'rides = esker.open("{NAME}")')
    tour.run("rides.describe()")
    tour.chapter("What it asks of its clients", "Each feature is supported, active or in use; and there is a way out, or none.")
    tour.run("rides.features()")


def _travel(tour: Tour) -> None:
    tour.chapter("Its history", "Appends, a column that got another name, rides that were cancelled, prices put right.")
    tour.run("rides.history()")
    tour.chapter("Travel in time", "By version, or by the moment. On the second of March the column was still called minutes.")
    tour.run('rides.at(version=1).to_arrow(where="id < 3")')
    tour.run('rides.at(timestamp="2026-03-05T12:00:00Z").version')


def _filter(tour: Tour) -> None:
    tour.chapter("Read a part", "The filter meets partition values and statistics before it meets a file.")
    kept, total = files_left(NAME, FILTER)
    tour.run(f'recent = "{FILTER}"')
    tour.run('rides.to_arrow(["id", "started", "duration", "price"], where=recent).slice(0, 4)')
    tour.say(f"  {kept} of {total} files were read: the others cannot hold such a ride.", "green")


def _follow(tour: Tour) -> None:
    tour.chapter("Follow the changes", "Rows deleted and rows updated, with what they were before.")
    tour.run("changes = rides.changes(from_version=8).to_arrow()")
    tour.run('changes.group_by(["_commit_version", "_change_type"]).aggregate([("id", "count")])')
    tour.run('rides.changes(9, columns=["id", "price", "_change_type"]).to_arrow().sort_by("id").slice(0, 4)')


def _on_spark(tour: Tour) -> None:
    tour.chapter("On Spark", "The same table as a lazy DataFrame: Spark's own Parquet scan over the files that Esker planned.")
    try:
        tour.run("spark = esker.session()")
    except Unsupported as error:
        tour.say(f"  {error.what}.", "yellow")
        return
    tour.run("frame = rides.to_df(spark)")
    tour.run("frame.count()")
    tour.say("The cancelled rides are not counted. A filter put on the frame later still reaches the planner:")
    tour.run('frame.where(recent).groupBy("city").agg({"id": "count", "price": "sum"}).toArrow()')
    kept, total = files_left(NAME, FILTER)
    tour.say(f"  The planner left Spark {kept} of {total} files.", "green")


def files_left(location: str, where: str) -> tuple[int, int]:
    """How many of a table's files may hold rows that the filter wants, and how many there are."""
    plan = open_format(location, {}, {}).plan()
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

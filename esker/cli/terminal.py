"""Where do words go: to a terminal, or to a program that reads them?

A terminal gets colours, its own width and a moving bar. A pipe or file gets plain text that is cut nowhere.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

_UNBOUNDED = 10_000
# A name or a value may hold what a terminal would obey: shown is a picture of it, or what stands for no character.
_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


class Screen(Console):
    """Standard output; `is_aside`, standard error, where what is asked for goes to the other."""

    def __init__(self, is_aside: bool = False) -> None:
        is_cut = (sys.stderr if is_aside else sys.stdout).isatty() or "COLUMNS" in os.environ
        width = None if is_cut else _UNBOUNDED
        # A table's names and values are no markup.
        super().__init__(width=width, highlight=False, stderr=is_aside, markup=False, emoji=False)

    @property
    def is_bounded(self) -> bool:
        """Whether lines have an end that people would see."""
        return self.width < _UNBOUNDED

    def show(self, what: RenderableType = "") -> None:
        """Print it; without a width to fill, without the blanks that fill it."""
        if self.is_bounded:
            self.print(what)
            return
        with self.capture() as captured:
            self.print(what)
        for line in captured.get().splitlines():
            self.out(line.rstrip(), highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(_PICTURES))

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "rows") -> Iterator["Ticker"]:
    """A bar on standard error while the block runs, where that is a terminal."""
    screen = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(), console=screen, transient=True, disable=not screen.is_terminal,
    )  # fmt: skip
    with bar:
        yield Ticker(bar, what, total, unit)


class Ticker:
    """Moves a bar forward."""

    def __init__(self, bar: Progress, what: str, total: int | None, unit: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, count="")
        self._done = 0
        self._unit = unit

    def advance(self, count: int) -> None:
        self._done += count
        self._bar.update(self._task, completed=self._done, count=f"{self._done:,} {self._unit}")

    def set(self, done: int, of: int) -> None:
        self._bar.update(self._task, total=of, completed=done, count=f"{done:,} of {of:,} {self._unit}")

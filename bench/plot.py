"""How do the ratios look?

Grey letters and no background, so that the picture reads on light and on dark paper.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.results import Result, Verdict

INK = "#7d8590"
COLOURS = {True: "#2a9d8f", False: "#e5603e", None: "#6f8fc9"}
LABELS = {True: "bar met", False: "bar missed", None: "no bar set"}
WIDEST = 1.5
"""Longer bars are cut here; their number tells."""


def draw(results: Sequence[Result], path: Path) -> None:
    """A bar for each ratio that has a bar to meet, and the CPU's where there is none."""
    lines = [(result, verdict) for result in results for verdict in _told(result)]
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "esker", "font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=(9, 0.9 + 0.3 * len(lines)), layout="constrained")
        axes = figure.add_subplot()
        for at, (_, verdict) in enumerate(lines):
            axes.barh(at, min(verdict.ratio, WIDEST), height=0.62, color=COLOURS[verdict.is_met])
            axes.text(WIDEST + 0.09, at, f"{verdict.ratio:.2f}", va="center", ha="right", color=INK)
            if verdict.bar:
                axes.plot([verdict.bar.at_most] * 2, [at - 0.45, at + 0.45], color=INK, linewidth=2)
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        names = [f"{result.case.name} / {verdict.peer}, {verdict.measure}" for result, verdict in lines]
        axes.set_yticks(range(len(lines)), names)
        axes.set_xlim(0, WIDEST + 0.1)
        axes.invert_yaxis()
        axes.set_xlabel("Esker's cost as a share of the peer's; the peer is the dashed line", color=INK)
        axes.tick_params(colors=INK, length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        marks = [Patch(color=COLOURS[kind], label=LABELS[kind]) for kind in (True, False, None)]
        bar = Line2D([], [], color=INK, linewidth=2, marker="|", linestyle="none", markersize=10, label="the bar")
        axes.legend(handles=[*marks, bar], loc="upper center", bbox_to_anchor=(0.5, 1 + 1.2 / (len(lines) + 1)), ncols=4,
                    frameon=False, labelcolor=INK)  # fmt: skip
        figure.savefig(path, transparent=True, metadata={"Date": None})


def _told(result: Result) -> tuple[Verdict, ...]:
    barred = tuple(v for v in result.verdicts if v.bar)
    return barred or result.verdicts[:1]

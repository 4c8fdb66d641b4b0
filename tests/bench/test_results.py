"""Do medians become ratios, and ratios verdicts, and both a page?"""

from importlib import import_module

import pytest

from bench import document, plot
from bench.cases import CASES, Bar, chosen
from bench.measure import Cost, own_cpu, own_peak, timed, tree_cpu, tree_peak
from bench.results import Result, Verdict, shown


def test_every_call_of_a_case_is_a_function():
    for contender in (c for case in CASES for c in case.contenders):
        module, name = contender.call.split(".")
        assert callable(getattr(import_module(f"bench.{module}"), name))


def test_names_of_cases_are_patterns():
    assert [case.name for case in chosen(["scan", "describe-v?"])] == ["describe-v2", "scan"]
    assert chosen([]) == list(CASES)


@pytest.mark.parametrize("ours, is_met", [(0.4, True), (0.5, True), (0.504, True), (0.51, False)])
def test_a_bar_is_met_up_to_what_is_printed(ours, is_met):
    assert Verdict("cpu", ours, 1.0, Bar("cpu", 0.5)).is_met is is_met


def test_without_a_bar_nothing_is_judged():
    assert Verdict("cpu", 9, 1, None).is_met is None


def test_medians_pass_over_what_was_not_measured():
    result = _result()
    assert [(v.measure, v.ratio) for v in result.verdicts] == [("cpu", 0.5), ("wall", 0.5), ("memory", 1.0)]


@pytest.mark.parametrize("measure, value, text", [
    ("cpu", 0.0414, "41 ms"), ("wall", 2.5, "2.50 s"), ("memory", 3 << 20, "3 MiB"),
])  # fmt: skip
def test_costs_have_units(measure, value, text):
    assert shown(measure, value) == text


def test_the_page_has_each_case_and_the_plot(tmp_path):
    page = document.markdown([_result()], {"date": "2026-01-02"}, 3, {"scan": "no Java"})
    assert f"| `{CASES[0].name}` |" in page
    assert "`scan` was not run: no Java." in page
    plot.draw([_result()], tmp_path / document.PLOT)
    assert CASES[0].name in (tmp_path / document.PLOT).read_text()


def test_a_process_is_in_its_own_tree():
    cpu, wall, given = timed(own_cpu, lambda: sum(range(100_000)))
    assert given == 4999950000
    assert cpu >= 0
    assert wall > 0
    assert tree_cpu() > 0
    assert tree_peak() >= own_peak() > 0


def _result() -> Result:
    ours = (Cost(1, 2, None), Cost(None, None, 100), Cost(1, 2, None))
    return Result(CASES[0], ours, (Cost(2, 4, None), Cost(None, None, 100), Cost(2, 4, None)))

"""Do medians become ratios, and ratios verdicts, and both a page?"""

from importlib import import_module

import pytest

from bench import document
from bench.__main__ import CASES, Part, chosen
from bench.cases import Bar
from bench.machine import ENVIRONMENTS
from bench.measure import Cost, own_cpu, own_peak, timed, tree_cpu, tree_peak
from bench.results import Result, Verdict, shown

ALL = [case for part in Part for case in CASES[part]]


def test_every_call_of_a_case_is_a_function():
    for contender in (c for case in ALL for c in case.contenders if c.name not in ENVIRONMENTS):
        module, name = contender.call.split(".")
        assert callable(getattr(import_module(f"bench.{module}"), name))


def test_names_of_cases_are_patterns():
    assert [case.name for case in chosen([Part.reading], ["scan", "describe-v?", "merge"])] == ["describe-v2", "scan"]
    assert chosen(list(Part), []) == ALL


def test_names_tell_cases_apart():
    assert len({case.name for case in ALL}) == len(ALL)


@pytest.mark.parametrize("ours, is_met", [(0.4, True), (0.5, True), (0.504, True), (0.51, False)])
def test_a_bar_is_met_up_to_what_is_printed(ours, is_met):
    assert Verdict("peer", "cpu", ours, 1.0, Bar("cpu", 0.5)).is_met is is_met


def test_without_a_bar_nothing_is_judged():
    assert Verdict("peer", "cpu", 9, 1, None).is_met is None


def test_medians_pass_over_what_was_not_measured():
    result = _result()
    assert [(v.measure, v.ratio) for v in result.verdicts] == [("cpu", 0.5), ("wall", 0.5), ("memory", 1.0)]


@pytest.mark.parametrize("measure, value, text", [
    ("cpu", 0.0414, "41 ms"), ("wall", 2.5, "2.50 s"), ("memory", 3 << 20, "3 MiB"),
])  # fmt: skip
def test_costs_have_units(measure, value, text):
    assert shown(measure, value) == text


def test_a_part_that_is_measured_again_leaves_the_rest_of_the_page(tmp_path):
    chapters = {"reading": ALL[:2], "writing": ALL[-1:]}
    document.update([_result(ALL[0]), _result(ALL[-1])], {"date": "2026-01-02", "processor": "A"}, chapters, tmp_path)
    document.update([_result(ALL[1])], {"date": "2026-03-04", "processor": "B"}, chapters, tmp_path)
    page = (tmp_path / document.PAGE).read_text()
    for case in (*ALL[:2], ALL[-1]):
        assert f"| `{case.name}` | {case.title} | {case.peers[0].name} | cpu |" in page
    assert f"| `{ALL[0].name}` | 2026-01-02 |" in page
    assert f"| `{ALL[1].name}` | 2026-03-04 |" in page
    assert f"| processor | A; B for `{ALL[1].name}` |" in page
    assert ALL[1].name in (tmp_path / document.plot_of("reading")).read_text()


def test_a_process_is_in_its_own_tree():
    cpu, wall, given = timed(own_cpu, lambda: sum(range(100_000)))
    assert given == 4999950000
    assert cpu >= 0
    assert wall > 0
    assert tree_cpu() > 0
    assert tree_peak() >= own_peak() > 0


def _result(case=ALL[0]) -> Result:
    ours = (Cost(1, 2, None), Cost(None, None, 100), Cost(1, 2, None))
    theirs = (Cost(2, 4, None), Cost(None, None, 100), Cost(2, 4, None))
    return Result(case, (ours, *(theirs for _ in case.peers)))

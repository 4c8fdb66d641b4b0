"""Is each rule of the specification found broken where it is, and nowhere else?"""

import pytest

from esker.check.iceberg.rules import RULES, check_iceberg
from tests.check.iceberg.broken import BROKEN, Build, equality_deletes, position_deletes, vector
from tests.check.iceberg.tables import sound


def test_rules_have_unique_ids_and_say_what_to_do() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) >= 60
    assert all(rule.says and rule.mend and str(rule.section) for rule in RULES)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_sound_table_breaks_no_rule(version: int) -> None:
    assert list(check_iceberg(sound(version).write(), deep=True)) == []


@pytest.mark.parametrize("build", [vector(), position_deletes(), equality_deletes()], ids=["vector", "positions", "equality"])
def test_sound_deletes_break_no_rule(build: Build) -> None:
    assert list(check_iceberg(build().write(), deep=True)) == []


def test_each_rule_has_a_table_that_breaks_it() -> None:
    assert {*BROKEN} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule, build, also", [(rule, *case) for rule, case in BROKEN.items()], ids=[*BROKEN])
def test_a_rule_is_found_broken_alone(rule: str, build: Build, also: set[str]) -> None:
    assert {finding.rule for finding in check_iceberg(build().write(), deep=True)} == {rule} | also

"""Which changes never become a version?  (PROTOCOL.md, "Requirements for Writers")"""

from dataclasses import replace
from typing import Any

import pytest

from esker.delta.actions import Add, DomainMetadata, Remove
from esker.delta.deletion_vectors import DeletionVector
from esker.delta.transaction import Change, Operation
from esker.delta.validation import check_change
from esker.errors import InvalidRequest
from tests.delta.operations import opened, table_with

VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 34, 2, 1)
ADD = Add("f", {"p": "a"}, 1, 0)
REMOVE = Remove("f", {"p": "a"}, 1, 0)
APPEND_ONLY = {"delta.appendOnly": "true"}

RULES = [
    # "New log entries MUST NOT change or remove data from the table."  Append-only Tables
    (APPEND_ONLY, {"removes": (REMOVE,)}, "delta.appendOnly is true"),
    # one entry must not have "Add / Remove actions with the same `(path, DV)` tuple"  Delta Log Entries
    ({}, {"adds": (ADD,), "removes": (REMOVE,)}, "the file f would be named twice"),
    ({}, {"removes": (REMOVE, REMOVE)}, "the file f would be named twice"),
    ({"delta.enableDeletionVectors": "true"}, {"adds": (ADD, replace(ADD, deletion_vector=VECTOR))}, "the file f would be added twice"),
    # "To support this feature: [...] `deletionVectors` must exist in the table protocol's `readerFeatures`"  Deletion Vectors
    ({}, {"adds": (replace(ADD, deletion_vector=VECTOR),)}, "does not support deletionVectors"),
    # "Enablement: The table must be on Writer Version 7 [...] `domainMetadata` must exist"  Domain Metadata
    ({}, {"domains": (DomainMetadata("d", "{}"),)}, "does not support domainMetadata"),
]  # fmt: skip

ALLOWED = [
    (APPEND_ONLY, {"adds": (ADD,)}),
    (APPEND_ONLY, {"removes": (replace(REMOVE, data_change=False),)}),
    ({"delta.enableDeletionVectors": "true"}, {"adds": (replace(ADD, deletion_vector=VECTOR),), "removes": (REMOVE,)}),
    ({"delta.feature.domainMetadata": "supported"}, {"domains": (DomainMetadata("d", "{}"),)}),
]


@pytest.mark.parametrize("properties, change, problem", RULES)
def test_a_change_that_breaks_a_rule_is_refused_by_its_name(properties: dict[str, str], change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_change(Change(Operation("TEST"), **change), opened(table_with(properties)).snapshot)
    assert any(problem in found for found in refused.value.problems)
    assert "TEST breaks the table's rules" in str(refused.value)


@pytest.mark.parametrize("properties, change", ALLOWED)
def test_a_change_that_keeps_the_rules_passes(properties: dict[str, str], change: dict[str, Any]) -> None:
    check_change(Change(Operation("TEST"), **change), opened(table_with(properties)).snapshot)


def test_every_broken_rule_is_told_at_once() -> None:
    change = Change(Operation("TEST"), adds=(replace(ADD, deletion_vector=VECTOR),), removes=(REMOVE,), domains=(DomainMetadata("d", ""),))
    with pytest.raises(InvalidRequest) as refused:
        check_change(change, opened(table_with(APPEND_ONLY)).snapshot)
    assert len(refused.value.problems) == 3

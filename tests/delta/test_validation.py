"""Which changes never become a version?  (PROTOCOL.md, "Requirements for Writers")"""

from dataclasses import replace
from typing import Any

import pytest

from esker.delta.actions import Add, DomainMetadata, Metadata, Remove, Txn
from esker.delta.deletion_vectors import DeletionVector
from esker.delta.transaction import Change, Operation
from esker.delta.validation import check_change
from esker.errors import InvalidRequest
from tests.delta.operations import opened, table_with

VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 34, 2, 1)
ADD = Add("f", {"p": "a"}, 1, 0)
REMOVE = Remove("f", {"p": "a"}, 1, 0)
APPEND_ONLY = {"delta.appendOnly": "true"}



def _with(name: str, value: str | None = None) -> Metadata:
    """The table's metadata with the property at this value, or without it."""
    metadata = opened(table_with({} if value else {name: "true"})).snapshot.metadata
    return replace(metadata, configuration={name: value} if value else {})


RULES = [
    # "New log entries MUST NOT change or remove data from the table.": nor by an entry that lifts the rule.  Append-only Tables
    (APPEND_ONLY, {"removes": (REMOVE,), "metadata": _with("delta.appendOnly")}, "delta.appendOnly is true"),
    (APPEND_ONLY, {"removes": (REMOVE,)}, "delta.appendOnly is true"),
    # one entry must not have "Add / Remove actions with the same `(path, DV)` tuple"  Delta Log Entries
    ({}, {"adds": (ADD,), "removes": (REMOVE,)}, "the file f would be named twice"),
    ({}, {"removes": (REMOVE, REMOVE)}, "the file f would be named twice"),
    ({"delta.enableDeletionVectors": "true"}, {"adds": (ADD, replace(ADD, deletion_vector=VECTOR))}, "the file f would be added twice"),
    # "it is illegal for the same `path` to be occur twice with different `dvId`s within each set"  Add File and Remove File
    ({"delta.enableDeletionVectors": "true"}, {"removes": (REMOVE, replace(REMOVE, deletion_vector=VECTOR))}, "the file f would be removed twice"),
    # "More than one SetTransaction with the same `appId`"  Delta Log Entries
    ({}, {"txns": (Txn("app", 1), Txn("app", 2))}, "the application app would be spoken of twice"),
    ({"delta.feature.domainMetadata": "supported"}, {"domains": (DomainMetadata("d", "{}"), DomainMetadata("d", "", True))},
     "the domain d would be spoken of twice"),
    # "To support this feature: [...] `deletionVectors` must exist in the table protocol's `readerFeatures`"  Deletion Vectors
    ({}, {"adds": (replace(ADD, deletion_vector=VECTOR),)}, "does not support deletionVectors"),
    # "Enablement: The table must be on Writer Version 7 [...] `domainMetadata` must exist"  Domain Metadata
    ({}, {"domains": (DomainMetadata("d", "{}"),)}, "does not support domainMetadata"),
]  # fmt: skip

ALLOWED = [
    # what takes the place of another table may be append-only from then on
    ({}, {"removes": (REMOVE,), "metadata": _with("delta.appendOnly", "true")}),
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

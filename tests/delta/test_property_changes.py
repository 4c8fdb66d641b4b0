"""Which properties a user may set, and what that asks of the protocol."""

import pytest

from esker.delta.properties import PROPERTIES, Property
from esker.delta.property_changes import PropertyChanges, applied, validated
from esker.errors import InvalidRequest


def test_a_property_is_stored_under_its_own_spelling_and_as_it_was_written() -> None:
    assert validated({"DELTA.APPENDONLY": "True", "delta.logretentionduration": "2 weeks"}).stored == {
        "delta.appendOnly": "True", "delta.logRetentionDuration": "2 weeks",
    }  # fmt: skip


def test_names_that_are_not_deltas_pass_untouched() -> None:
    own = {"owner": "ann", "Deltas": "x", "": "", "deltaX.y": "1", "Δ": "\n", "appendOnly": "perhaps"}
    assert validated(own) == PropertyChanges(own)


@pytest.mark.parametrize(
    "name, near",
    [
        ("delta.appendonli", "delta.appendOnly"), ("delta.enableDeletionVector", "delta.enableDeletionVectors"),
        ("delta.logRetention", "delta.logRetentionDuration"), ("delta.enableCDF", ""), ("delta.", ""), ("delta.xyz", ""),
    ],
)  # fmt: skip
def test_an_unknown_property_of_deltas_is_refused_with_the_nearest_ones(name: str, near: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        validated({name: "true"})
    (problem,) = refused.value.problems
    assert problem.startswith(f"there is no property {name}")
    assert near in problem


@pytest.mark.parametrize("known", [known for known in PROPERTIES if known.is_managed], ids=lambda known: known.name)
@pytest.mark.parametrize("text", ["1", None])
def test_what_writers_keep_cannot_be_set_or_taken_out(known: Property[object], text: str | None) -> None:
    """ "This is an internal table property that cannot be configured by users."  (Writer Requirements for Column Mapping)"""
    with pytest.raises(InvalidRequest, match="kept by writers"):
        validated({known.name: text})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        validated(
            {
                "delta.appendOnly": "perhaps",
                "delta.nope": "1",
                "delta.feature.nope": "supported",
                "delta.minReaderVersion": "9",
            }
        )
    assert len(refused.value.problems) == 4


def test_features_are_asked_for_by_name_and_not_stored() -> None:
    """newest text, 4: "`delta.feature.<name>` [...] are inputs only and are never stored in `configuration`" """
    asked = {
        "delta.feature.DELETIONVECTORS": "supported",
        "delta.feature.variantType-preview": "Enabled",
        "delta.ignoreProtocolDefaults": "true",
    }
    assert validated(asked) == PropertyChanges(features=frozenset({"deletionVectors", "variantType-preview"}))


@pytest.mark.parametrize(
    "changes, hint",
    [
        ({"delta.feature.rowTracking": "on"}, "supported is expected"), ({"delta.feature.rowTracking": None}, "drop the feature"),
        ({"delta.feature.rowTracing": "supported"}, "rowTracking"), ({"delta.feature.": "supported"}, "no feature"),
        ({"delta.minReaderVersion": "4"}, "from 1 to 3"), ({"delta.minWriterVersion": "0"}, "from 1 to 7"),
        ({"delta.minWriterVersion": None}, "from 1 to 7"), ({"delta.minWriterVersion": "two"}, "from 1 to 7"),
    ],
)  # fmt: skip
def test_a_protocol_request_that_makes_no_sense_is_refused(changes: dict[str, str | None], hint: str) -> None:
    with pytest.raises(InvalidRequest, match=hint):
        validated(changes)


def test_protocol_versions_are_asked_for_and_not_stored() -> None:
    assert validated({"delta.minReaderVersion": "2", "DELTA.minWriterVersion": "5"}) == PropertyChanges(
        min_reader=2, min_writer=5
    )


def test_constraints_are_properties_only_of_a_table_that_is_being_created() -> None:
    """ "When adding a CHECK constraint to a table, a writer must validate the existing data"  (CHECK Constraints)"""
    assert validated({"delta.constraints.Positive": "id > 0"}, creating=True).stored == {
        "delta.constraints.positive": "id > 0"
    }
    for changes in ({"delta.constraints.positive": "id > 0"}, {"delta.constraints.positive": None}):
        with pytest.raises(InvalidRequest, match="by their own operations"):
            validated(changes)
    for name, text in (("delta.constraints.", "id > 0"), ("delta.constraints.x", " ")):
        with pytest.raises(InvalidRequest, match="no named condition"):
            validated({name: text}, creating=True)
    with pytest.raises(InvalidRequest, match="cannot read the text"):
        validated({"delta.constraints.x": "id > (0"}, creating=True)


def test_changes_are_applied_on_top_of_what_is_there() -> None:
    before = {"delta.appendOnly": "true", "own": "1", "delta.enableChangeDataCapture": "true"}
    changes = validated({"delta.APPENDONLY": None, "other": "2", "delta.enableChangeDataFeed": "false", "gone": None})
    assert applied(before, changes) == {"own": "1", "other": "2", "delta.enableChangeDataFeed": "false"}
    assert applied(before, PropertyChanges()) == before

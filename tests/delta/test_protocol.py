"""Protocol actions: parsing, legality, arithmetic and the gate."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esker.core.features import Presence, Scope
from esker.delta.features import FEATURES, Facts
from esker.delta.protocol import (
    Protocol,
    check_readable,
    check_writable,
    implicit,
    is_supported,
    is_upgrade,
    merge,
    minimal,
    parse_protocol,
    presences,
    problems,
    requirements,
    supported,
    without,
)
from esker.errors import InvalidRequest, InvalidTable, Unsupported


def p(reader: int, writer: int, writers: str | None = None, readers: str | None = None) -> Protocol:
    """(reader, writer, [writerFeatures], [readerFeatures]), with the names separated by spaces."""
    return Protocol(
        reader, writer,
        None if readers is None else frozenset(readers.split()),
        None if writers is None else frozenset(writers.split()),
    )


WRITER_2 = "appendOnly invariants"
WRITER_3 = f"{WRITER_2} checkConstraints"
WRITER_4 = f"{WRITER_3} changeDataFeed generatedColumns"


# Parsing


@pytest.mark.parametrize("action, protocol, features", [
    ({"minReaderVersion": 1, "minWriterVersion": 2}, p(1, 2), WRITER_2),
    ({"minReaderVersion": 1, "minWriterVersion": 4}, p(1, 4), WRITER_4),
    (
        {
            "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
            "writerFeatures": [
                "deletionVectors", "checkConstraints", "generatedColumns", "invariants", "changeDataFeed", "appendOnly",
            ],
        },
        p(3, 7, f"deletionVectors {WRITER_4}", "deletionVectors"), f"deletionVectors {WRITER_4}",
    ),
])
def test_the_three_protocols_of_the_introduction_to_table_features(
    action: Mapping[str, Any], protocol: Protocol, features: str
) -> None:
    """delta-table-features.md, "As a user of Delta Spark"."""
    assert parse_protocol(action) == protocol
    assert problems(protocol) == ()
    assert supported(protocol) == set(features.split())
    check_readable(protocol, "t")


@pytest.mark.parametrize("action, protocol", [
    ({"readerFeatures": None, "writerFeatures": None}, p(1, 2)),
    ({"readerFeatures": [], "writerFeatures": []}, p(1, 2)),
    ({"minWriterVersion": 7, "writerFeatures": []}, p(1, 7, "")),
    ({"minWriterVersion": 8, "writerFeatures": []}, p(1, 8, "")),
    ({"minWriterVersion": 7, "readerFeatures": [], "writerFeatures": ["x"]}, p(1, 7, "x")),
    ({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": []}, p(3, 7, "", "")),
    ({"minWriterVersion": 7, "writerFeatures": ["appendOnly", "appendOnly"]}, p(1, 7, "appendOnly")),
    ({"minWriterVersion": 7, "writerFeatures": ["APPENDONLY", "typewidening-PREVIEW"]},
     p(1, 7, "appendOnly typeWidening-preview")),
    ({"unrecognized": 1}, p(1, 2)),
])
def test_lists_may_be_null_absent_empty_or_repetitive(action: Mapping[str, Any], protocol: Protocol) -> None:
    """PROTOCOL.md, "Protocol Evolution": "Clients must ignore such unrecognized fields"."""
    assert parse_protocol({"minReaderVersion": 1, "minWriterVersion": 2, **action}) == protocol


@pytest.mark.parametrize("action, told", [
    ({"minReaderVersion": None}, "minReaderVersion is missing"),
    ({"minWriterVersion": None}, "minWriterVersion is missing"),
    ({"minReaderVersion": "1"}, "minReaderVersion is '1', not an integer"),
    ({"minReaderVersion": 1.0}, "minReaderVersion is 1.0, not an integer"),
    ({"minWriterVersion": True}, "minWriterVersion is True, not an integer"),
    ({"readerFeatures": "deletionVectors"}, "readerFeatures is 'deletionVectors', not a list"),
    ({"writerFeatures": {"a": 1}}, "writerFeatures is {'a': 1}, not a list"),
    ({"writerFeatures": ["a", 7]}, "writerFeatures holds 7, not a feature name"),
    ({"writerFeatures": [None]}, "writerFeatures holds None, not a feature name"),
    ({"writerFeatures": [["a"]]}, "writerFeatures holds ['a'], not a feature name"),
    ({"readerFeatures": [""]}, "readerFeatures holds '', not a feature name"),
])
def test_a_malformed_action_is_an_invalid_table(action: Mapping[str, Any], told: str) -> None:
    """PROTOCOL.md, "Protocol Evolution": the schema of the `protocol` action."""
    with pytest.raises(InvalidTable) as caught:
        parse_protocol({"minReaderVersion": 3, "minWriterVersion": 7, **action}, "lake/t")
    assert caught.value.problems == (told,)
    assert caught.value.where == "lake/t"


def test_all_that_is_malformed_is_told_at_once() -> None:
    with pytest.raises(InvalidTable) as caught:
        parse_protocol({"readerFeatures": 1, "writerFeatures": [2]})
    assert len(caught.value.problems) == 4


# Legality


@pytest.mark.parametrize("protocol, told, is_readable", [
    (p(3, 7, ""), "reader version 3 without readerFeatures", False),
    (p(0, 2), "minReaderVersion is 0, below 1", False),
    (p(1, 0), "minWriterVersion is 0, below 1", True),
    (p(1, 7), "writer version 7 without writerFeatures", True),
    (p(3, 6, readers=""), "reader version 3 needs writer version 7, not 6", True),
    (p(1, 7, "deletionVectors", "deletionVectors"), "readerFeatures on reader version 1", True),
    (p(1, 4, "clustering"), "writerFeatures on writer version 4", True),
    (p(3, 7, "", "deletionVectors"), "deletionVectors is in readerFeatures only", True),
    (p(3, 7, "deletionVectors", ""), "deletionVectors concerns readers and is in writerFeatures only", True),
    (p(1, 7, "columnMapping"), "columnMapping concerns readers and is in writerFeatures only", True),
])
def test_an_illegal_protocol_stops_writers_and_only_the_readers_it_leaves_in_doubt(
    protocol: Protocol, told: str, is_readable: bool
) -> None:
    """PROTOCOL.md, "Table Features", "Table Features for New and Existing Tables", "Supported Features"."""
    found = problems(protocol)
    assert told in [problem.what for problem in found]
    assert all(problem.section.anchor for problem in found)
    with pytest.raises(InvalidTable, match=told):
        check_writable(protocol, "t")
    if is_readable:
        check_readable(protocol, "t")
    else:
        with pytest.raises(InvalidTable, match=told):
            check_readable(protocol, "t")


@pytest.mark.parametrize("protocol", [
    p(1, 1), p(1, 2), p(1, 6), p(2, 5), p(1, 7, ""), p(2, 7, "columnMapping identityColumns"),
    p(3, 7, "columnMapping identityColumns", "columnMapping"), p(3, 7, "", ""), p(1, 7, "neverHeardOf"),
    p(3, 7, "collations", "collations"),
])
def test_legal_protocols_have_no_problem(protocol: Protocol) -> None:
    """PROTOCOL.md, "Protocol Evolution": "Some example Delta protocols"."""
    assert problems(protocol) == ()
    check_readable(protocol, "t")


# What versions imply


@pytest.mark.parametrize("reader, writer, implied", [
    (1, 1, ""), (1, 2, WRITER_2), (1, 3, WRITER_3), (1, 4, WRITER_4), (1, 5, WRITER_4),
    (2, 5, f"{WRITER_4} columnMapping"), (2, 6, f"{WRITER_4} columnMapping identityColumns"),
    (1, 6, f"{WRITER_4} identityColumns"), (2, 3, WRITER_3), (2, 2, WRITER_2), (1, 7, ""), (2, 7, ""), (3, 7, ""),
])
def test_legacy_versions_imply_their_features(reader: int, writer: int, implied: str) -> None:
    """PROTOCOL.md, "Writer Version Requirements" and "Reader Version Requirements"."""
    assert set(implicit(p(reader, writer))) == set(implied.split())


def test_all_features_of_1_4_are_assumed_used_when_it_is_upgraded() -> None:
    """PROTOCOL.md, "Table Features for New and Existing Tables": the example of (1, 4)."""
    assert merge(p(1, 4), minimal(["deletionVectors"])) == p(3, 7, f"{WRITER_4} deletionVectors", "deletionVectors")


def test_column_mapping_means_the_same_on_reader_version_2_and_in_the_list_of_version_3() -> None:
    """PROTOCOL.md, "Protocol Evolution": "This example is equivalent to the next one"."""
    by_version = p(2, 7, "columnMapping identityColumns")
    by_list = p(3, 7, "columnMapping identityColumns", "columnMapping")
    assert requirements(by_version) == requirements(by_list)
    assert merge(by_list) == by_version


@pytest.mark.parametrize("protocol, name, is_so", [
    (p(2, 5), "columnMapping", True), (p(1, 5), "columnMapping", False), (p(2, 3), "columnMapping", True),
    (p(3, 7, "typeWidening-preview", "typeWidening-preview"), "typeWidening", True),
    (p(3, 7, "typeWidening", "typeWidening"), "typeWidening-preview", True),
    (p(3, 7, "timestampWithoutTimezone", "timestampWithoutTimezone"), "timestampNtz", True),
    (p(1, 7, "rowTracking"), "deletionVectors", False), (p(1, 7, "odd"), "odd", True),
    (p(3, 7, "deletionVectors", ""), "deletionVectors", True),
])
def test_a_feature_is_supported_under_any_of_its_names(protocol: Protocol, name: str, is_so: bool) -> None:
    """PROTOCOL.md, "Supported Features" and "Reader Requirements for Column Mapping"."""
    assert is_supported(protocol, name) is is_so


# Arithmetic


@pytest.mark.parametrize("names, protocol", [
    ("", p(1, 1)), (WRITER_2, p(1, 2)), (WRITER_3, p(1, 3)), (WRITER_4, p(1, 4)),
    (f"{WRITER_4} columnMapping", p(2, 5)), (f"{WRITER_4} columnMapping identityColumns", p(2, 6)),
    (f"{WRITER_4} identityColumns", p(1, 6)),
    ("appendOnly", p(1, 7, "appendOnly")), ("columnMapping", p(2, 7, "columnMapping")),
    ("rowTracking domainMetadata", p(1, 7, "rowTracking domainMetadata")),
    ("deletionVectors", p(3, 7, "deletionVectors", "deletionVectors")),
    ("columnMapping deletionVectors", p(3, 7, "columnMapping deletionVectors", "columnMapping deletionVectors")),
    ("icebergCompatV2 columnMapping", p(2, 7, "icebergCompatV2 columnMapping")),
    ("DELETIONVECTORS", p(3, 7, "deletionVectors", "deletionVectors")),
])
def test_the_lowest_protocol_for_some_features(names: str, protocol: Protocol) -> None:
    """databricks-table-features.md, "Lowest possible protocol" and "Features by protocol version"."""
    assert minimal(names.split()) == protocol
    assert problems(protocol) == ()


def test_there_is_no_lowest_protocol_for_an_unknown_feature() -> None:
    with pytest.raises(InvalidRequest, match="catalogOwned"):
        minimal(["catalogOwned", "appendOnly"])


@pytest.mark.parametrize("protocol, normal", [
    (p(3, 7, "rowTracking", ""), p(1, 7, "rowTracking")),
    (p(1, 7, WRITER_3), p(1, 3)),
    (p(3, 7, WRITER_2, ""), p(1, 2)),
    (p(1, 7, "appendOnly checkConstraints"), p(1, 7, "appendOnly checkConstraints")),
    (p(3, 7, "", ""), p(1, 1)),
    (p(3, 7, "odd", "odd"), p(3, 7, "odd", "odd")),
    (p(3, 7, "odd", ""), p(1, 7, "odd")),
    (p(3, 7, "collations", "collations"), p(3, 7, "collations", "collations")),
])
def test_lists_become_the_lowest_versions_that_say_the_same_and_nobody_is_excused(protocol: Protocol, normal: Protocol) -> None:
    """databricks-table-features.md, "Lowest possible protocol": "Table features are never removed automatically"."""
    assert merge(protocol) == normal


@pytest.mark.parametrize("protocols, merged", [
    ([p(2, 3)], p(1, 3)), ([p(1, 5)], p(1, 4)), ([p(1, 2), p(1, 4)], p(1, 4)), ([p(1, 5), p(2, 2)], p(1, 4)),
    ([p(2, 5), p(1, 6)], p(2, 6)), ([p(1, 2), p(1, 7, "checkConstraints")], p(1, 3)),
    ([p(1, 2), p(3, 7, "deletionVectors", "deletionVectors")],
     p(3, 7, f"{WRITER_2} deletionVectors", "deletionVectors")),
    ([p(2, 5), p(1, 7, "rowTracking")], p(2, 7, f"{WRITER_4} columnMapping rowTracking")),
    ([], p(1, 1)),
])
def test_a_merged_protocol_supports_what_each_supports(protocols: list[Protocol], merged: Protocol) -> None:
    """PROTOCOL.md, "Table Features for New and Existing Tables"; invalid pairs become the valid one below."""
    assert merge(*protocols) == merged


@pytest.mark.parametrize("protocol", [p(1, 8, ""), p(4, 7, "", "")])
def test_there_is_no_arithmetic_on_versions_of_the_future(protocol: Protocol) -> None:
    for operation in (merge, lambda future: without(future, ["appendOnly"]), lambda future: is_upgrade(p(1, 2), future)):
        with pytest.raises(Unsupported, match="newer than"):
            operation(protocol)


@pytest.mark.parametrize("old, new, is_so", [
    (p(1, 2), p(1, 4), True), (p(1, 4), p(1, 2), False), (p(1, 4), p(1, 7, WRITER_4), True),
    (p(1, 4), p(1, 7, "changeDataFeed"), False), (p(2, 5), p(1, 6), False), (p(1, 5), p(1, 4), True),
    (p(3, 7, "odd", "odd"), p(3, 7, "odd", ""), False),
])
def test_an_upgrade_keeps_every_feature(old: Protocol, new: Protocol, is_so: bool) -> None:
    """PROTOCOL.md, "Supported Features": "Clients must not remove the feature from the `protocol` action"."""
    assert is_upgrade(old, new) is is_so


@pytest.mark.parametrize("old, names, is_protected, new", [
    (p(1, 3), "checkConstraints", False, p(1, 2)),
    (p(1, 3), "invariants", False, p(1, 7, "appendOnly checkConstraints")),
    (p(2, 5), "columnMapping", False, p(1, 4)), (p(2, 5), "columnMapping", True, p(1, 7, f"{WRITER_4} checkpointProtection")),
    (p(3, 7, f"{WRITER_2} deletionVectors v2Checkpoint", "deletionVectors v2Checkpoint"), "deletionVectors v2Checkpoint", False,
     p(1, 2)),
    (p(3, 7, "deletionVectors", "deletionVectors"), "deletionVectors", False, p(1, 1)),
    (p(1, 7, "rowTracking domainMetadata"), "ROWTRACKING", False, p(1, 7, "domainMetadata")),
    (p(1, 2), "", False, p(1, 2)),
])  # fmt: skip
def test_what_is_left_without_some_features_is_the_lowest_protocol_of_the_others(old: Protocol, names: str, is_protected: bool, new: Protocol) -> None:
    """delta-newest.md, "Protocol arithmetic": "dropping invariants from (1,3) -> (1,7,[appendOnly,checkConstraints])"."""
    assert without(old, names.split(), is_protected) == new


@st.composite
def any_protocol(draw: st.DrawFn) -> Protocol:
    """Any protocol that arithmetic is for, legal or not."""
    known = [name for f in FEATURES for name in f.names] + ["odd", "odder"]
    listed = st.none() | st.frozensets(st.sampled_from(known), max_size=6)
    return Protocol(draw(st.integers(1, 3)), draw(st.integers(1, 7)), draw(listed), draw(listed))


@given(any_protocol())
def test_the_lowest_way_of_writing_a_protocol_has_its_features_and_no_higher_version(protocol: Protocol) -> None:
    lowest = merge(protocol)
    assert supported(lowest) == supported(protocol)
    assert merge(lowest) == lowest
    assert not problems(lowest)
    if not problems(protocol):
        assert lowest.min_reader <= protocol.min_reader
        assert lowest.min_writer <= protocol.min_writer


@given(any_protocol(), any_protocol(), any_protocol())
def test_merging_does_not_depend_on_order_or_grouping(a: Protocol, b: Protocol, c: Protocol) -> None:
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge(a, b, c)
    assert merge(a, a) == merge(a)
    assert supported(merge(a, b)) == supported(a) | supported(b)


@given(any_protocol(), st.frozensets(st.sampled_from([name for f in FEATURES for name in f.names])))
def test_nothing_but_what_is_dropped_is_gone(protocol: Protocol, names: frozenset[str]) -> None:
    left = without(protocol, names)
    assert supported(left) == supported(protocol) - names
    assert problems(left) == ()
    assert merge(left) == left


@given(st.frozensets(st.sampled_from([f.name for f in FEATURES])))
def test_the_lowest_protocol_supports_exactly_what_was_asked(names: frozenset[str]) -> None:
    assert supported(minimal(names)) == names
    assert problems(minimal(names)) == ()


# The gate


@pytest.mark.parametrize("protocol", [
    p(1, 8, ""), p(1, 7, "inCommitTimestamp-preview"), p(1, 7, "domainMetadata collations-preview"),
    p(1, 7, "neverHeardOf"), p(3, 7, "deletionVectors liquid", "deletionVectors"),
    p(3, 7, "timestampWithoutTimezone", "timestampWithoutTimezone"),
    p(3, 7, "typeWidening typeWidening-preview", "typeWidening typeWidening-preview"),
    p(3, 7, "variantType variantShredding-preview", "variantType variantShredding-preview"),
    p(3, 7, "vacuumProtocolCheck v2Checkpoint", "vacuumProtocolCheck v2Checkpoint"),
])
def test_reading_needs_only_what_is_asked_of_readers(protocol: Protocol) -> None:
    """PROTOCOL.md, "Table Features": "to read a table, readers must implement [...] all features listed in
    `readerFeatures`"; nothing is said of writerFeatures."""
    check_readable(protocol, "t")


@pytest.mark.parametrize("names, told", [
    ("catalogOwned", "catalogOwned: unknown"), ("neverHeardOf", "neverHeardOf: unknown"),
    ("geospatial", "geospatial: "), ("geospatial-dev", "geospatial-dev: "), ("timestampNanos", "timestampNanos: "),
    ("adaptiveMetadata-preview", "adaptiveMetadata-preview: "),
    ("redirectReaderWriter-preview", "redirectReaderWriter-preview: "),
    ("catalogManaged", "catalogManaged: the table must be read through its catalog"),
    ("catalogOwned-preview", "catalogOwned-preview: the table must be read through its catalog"),
])
def test_a_reader_feature_that_is_not_supported_is_refused_by_name(names: str, told: str) -> None:
    """PROTOCOL.md, "Table Features": "Readers and writers must not ignore table features when they are present"."""
    with pytest.raises(Unsupported) as caught:
        check_readable(p(3, 7, f"{names} appendOnly", names), "lake/t")
    assert caught.value.where == "lake/t"
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(told)


def test_every_feature_that_stands_in_the_way_is_named() -> None:
    names = "geospatial deletionVectors odd"
    with pytest.raises(Unsupported) as caught:
        check_readable(p(3, 7, names, names), "t")
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["geospatial", "odd"]


def test_a_feature_for_readers_is_refused_even_where_only_writers_are_told() -> None:
    """PROTOCOL.md, "Catalog-Managed Tables": readers ask the catalog first."""
    with pytest.raises(Unsupported, match="through its catalog"):
        check_readable(p(1, 7, "catalogManaged inCommitTimestamp"), "t")


def test_a_newer_reader_version_is_refused_by_number() -> None:
    """PROTOCOL.md, "Protocol Evolution": the error instructs "the user to upgrade to a newer protocol version"."""
    with pytest.raises(Unsupported, match=r"reader version 5(.|\n)*blahabl(.|\n)*newer Esker"):
        check_readable(p(5, 7, "columnMapping", "columnMapping blahabl"), "t")


def test_a_newer_writer_version_stops_writing_only() -> None:
    """PROTOCOL.md, "Protocol Evolution": minWriterVersion is what a client needs to *write*."""
    check_readable(p(1, 8, ""), "t")
    with pytest.raises(Unsupported, match="writer version 8"):
        check_writable(p(1, 8, ""), "t")


def test_who_cannot_read_cannot_write() -> None:
    """PROTOCOL.md, "Table Features": writers "must implement and respect all reader features as well"."""
    with pytest.raises(Unsupported, match="cannot read"):
        check_writable(p(3, 7, "geospatial", "geospatial"), "t")


def test_writing_is_refused_feature_by_feature() -> None:
    check_writable(p(1, 4), "t")
    with pytest.raises(Unsupported) as caught:
        check_writable(p(1, 7, "appendOnly collations icebergCompatV3"), "t")
    assert {problem.split(":")[0] for problem in caught.value.problems} == {"collations", "icebergCompatV3"}


# What the table has


def test_requirements_tell_how_the_table_says_it() -> None:
    assert {r.name: (r.scope, r.why) for r in requirements(p(2, 5))}["columnMapping"] == (
        Scope.READ_WRITE, "implied by writer version 5 and reader version 2",
    )
    assert [r.why for r in requirements(p(1, 4))] == ["implied by writer version 4"] * 5
    found = requirements(p(3, 7, "odd rowTracking appendOnly", "odd"))
    assert [(r.name, r.scope, r.why) for r in found] == [
        ("appendOnly", Scope.WRITE, "explicit"), ("rowTracking", Scope.WRITE, "explicit"),
        ("odd", Scope.READ_WRITE, "explicit"),
    ]


def test_presences_have_every_feature_and_the_unknown_names() -> None:
    protocol = p(1, 7, "appendOnly rowTracking domainMetadata odd")
    found = {f.name: f for f in presences(protocol, Facts(configuration={"delta.appendOnly": "true"}))}
    assert found["appendOnly"].presence is Presence.ACTIVE
    assert found["rowTracking"].presence is Presence.SUPPORTED
    assert found["domainMetadata"].required_by == ("rowTracking",)
    assert found["deletionVectors"].presence is Presence.ABSENT
    assert found["odd"].feature is None
    assert found["odd"].presence is Presence.SUPPORTED


def test_a_protocol_prints_as_people_write_it() -> None:
    assert str(p(1, 2)) == "(1, 2)"
    assert str(p(3, 7, "b a", "a")) == "(3, 7, [a], [a, b])"

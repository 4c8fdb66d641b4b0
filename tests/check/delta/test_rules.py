"""Is each rule of the specification found broken where it is, and nowhere else?"""

import json
from decimal import Decimal

import pyarrow as pa
import pytest

import esker
from esker.check.delta.rules import RULES, check_delta
from esker.check.model import MOST, Finding, Rule, Severity, Sighting, findings, worst
from esker.core import types as t
from esker.core.features import Section
from esker.core.types import Array, Field, Json, Struct
from esker.delta.snapshot import Place
from esker.errors import InvalidTable
from tests.check.delta.broken import BROKEN, Build, sound
from tests.delta.handles import place
from tests.delta.tables import (
    Action,
    Log,
    add,
    checkpoint_rows,
    ids,
    inline,
    metadata,
    parquet,
    protocol,
    remove,
    rows,
)


def found(log: Log, deep: bool = True) -> list[Finding]:
    return list(check_delta(Place(log.storage), deep=deep))


def test_rules_have_unique_ids_and_say_what_to_do() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) >= 80
    assert all(rule.says and rule.mend and str(rule.section) for rule in RULES)


def test_a_sound_table_breaks_no_rule() -> None:
    assert found(sound(Log())) == []


def test_each_rule_has_a_table_that_breaks_it() -> None:
    assert {*BROKEN} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule, build, also", [(rule, *case) for rule, case in BROKEN.items()], ids=[*BROKEN])
def test_a_rule_is_found_broken_alone(rule: str, build: Build, also: set[str]) -> None:
    log = Log()
    build(log)
    assert {finding.rule for finding in found(log)} == {rule} | also


def test_deep_rules_are_looked_into_on_demand_only() -> None:
    log = Log()
    BROKEN["data.there"][0](log)
    assert found(log, deep=False) == []


def test_what_keeps_a_rule_from_being_looked_into_is_told() -> None:
    def look(subject: object) -> list[Sighting]:
        raise InvalidTable("no way in", where="there")

    rule = Rule("a", Severity.NOTICE, Section("spec"), "says", "mend", look)
    assert [(f.where, f.what) for f in findings([rule], object())] == [("there", "cannot be looked into: no way in")]


def test_many_places_are_counted_rather_than_told() -> None:
    rule: Rule[object] = Rule("a", Severity.NOTICE, Section("spec"), "says", "mend", lambda subject: [Sighting(str(i), "x") for i in range(MOST + 5)])
    told = list(findings([rule], object()))
    assert len(told) == MOST + 1
    assert told[-1].what == "and at 5 more places"


def test_the_worst_finding_counts() -> None:
    log = Log()
    BROKEN["log.gap"][0](log)
    assert worst(found(log)) is Severity.ERROR
    assert worst([]) is None


APPEND_ONLY = metadata(delta__appendOnly="true")
EARLIEST = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 1}}


@pytest.mark.parametrize(
    "commits, at",
    [
        ([[protocol(), APPEND_ONLY], [add("a.parquet")], [remove("a.parquet")]], ["version 2"]),
        ([[protocol(), APPEND_ONLY], [add("a.parquet")], [metadata(), remove("a.parquet")]], ["version 2"]),
        ([[protocol(), metadata()], [add("a.parquet")], [APPEND_ONLY, remove("a.parquet"), add("b.parquet")]], []),
        ([[EARLIEST, APPEND_ONLY], [add("a.parquet")], [remove("a.parquet")]], []),
        ([[EARLIEST, APPEND_ONLY], [protocol(), add("a.parquet")], [remove("a.parquet")]], ["version 2"]),
    ],
    ids=["it is on", "the entry turns it off", "the entry turns it on", "no version has it", "a later version has it"],
)
def test_a_table_is_append_only_as_an_entry_finds_it_and_where_the_protocol_says_so(commits: list[list[Action]], at: list[str]) -> None:
    """Append-only Tables: "When supported, and if the table has a property `delta.appendOnly` set to `true`"."""
    log = Log()
    for actions in commits:
        log.commit(*actions)
    assert [finding.where for finding in found(log, deep=False) if finding.rule == "commit.append-only"] == at


def test_a_log_that_was_cleaned_up_is_append_only_as_its_checkpoint_says() -> None:
    """Append-only Tables, where the metadata is in the checkpoint alone."""
    log = Log().start(delta__appendOnly="true")
    log.commit(add("a.parquet"))
    log.checkpoint(1, [protocol(), APPEND_ONLY, add("a.parquet")])
    log.commit(remove("a.parquet"))
    for version in (0, 1):
        log.storage.delete(f"_delta_log/{version:020}.json")
    assert "commit.append-only" in {finding.rule for finding in found(log, deep=False)}


def test_a_float_that_became_a_double_lies_within_the_bounds_that_its_text_stands_for() -> None:
    """Type Widening: the bounds were written of floats, and 3.4 as a float is above 3.4 as a double."""
    changes: list[Json] = [{"fromType": "float", "toType": "double"}]
    schema = Struct((Field("x", t.DOUBLE, metadata={"delta.typeChanges": changes}),))
    log = Log()
    stats = {"numRecords": 1, "minValues": {"x": 3.4}, "maxValues": {"x": 3.4}, "nullCount": {"x": 0}}
    log.start(schema, log.data("a.parquet", pa.table({"x": pa.array([3.4], pa.float32())}), stats=stats), features=["typeWidening"])
    assert found(log) == []


COUNTED = {"numRecords": 3, "minValues": {"id": 2}, "maxValues": {"id": 2}}


@pytest.mark.parametrize(
    "values, dead, stats, rules",
    [
        ([1, 2, 3], (0, 2), {"nullCount": {"id": 0}}, []),
        ([1, 2, 3], (0,), {"nullCount": {"id": 0}}, ["data.bounds"]),
        ([None, 2, None], (0,), {"nullCount": {"id": 1}}, []),
        ([None, 2, None], (0,), {"nullCount": {"id": 2}}, ["data.null-count"]),
        ([None, 2, None], (0,), {"nullCount": {"id": 2}, "tightBounds": False}, []),
        ([None, 2, None], (0, 2), {"nullCount": {"id": 0}, "tightBounds": False}, []),
        ([None, 2, None], (0,), {"nullCount": {"id": 0}, "tightBounds": False}, ["data.null-count"]),
        ([None, 2, None], (1,), {"nullCount": {"id": 3}, "tightBounds": False}, []),
        ([None, 2, None], (0,), {"nullCount": {"id": 3}, "tightBounds": False}, ["data.null-count"]),
    ],
)  # fmt: skip
def test_statistics_are_of_the_rows_that_a_vector_leaves(
    values: list[int | None], dead: tuple[int, ...], stats: dict[str, object], rules: list[str]
) -> None:
    """Per-file Statistics: bounds and null counts are of valid values, and a wide null count says something at two values only."""
    log = Log().start(features=["deletionVectors"])
    log.commit(log.data("a.parquet", rows(id=values), stats=COUNTED | stats, dv=inline(*dead)))
    assert [finding.rule for finding in found(log)] == rules


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_statistics_that_a_checkpoint_has_as_a_struct_say_what_the_commits_say(policy: str) -> None:
    """Checkpoints: `delta.checkpoint.writeStatsAsJson` and `...AsStruct` choose the form, which leaves out what was not recorded."""
    properties = {"writeStatsAsJson": "false", "writeStatsAsStruct": "true"}
    made = esker.create(
        place(), "id bigint, name string, at timestamp, x double, d decimal(10, 2), s struct<a: bigint>, b binary",
        properties={f"delta.checkpoint.{key}": text for key, text in properties.items()} | {"delta.checkpointPolicy": policy},
    )  # fmt: skip
    made.append(pa.table({
        "id": [1, 2], "name": ["n" * 40, None], "at": pa.array([-1, 1_001], pa.timestamp("us", "UTC")), "x": [0.1, float("nan")],
        "d": pa.array([Decimal("1.25"), None], pa.decimal128(10, 2)), "s": [{"a": 1}, None], "b": [b"x", None],
    }))  # fmt: skip
    made.checkpoint()
    assert made.check(deep=True) == ()


@pytest.mark.parametrize("told, is_other", [({"id": 3}, False), ({"id": 4}, True), ({"id": None}, False)])
def test_statistics_that_a_checkpoint_has_as_another_struct_are_found(told: dict[str, int | None], is_other: bool) -> None:
    """Action Reconciliation: what a checkpoint says of a file is what its commit says."""
    log = Log().start()
    log.commit(log.data("a.parquet", ids(1, 2, 3), stats=COUNTED | {"minValues": {"id": 1}, "maxValues": {"id": 3}}))
    (body,) = (json.loads(line) for line in log.storage.read(f"_delta_log/{1:020}.json").splitlines())
    parsed = pa.struct([("numRecords", pa.int64()), ("maxValues", pa.struct([("id", pa.int64())]))])
    file = {key: value for key, value in body["add"].items() if key != "stats"} | {"stats_parsed": {"numRecords": 3, "maxValues": told}}
    log.put(f"{1:020}.checkpoint.parquet", parquet(checkpoint_rows([protocol(), metadata(), {"add": file}], parsed)))
    assert ("checkpoint.contents" in {finding.rule for finding in found(log)}) is is_other


@pytest.mark.parametrize("retention, is_found", [({}, True), ({"delta__setTransactionRetentionDuration": "interval 1 day"}, False)])
def test_a_checkpoint_forgets_an_application_only_where_its_progress_expires(retention: dict[str, str], is_found: bool) -> None:
    """Action Reconciliation: the newest txn of each application is part of the state."""
    log = Log().start(**retention)
    log.commit({"txn": {"appId": "app", "version": 1}})
    log.checkpoint(1, [protocol(), metadata(**retention)])
    assert ("checkpoint.contents" in {finding.rule for finding in found(log)}) is is_found


@pytest.mark.parametrize("before, is_found", [(["c1"], True), (["c1", "c2"], False)])
def test_statistics_know_no_column_that_a_mapped_table_never_had(before: list[str], is_found: bool) -> None:
    """Column Mapping: files keep the physical names of columns that were dropped, and of no others."""
    settings = {"delta__columnMapping__mode": "name", "delta__columnMapping__maxColumnId": "2"}
    fields = [Field(f"n{i}", t.LONG, metadata={"delta.columnMapping.id": i, "delta.columnMapping.physicalName": f"c{i}"}) for i in (1, 2)]
    log = Log().start(Struct(tuple(fields[: len(before)])), features=["columnMapping"], **settings)
    log.commit(add("a.parquet", stats={"numRecords": 1, "nullCount": {"c1": 0, "c2": 0}}))
    log.commit(metadata(Struct((fields[0],)), **settings))
    assert ("file.statistics-columns" in {finding.rule for finding in found(log, deep=False)}) is is_found


MAPPED = ["columnMapping", "invariants", "appendOnly", "checkConstraints", "changeDataFeed", "generatedColumns"]


@pytest.mark.parametrize(
    "before, after, is_found",
    [
        (protocol(*MAPPED, reader=2), protocol(reader=2, writer=5), False),
        (protocol(*MAPPED, reader=2), protocol(reader=2, writer=4), True),
        (protocol("deletionVectors", "invariants", "appendOnly"), protocol("deletionVectors", "appendOnly"), True),
        (protocol("deletionVectors", "invariants", "appendOnly"), protocol(), True),
        (protocol(writer=2), protocol("invariants", "appendOnly"), False),
        (protocol(writer=8), protocol(writer=7, listed=True), True),
    ],
)
def test_a_protocol_may_say_the_same_by_lower_versions_and_no_less(before: Action, after: Action, is_found: bool) -> None:
    """Table Features for New and Existing Tables: a legacy version stands for the features that it implies."""
    log = Log()
    for actions in ([before, metadata()], [add("a.parquet")], [after]):
        log.commit(*actions)
    assert ("commit.protocol-falls" in {finding.rule for finding in found(log, deep=False)}) is is_found


def numbered(name: str, number: int, physical: str, kind: t.Type = t.LONG, **told: Json) -> Field:
    return Field(name, kind, metadata={"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical, **told})


ONE, TWO = numbered("a", 1, "c1"), numbered("b", 2, "c2")
WIDENED: Json = [{"fromType": "integer", "toType": "long"}]


@pytest.mark.parametrize(
    "before, after, info, rules",
    [
        ((ONE, TWO), (TWO, numbered("z", 1, "c1")), {}, []),
        ((ONE, TWO), (ONE,), {}, []),
        ((ONE,), (ONE, numbered("b", 3, "c3")), {}, []),
        ((ONE,), (ONE, TWO), {}, ["evolution.mapping"]),
        ((ONE, TWO), (ONE, numbered("b", 2, "c9")), {}, ["evolution.mapping"]),
        ((ONE, TWO), (ONE, numbered("b", 2, "c9")), {"operation": "REPLACE TABLE"}, []),
        ((numbered("a", 1, "c1", t.INTEGER),), (numbered("a", 1, "c1", **{"delta.typeChanges": WIDENED}),), {}, []),
        ((numbered("a", 1, "c1", t.DATE),), (ONE,), {}, ["evolution.types"]),
        ((numbered("a", 1, "c1", t.BYTE),), (numbered("a", 1, "c1", t.INTEGER),), {}, []),
        ((numbered("a", 1, "c1", t.VOID),), (ONE,), {}, []),
        ((numbered("a", 1, "c1", Array(t.DATE)),), (numbered("a", 1, "c1", Array(t.LONG)),), {}, ["evolution.types"]),
        ((numbered("a", 1, "c1", Struct((TWO,))),), (numbered("a", 1, "c1", Struct((numbered("y", 2, "c2", t.DATE),))),), {}, ["evolution.types"]),
    ],
)  # fmt: skip
def test_metadata_goes_on_to_hold_for_the_files_that_are_there(
    before: tuple[Field, ...], after: tuple[Field, ...], info: dict[str, Json], rules: list[str]
) -> None:
    """Column Mapping, Type Widening: columns are renamed, dropped, added and widened, and files stay as they are."""
    settings = {"delta__columnMapping__mode": "name", "delta__columnMapping__maxColumnId": "2"}
    log = Log().start(Struct(before), features=["columnMapping", "typeWidening"], **settings)
    log.commit({"commitInfo": {"timestamp": 1, **info}}, metadata(Struct(after), **settings | {"delta__columnMapping__maxColumnId": "3"}))
    assert [finding.rule for finding in found(log) if finding.rule.startswith("evolution")] == rules


@pytest.mark.parametrize(
    "kind, told",
    [
        ({"type": "array", "elementType": "long", "containsNull": False}, []),
        ({"type": "array", "elementType": "long"}, ["in the field x an array has no containsNull"]),
        ({"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}, []),
        ({"type": "map", "keyType": "string", "valueType": "long"}, ["in the field x a map has no valueContainsNull"]),
        ({"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "long"}, "valueContainsNull": True},
         ["in the field x an array has no containsNull"]),
    ],
)  # fmt: skip
def test_arrays_and_maps_say_whether_they_hold_nulls(kind: dict[str, Json], told: list[str]) -> None:
    """Array Type, Map Type: `containsNull` and `valueContainsNull` are among their fields."""
    fields: Json = [{"name": "x", "type": kind, "nullable": True, "metadata": {}}]
    log = Log()
    log.commit(protocol(), {"metaData": metadata()["metaData"] | {"schemaString": json.dumps({"type": "struct", "fields": fields})}})
    assert [finding.what for finding in found(log)] == told

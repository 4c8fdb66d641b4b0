"""Which kinds of tables meet which operations?

`CASES` are kinds of tables, one or more for each feature of the protocol that writers must honour. All have the columns `id`,
`name` and `part`, and some of their own. `operations` are what is done to each of them, each in three forms: as Esker does it, as
delta-spark does it, and what it does to rows in plain Python.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import esker

Rows: TypeAlias = dict[int, tuple[str, int]]
"""The name and the part of each id."""


@dataclass(frozen=True)
class Case:
    """A kind of table, made by Esker and by delta-spark, where `makers` does not say that by one of them is enough.

    `given` are the columns besides the first three that writers give, with an expression over `id`; others are computed.
    `holds` are conditions that are true of each row. `refused` are expressions for `id` that make a row which no writer may
    take. `uses` are features that the table supports once it is made, `asks` those of them that it gets by name only.
    `after` is what delta-spark does to make the table. `altered` is what Esker changes about it.
    `needs_spark` tells that Arrow rows cannot be appended. `stranger` is how deltalake words that it cannot read the table,
    `unread_by_kernel` how delta-kernel does.
    """

    name: str
    makers: tuple[str, ...] = ("esker", "delta-spark")
    columns: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    holds: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_append_only: bool = False
    has_changes: bool = False
    has_row_ids: bool = False
    by_time: bool = False
    after: tuple[str, ...] = ()
    altered: tuple["Operation", ...] = ()
    needs_spark: bool = False
    stranger: str | None = None
    unread_by_kernel: str | None = None

    def made_by_esker(self, path: str) -> esker.Table:
        return esker.create(
            path, self._columns(), partition_by=self.partition_by, cluster_by=self.cluster_by, features=self.asks,
            properties=self.properties, constraints=self.constraints,
        )  # fmt: skip

    def made_by_peer(self) -> list[str]:
        """The statements that make the table, a version each."""
        features = {f"delta.feature.{name}": "supported" for name in self.asks}
        properties = ", ".join(f"'{key}' = '{text}'" for key, text in {**self.properties, **features}.items())
        parts = [f"CREATE TABLE {{t}} ({self._columns()}) USING delta"]
        parts += [f"PARTITIONED BY ({', '.join(self.partition_by)})"] if self.partition_by else []
        parts += [f"CLUSTER BY ({', '.join(self.cluster_by)})"] if self.cluster_by else []
        parts += [f"TBLPROPERTIES ({properties})"] if properties else []
        constraints = (f"ALTER TABLE {{t}} ADD CONSTRAINT {name} CHECK ({sql})" for name, sql in self.constraints.items())
        return [" ".join(parts), *constraints, *self.after]

    def query(self, start: int, stop: int, tag: str, where: str = "true") -> str:
        """The rows from one id to another, as writers give them, from two tasks."""
        return f"SELECT {self.values('id', tag)} FROM range({start}, {stop}, 1, 2) WHERE {where}"

    def values(self, id: str, tag: str) -> str:
        """What writers give for an id, as a list of expressions."""
        values = {"id": "{id}", "name": f"concat('{tag}', {{id}})", "part": "{id} % 3", **self.given}
        return ", ".join(f"{text.replace('{id}', id)} AS {name}" for name, text in values.items())

    @property
    def names(self) -> list[str]:
        return ["id", "name", "part", *self.given]

    def _columns(self) -> str:
        return "id LONG, name STRING, part LONG" + (f", {self.columns}" if self.columns else "")


@dataclass(frozen=True)
class Operation:
    """Something done to a table. `effect` gives the rows afterwards and the ids of those updated."""

    name: str
    by_esker: Callable[[esker.Table, Any], object]
    by_peer: Any
    effect: Callable[[Rows], tuple[Rows, set[int]]]
    only_adds: bool = False
    is_arrow: bool = False
    replaces: bool = False
    goes_back: int = 0
    """As many steps as the table is taken back."""


def rows(ids: Iterable[int], tag: str) -> Rows:
    return {id: (f"{tag}{id}", id % 3) for id in ids}


def esker_turn(case: Case, first: int, is_maker: bool) -> list[Operation]:
    """What Esker does to a table, with ids from `first` on; more to one that it made."""
    if case.altered:
        return [append(case, first), update(), *case.altered, delete(), merge(case, first), append_arrow(case, first), optimize()]
    if not is_maker:
        return [append(case, first), update(), delete(), merge(case, first), overwrite_where(case, first), optimize()]
    overwrites = [
        overwrite_where(case, first),
        *([overwrite_partitions(case, first)] if case.partition_by == ("part",) else []),
        overwrite(case, first),
    ]  # fmt: skip
    return [
        append(case, first), update(), delete(), merge(case, first), *overwrites, append_arrow(case, first), delete_part(),
        optimize(), restore(len(overwrites) + 3), vacuum(),
    ]  # fmt: skip


def peer_turn(case: Case, first: int) -> list[Operation]:
    """What delta-spark does to a table, with ids from `first` on: enough to see that it can go on with it."""
    return [append(case, first), delete(), merge(case, first)]


def append(case: Case, first: int) -> Operation:
    query = case.query(first, first + 20, "n")
    return Operation(
        "append", lambda table, spark: table.append(spark.sql(query)),
        f"INSERT INTO {{t}} ({', '.join(case.names)}) {query}",
        lambda before: ({**before, **rows(range(first, first + 20), "n")}, set()), only_adds=True,
    )  # fmt: skip


def append_arrow(case: Case, first: int) -> Operation:
    query = case.query(first + 60, first + 75, "a")
    return Operation(
        "append from Arrow", lambda table, spark: table.append(spark.sql(query).toArrow()), ["write", query, "append", {}],
        lambda before: ({**before, **rows(range(first + 60, first + 75), "a")}, set()), only_adds=True, is_arrow=True,
    )  # fmt: skip


def update() -> Operation:
    def effect(before: Rows) -> tuple[Rows, set[int]]:
        touched = {id for id in before if id % 4 == 0}
        return {id: (name.upper() if id in touched else name, part) for id, (name, part) in before.items()}, touched

    return Operation(
        "update", lambda table, spark: table.update({"name": "upper(name)"}, "id % 4 = 0", spark=spark),
        "UPDATE {t} SET name = upper(name) WHERE id % 4 = 0", effect,
    )  # fmt: skip


def delete() -> Operation:
    where = "id % 20 BETWEEN 5 AND 8"
    return Operation(
        "delete", lambda table, spark: table.delete(where, spark=spark), f"DELETE FROM {{t}} WHERE {where}",
        lambda before: ({id: row for id, row in before.items() if not 5 <= id % 20 <= 8}, set()),
    )  # fmt: skip


def delete_part() -> Operation:
    """Where the table is partitioned by it, whole files go."""
    return Operation(
        "delete a part", lambda table, spark: table.delete("part = 1", spark=spark), "DELETE FROM {t} WHERE part = 1",
        lambda before: ({id: row for id, row in before.items() if row[1] != 1}, set()),
    )  # fmt: skip


def merge(case: Case, first: int) -> Operation:
    """Of ten source rows, one deletes, others update what they match, and the rest are added."""
    gone, source = first + 15, range(first + 15, first + 25)
    query = case.query(source.start, source.stop, "m")

    def by_esker(table: esker.Table, spark: Any) -> None:
        (table.merge(spark.sql(query), "target.id = source.id", spark=spark)
            .when_matched_delete(f"source.id = {gone}")
            .when_matched_update({"name": "source.name"})
            .when_not_matched_insert({name: f"source.{name}" for name in case.names})
            .execute())  # fmt: skip

    def effect(before: Rows) -> tuple[Rows, set[int]]:
        updated = {id for id in source if id in before and id != gone}
        kept = {id: row for id, row in before.items() if id != gone}
        return {**kept, **rows((id for id in source if id not in before or id in updated), "m")}, updated

    return Operation(
        "merge", by_esker,
        f"""MERGE INTO {{t}} AS target USING ({query}) AS source ON target.id = source.id
            WHEN MATCHED AND source.id = {gone} THEN DELETE WHEN MATCHED THEN UPDATE SET name = source.name
            WHEN NOT MATCHED THEN INSERT ({', '.join(case.names)}) VALUES ({', '.join(f'source.{n}' for n in case.names)})""",
        effect,
    )  # fmt: skip


def overwrite_where(case: Case, first: int) -> Operation:
    query = case.query(first + 30, first + 40, "w", "id % 3 = 2")

    def effect(before: Rows) -> tuple[Rows, set[int]]:
        kept = {id: row for id, row in before.items() if row[1] != 2}
        return {**kept, **rows((id for id in range(first + 30, first + 40) if id % 3 == 2), "w")}, set()

    return Operation(
        "overwrite where", lambda table, spark: table.overwrite(spark.sql(query), where="part = 2", spark=spark),
        ["write", query, "overwrite", {"replaceWhere": "part = 2"}], effect, replaces=True,
    )  # fmt: skip


def overwrite_partitions(case: Case, first: int) -> Operation:
    query = case.query(first + 40, first + 46, "d", "id % 3 = 0")

    def effect(before: Rows) -> tuple[Rows, set[int]]:
        kept = {id: row for id, row in before.items() if row[1] != 0}
        return {**kept, **rows((id for id in range(first + 40, first + 46) if id % 3 == 0), "d")}, set()

    return Operation(
        "overwrite partitions", lambda table, spark: table.overwrite(spark.sql(query), dynamic=True, spark=spark),
        ["write", query, "overwrite", {"partitionOverwriteMode": "dynamic"}], effect,
    )  # fmt: skip


def overwrite(case: Case, first: int) -> Operation:
    query = case.query(first + 50, first + 60, "o")
    return Operation(
        "overwrite", lambda table, spark: table.overwrite(spark.sql(query)), ["write", query, "overwrite", {}],
        lambda before: (rows(range(first + 50, first + 60), "o"), set()), replaces=True,
    )  # fmt: skip


def restore(steps: int) -> Operation:
    """To where the table was so many steps ago."""
    return Operation("restore", _not_known_yet, None, _nothing, replaces=True, goes_back=steps)


def optimize() -> Operation:
    return Operation("optimize", lambda table, spark: table.optimize(spark=spark), None, _nothing, only_adds=True)


def vacuum() -> Operation:
    """No file is old enough to go."""
    return Operation("vacuum", lambda table, spark: table.vacuum(), None, _nothing, only_adds=True)


def alter(name: str, by_esker: Callable[[esker.Table], object]) -> Operation:
    """A change that leaves all rows as they are."""
    return Operation(name, lambda table, spark: by_esker(table), None, _nothing, only_adds=True)


def enable(properties: Mapping[str, str]) -> Operation:
    return alter(f"set {', '.join(properties)}", lambda table: table.set_properties(properties))


def fill(**values: str) -> Operation:
    """Set other columns than the first three, in all rows."""
    return Operation(
        "fill", lambda table, spark: table.update(values, spark=spark), None, lambda before: (before, set(before))
    )


def _not_known_yet(table: esker.Table, spark: Any) -> None:
    raise AssertionError("which version is meant depends on the steps before")


def _nothing(before: Rows) -> tuple[Rows, set[int]]:
    return before, set()


VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKING = {"delta.enableRowTracking": "true"}
BY_NAME = {"delta.columnMapping.mode": "name"}
BY_ID = {"delta.columnMapping.mode": "id"}
NESTED = {
    "s": "named_struct('x', INT({id}), 'y', named_struct('z', concat('z', {id})))",
    "l": "array({id}, null)",
    "m": "map('k', named_struct('v', {id}))",
}
NESTED_COLUMNS = "s STRUCT<x: INT, y: STRUCT<z: STRING>>, l ARRAY<LONG>, m MAP<STRING, STRUCT<v: LONG>>"
NESTED_HOLDS = ("s.x = id", "s.y.z = concat('z', id)", "l[0] = id AND l[1] IS NULL", "m['k'].v = id")
TYPES = {
    "a_byte": "CAST({id} % 100 AS BYTE)", "a_short": "CAST({id} AS SHORT)", "an_int": "INT({id})", "a_float": "FLOAT({id} / 2)",
    "a_double": "DOUBLE({id} / 2)", "a_decimal": "CAST({id} AS DECIMAL(10, 2))",
    "a_wide_decimal": "CAST({id} AS DECIMAL(38, 18))", "a_binary": "CAST(concat('b', {id}) AS BINARY)",
    "a_boolean": "{id} % 2 = 0", "a_date": "date_add(DATE'1899-12-31', INT({id}))",
    "a_timestamp": "timestamp_micros({id} * 86400000001)",
}  # fmt: skip


def _legacy(reader: int, writer: int, **case: Any) -> Case:
    """A table whose protocol is a pair of versions, which only delta-spark writes down where less would do."""
    versions = {"delta.minReaderVersion": str(reader), "delta.minWriterVersion": str(writer)}
    return Case(f"protocol {reader},{writer}", ("delta-spark",), **{**case, "properties": {**versions, **case.get("properties", {})}})


CASES = (
    Case("plain"),
    Case("partitioned", partition_by=("part",)),
    _legacy(1, 1),
    _legacy(1, 2),
    _legacy(1, 3, constraints={"positive": "id >= 0"}, refused=("-1L",)),
    _legacy(1, 4, properties=FEED, has_changes=True),
    _legacy(2, 5, properties=BY_NAME),
    _legacy(1, 6),
    _legacy(2, 6, properties={**BY_NAME, **FEED}, has_changes=True),
    Case("appendOnly", properties={"delta.appendOnly": "true"}, uses=("appendOnly",), is_append_only=True),
    Case("invariants", columns="n LONG NOT NULL", given={"n": "nullif({id}, -1)"}, holds=("n = id",), uses=("invariants",),
         refused=("-1L",)),
    Case("checkConstraints", constraints={"positive": "id >= 0", "named": "name IS NOT NULL AND length(name) < 9"},
         uses=("checkConstraints",), refused=("-1L", "123456789L"), needs_spark=True),
    Case("generatedColumns", columns="twice LONG GENERATED ALWAYS AS (id * 2), day DATE GENERATED ALWAYS AS (date_add(DATE'2024-01-01', CAST(id AS INT)))",
         holds=("twice = id * 2", "day = date_add(DATE'2024-01-01', INT(id))"), uses=("generatedColumns",), needs_spark=True),
    Case("generatedColumns in partitions", makers=("esker",), columns="bucket LONG GENERATED ALWAYS AS (id % 2)", partition_by=("bucket",),
         holds=("bucket = id % 2",), uses=("generatedColumns",), needs_spark=True),
    Case("allowColumnDefaults", columns="note STRING DEFAULT 'none', n INT DEFAULT 7", holds=("note = 'none'", "n = 7"),
         asks=("allowColumnDefaults",), uses=("allowColumnDefaults",)),
    Case("identityColumns", columns="n LONG GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), o LONG GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY -1)",
         holds=("n >= 10 AND n % 5 = 0", "o = 1 OR o <= 0"), uses=("identityColumns",)),
    Case("changeDataFeed", properties=FEED, uses=("changeDataFeed",), has_changes=True),
    Case("changeDataFeed in partitions", makers=("esker",), properties=FEED, partition_by=("part",), uses=("changeDataFeed",), has_changes=True),
    Case("changeDataFeed with deletionVectors", properties={**FEED, **VECTORS}, uses=("changeDataFeed", "deletionVectors"), has_changes=True),
    Case("columnMapping by name", columns=NESTED_COLUMNS, given=NESTED, holds=NESTED_HOLDS, properties=BY_NAME, uses=("columnMapping",)),
    Case("columnMapping by id", columns=NESTED_COLUMNS, given=NESTED, holds=NESTED_HOLDS, properties=BY_ID, uses=("columnMapping",)),
    Case("columnMapping in partitions", properties={**BY_NAME, **FEED}, partition_by=("part",), uses=("columnMapping",), has_changes=True),
    Case("deletionVectors", properties=VECTORS, uses=("deletionVectors",)),
    Case("deletionVectors in partitions", makers=("esker",), properties=VECTORS, partition_by=("part",), uses=("deletionVectors",)),
    Case("rowTracking", properties=TRACKING, uses=("rowTracking", "domainMetadata"), has_row_ids=True),
    Case("rowTracking with deletionVectors", properties={**TRACKING, **VECTORS}, uses=("rowTracking", "deletionVectors"), has_row_ids=True),
    Case("rowTracking with columnMapping", properties={**TRACKING, **BY_ID}, partition_by=("part",), uses=("rowTracking", "columnMapping"), has_row_ids=True),
    Case("timestampNtz", columns="at TIMESTAMP_NTZ", given={"at": "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' + make_dt_interval(INT({id}))"},
         holds=("at = TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' + make_dt_interval(INT(id))",), uses=("timestampNtz",)),
    Case("domainMetadata", makers=("esker",), asks=("domainMetadata",), uses=("domainMetadata",)),
    Case("v2Checkpoint", properties={"delta.checkpointPolicy": "v2", **VECTORS}, partition_by=("part",), uses=("v2Checkpoint",)),
    Case("clustering", cluster_by=("part", "name"), uses=("clustering", "domainMetadata")),
    Case("clustering with columnMapping", cluster_by=("name",), properties={**BY_NAME, **VECTORS}, uses=("clustering", "columnMapping")),
    Case("inCommitTimestamp", properties={"delta.enableInCommitTimestamps": "true", **FEED}, uses=("inCommitTimestamp",), by_time=True, has_changes=True),
    Case("vacuumProtocolCheck", makers=("esker",), asks=("vacuumProtocolCheck",), uses=("vacuumProtocolCheck",),
         stranger="Unsupported table features required: .VacuumProtocolCheck"),
    Case("icebergCompatV1", properties={**BY_NAME, "delta.enableIcebergCompatV1": "true"}, uses=("icebergCompatV1", "columnMapping")),
    Case("icebergCompatV2", columns="s STRUCT<x: INT>", given={"s": "named_struct('x', INT({id}))"}, holds=("s.x = id",), partition_by=("part",),
         properties={**BY_NAME, "delta.enableIcebergCompatV2": "true"}, uses=("icebergCompatV2", "columnMapping")),
    Case("typeWidening", columns="n SHORT", given={"n": "CAST({id} AS SHORT)"}, holds=("n = id",), properties={"delta.enableTypeWidening": "true"},
         uses=("typeWidening",), after=("INSERT INTO {t} VALUES (1000, 'narrow', 1, 1000)", "ALTER TABLE {t} ALTER COLUMN n TYPE INT"), stranger="Unsupported table features required: .TypeWidening"),
    Case("variantType", columns="v VARIANT", given={"v": "parse_json(concat('{\"a\": ', {id}, '}'))"}, holds=("to_json(v) = concat('{\"a\":', id, '}')",),
         properties=VECTORS, uses=("variantType",)),
    Case("variantShredding", makers=("esker",), columns="v VARIANT", given={"v": "parse_json(concat('{\"a\": ', {id}, '}'))"}, holds=("to_json(v) = concat('{\"a\":', id, '}')",),
         properties={"delta.enableVariantShredding": "true"}, uses=("variantShredding",),
         stranger="Unsupported table features required: .VariantShredding(Preview)?.", unread_by_kernel="'variantShredding' is not supported"),
    Case("variantShredding by its name in preview", makers=("delta-spark",), columns="v VARIANT", given={"v": "parse_json(concat('{\"a\": ', {id}, '}'))"}, holds=("to_json(v) = concat('{\"a\":', id, '}')",),
         properties={"delta.enableVariantShredding": "true"}, uses=("variantShredding-preview",),
         stranger="Unsupported table features required: .VariantShredding(Preview)?."),
    Case("checkpointProtection", properties=VECTORS, asks=("checkpointProtection",), uses=("checkpointProtection",)),
    Case("every type", makers=("esker",), columns="a_byte BYTE, a_short SHORT, an_int INT, a_float FLOAT, a_double DOUBLE, a_decimal DECIMAL(10, 2), a_wide_decimal DECIMAL(38, 18), "
         "a_binary BINARY, a_boolean BOOLEAN, a_date DATE, a_timestamp TIMESTAMP", given=TYPES,
         holds=tuple(f"{name} = ({text.replace('{id}', 'id')})" for name, text in TYPES.items())),
    Case("partitioned by every type", columns="a_byte BYTE, a_short SHORT, an_int INT, a_float FLOAT, a_double DOUBLE, a_decimal DECIMAL(10, 2), a_wide_decimal DECIMAL(38, 18), "
         "a_binary BINARY, a_boolean BOOLEAN, a_date DATE, a_timestamp TIMESTAMP", given={name: text.replace("{id}", "({id} % 2)") for name, text in TYPES.items()},
         partition_by=tuple(TYPES), holds=tuple(f"{name} = ({text.replace('{id}', '(id % 2)')})" for name, text in TYPES.items())),
    Case("columns altered", makers=("esker",), columns="a INT, b STRING", partition_by=("part",), uses=("appendOnly",), altered=(
        alter("add columns", lambda t: t.add_columns("more STRING COMMENT 'more', s STRUCT<y: INT>")),
        alter("add a member", lambda t: t.add_columns("z STRING", parent="s")),
        alter("add first", lambda t: t.add_columns("f DOUBLE", after="id")),
        alter("move", lambda t: t.move_column("b", after="id")), alter("comment", lambda t: t.set_column_comment("a", "an a")),
        fill(more="name", a="INT(id)", s="named_struct('y', INT(id), 'z', name)"))),
    *(
        Case(f"columns altered with columnMapping by {mode}", columns="a INT, b STRING, s STRUCT<x: INT, w: INT>, l ARRAY<STRUCT<x: INT>>", uses=("columnMapping",),
             properties={"delta.columnMapping.mode": mode, **VECTORS}, altered=(
            fill(a="INT(id)", b="name", s="named_struct('x', INT(id), 'w', 1)", l="array(named_struct('x', INT(id)))"),
            alter("rename", lambda t: t.rename_column("a", "the a")), alter("rename a member", lambda t: t.rename_column("s.x", "z")),
            alter("rename in an array", lambda t: t.rename_column("l.element.x", "y")), alter("drop", lambda t: t.drop_columns("b", "s.w")),
            alter("add again", lambda t: t.add_columns("b LONG, a STRING")), fill(b="id", a="name")))
        for mode in ("name", "id")
    ),
    Case("types widened", columns="n SHORT, f FLOAT, d DECIMAL(5, 2), l ARRAY<SHORT>, m MAP<BYTE, INT>, s STRUCT<x: INT>", uses=("typeWidening",),
         given={"n": "CAST({id} AS SHORT)", "f": "FLOAT({id})", "d": "CAST({id} AS DECIMAL(5, 2))", "l": "array(CAST({id} AS SHORT))", "m": "map(CAST(1 AS BYTE), INT({id}))", "s": "named_struct('x', INT({id}))"},
         holds=("n = id", "f = id", "d = id", "l[0] = id", "m[1] = id", "s.x = id"), properties={"delta.enableTypeWidening": "true", **VECTORS},
         altered=(alter("widen", lambda t: t.change_type("n", "INT")), alter("widen again", lambda t: t.change_type("n", "BIGINT")),
                  alter("widen a float", lambda t: t.change_type("f", "DOUBLE")), alter("widen a decimal", lambda t: t.change_type("d", "DECIMAL(12, 4)")),
                  alter("widen elements", lambda t: t.change_type("l.element", "INT")), alter("widen keys", lambda t: t.change_type("m.key", "INT")),
                  alter("widen a member", lambda t: t.change_type("s.x", "BIGINT"))), stranger="Unsupported table features required: .TypeWidening"),
    Case("deletionVectors later", makers=("esker",), uses=("deletionVectors",), altered=(enable(VECTORS),)),
    Case("columnMapping later", columns=NESTED_COLUMNS, given=NESTED, holds=NESTED_HOLDS, uses=("columnMapping",), partition_by=("part",), altered=(enable(BY_NAME),)),
    Case("rowTracking later", uses=("rowTracking",), altered=(enable(TRACKING),), has_row_ids=True),
    Case("changeDataFeed later", makers=("esker",), uses=("changeDataFeed",), altered=(enable(FEED),), has_changes=True),
    Case("inCommitTimestamp later", uses=("inCommitTimestamp",), altered=(enable({"delta.enableInCommitTimestamps": "true"}),), by_time=True),
    Case("v2Checkpoint later", makers=("esker",), uses=("v2Checkpoint",), altered=(enable({"delta.checkpointPolicy": "v2"}),)),
    Case("checkConstraints later", makers=("esker",), uses=("checkConstraints",), refused=("-1L",), altered=(alter("add constraint", lambda t: t.add_constraint("positive", "id >= 0")),)),
    Case("invariants later", makers=("esker",), columns="n LONG", given={"n": "nullif({id}, -1)"}, holds=("n = id",), uses=("invariants",), refused=("-1L",), altered=(alter("not null", lambda t: t.set_not_null("n")),)),
    Case("much at once", columns=NESTED_COLUMNS, given=NESTED, holds=NESTED_HOLDS, partition_by=("part",), constraints={"positive": "id >= 0"},
         properties={**BY_NAME, **FEED, **VECTORS, **TRACKING, "delta.enableInCommitTimestamps": "true", "delta.checkpointPolicy": "v2"},
         uses=("columnMapping", "changeDataFeed", "deletionVectors", "rowTracking", "inCommitTimestamp", "v2Checkpoint"),
         refused=("-1L",), has_changes=True, has_row_ids=True),
)  # fmt: skip

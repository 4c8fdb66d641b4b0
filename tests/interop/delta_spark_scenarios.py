"""What is done to the tables that delta-spark writes for the tests?

One scenario for each feature of the protocol, as SQL where SQL can say it. Nothing is imported here but for types: the tests
read the names, and `delta_spark.py` plays the steps in an environment of its own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Place:
    """Where a scenario works: its session, its table, and a folder for whatever else it needs."""

    spark: "SparkSession"
    folder: Path

    @property
    def table(self) -> str:
        return str(self.folder / "table")

    @property
    def other(self) -> str:
        return str(self.folder / "other")

    def sql(self, statement: str) -> "DataFrame":
        """Run a statement in which {t} and {other} stand for the tables, {table_path} and {other_path} for their folders."""
        named = {"{t}": f"delta.`{self.table}`", "{other}": f"delta.`{self.other}`",
                 "{table_path}": self.table, "{other_path}": self.other}  # fmt: skip
        for mark, text in named.items():
            statement = statement.replace(mark, text)
        return self.spark.sql(statement)


@dataclass(frozen=True)
class Scenario:
    """What is done to a table, and what of it is compared besides the rows of each version.

    `features` are those that the newest version uses. `changes_from` is the first version of a change data feed to compare.
    `leaves` are files that prove, by their names in the log, that delta-spark did what the scenario is about.
    """

    name: str
    steps: tuple[str | Callable[[Place], object], ...]
    features: tuple[str, ...] = ()
    changes_from: int | None = None
    row_ids: bool = False
    by_time: bool = False
    leaves: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def checkpoint(place: Place) -> None:
    """Write a checkpoint of the newest version."""
    jvm: Any = place.spark.sparkContext._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(place.spark._jsparkSession)  # whose settings it goes by
    jvm.org.apache.spark.sql.delta.DeltaLog.forTable(place.spark._jsparkSession, place.table).checkpoint()


def forget(version: int) -> Callable[[Place], None]:
    """Remove the commits before a version from the log, as the log's clean-up would once they are old."""

    def remove(place: Place) -> None:
        for commit in Path(place.table, "_delta_log").glob("*.json"):
            if commit.stem.isdigit() and int(commit.stem) < version:
                commit.unlink()
        place.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]

    return remove


def stream(place: Place) -> None:
    """Copy what the other table has gained since the last time."""
    rows = place.spark.readStream.format("delta").load(place.other)
    target = rows.writeStream.format("delta").option("checkpointLocation", str(place.folder / "progress"))
    target.trigger(availableNow=True).start(place.table).awaitTermination()


def append(query: str, **options: str) -> Callable[[Place], None]:
    """Append the rows of a query by the DataFrame writer, with its options."""
    return lambda place: place.sql(query).write.format("delta").mode("append").options(**options).save(place.table)


def overwrite(query: str, *partition_by: str, **options: str) -> Callable[[Place], None]:
    """Replace the table by the rows of a query, by the DataFrame writer, with its options."""

    def write(place: Place) -> None:
        rows = place.sql(query).write.format("delta").mode("overwrite").options(**options)
        (rows.partitionBy(*partition_by) if partition_by else rows).save(place.table)

    return write


def parquet(query: str, *partition_by: str) -> Callable[[Place], None]:
    """Write the rows of a query as plain Parquet where the table will be."""
    return lambda place: place.sql(query).write.partitionBy(*partition_by).parquet(place.table)


CHANGES = (
    "INSERT INTO {t} SELECT id, concat('n', id), id % 3 FROM range(0, 20, 1, 2)",
    "UPDATE {t} SET name = upper(name) WHERE id % 4 = 0",
    "DELETE FROM {t} WHERE id BETWEEN 5 AND 8",
    """MERGE INTO {t} AS t USING (SELECT id, concat('m', id) AS name, 9L AS part FROM range(15, 25)) AS s ON t.id = s.id
       WHEN MATCHED AND s.id = 15 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
    "INSERT OVERWRITE {t} SELECT id, 'over', 1L FROM range(3)",
)

EVERY_TYPE = """
    (1, 1Y, 1S, 1, 1L, 1.5F, 1.5D, 1.10BD, CAST(1.1 AS DECIMAL(38, 18)), 'text', X'00FF', true, DATE'2024-02-29',
     TIMESTAMP'2024-02-29 12:34:56.789012', TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'),
    (2, -128Y, -32768S, -2147483648, -9223372036854775808L, float('-Infinity'), double('NaN'), -9.99BD,
     CAST('-99999999999999999999.999999999999999999' AS DECIMAL(38, 18)), '', X'', false, DATE'0001-01-01',
     TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00'),
    (3, 127Y, 32767S, 2147483647, 9223372036854775807L, float('NaN'), double('Infinity'), 9.99BD,
     CAST('99999999999999999999.999999999999999999' AS DECIMAL(38, 18)), 'a/b=c%20 :é\\n"''', X'414243', true, DATE'9999-12-31',
     TIMESTAMP'9999-12-31 23:59:59.999999', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'),
    (4, 0Y, 0S, 0, 0L, float('-0.0'), double('-0.0'), 0.00BD, CAST(0 AS DECIMAL(38, 18)), 'null', X'00', false,
     DATE'1582-10-04', TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'1500-03-01 01:02:03.000004'),
    (5, null, null, null, null, null, null, null, null, null, null, null, null, null, null)
"""
TYPE_COLUMNS = """id INT, a_byte BYTE, a_short SHORT, an_int INT, a_long LONG, a_float FLOAT, a_double DOUBLE,
    a_decimal DECIMAL(3, 2), a_wide_decimal DECIMAL(38, 18), a_string STRING, a_binary BINARY, a_boolean BOOLEAN, a_date DATE,
    a_timestamp TIMESTAMP, a_timestamp_ntz TIMESTAMP_NTZ"""
# a byte zero has no place in a path, and delta-spark puts the bytes there as they are
PARTITION_NAMES = [name for name in re.findall(r"\w+(?= [A-Z])", TYPE_COLUMNS) if name not in ("id", "a_binary")]

SCENARIOS = (
    Scenario(
        "deletion_vectors",
        (
            "CREATE TABLE {t} (id LONG, name STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = true)",
            "INSERT INTO {t} SELECT id, concat('n', id) FROM range(0, 1000, 1, 3)",
            "DELETE FROM {t} WHERE id % 7 = 0",
            "DELETE FROM {t} WHERE id % 11 = 0",
            "UPDATE {t} SET name = 'u' WHERE id % 100 = 1",
            "DELETE FROM {t} WHERE id < 400",
        ),
        features=("deletionVectors",),
    ),
    Scenario(
        "deletion_vectors_in_partitions",
        (
            """CREATE TABLE {t} (id LONG, p STRING) USING delta PARTITIONED BY (p)
               TBLPROPERTIES ('delta.enableDeletionVectors' = true)""",
            "INSERT INTO {t} SELECT id, concat('a b/', id % 3) FROM range(60)",
            "DELETE FROM {t} WHERE id IN (3, 4, 5, 30)",
            "OPTIMIZE {t} WHERE p = 'a b/0'",
            "DELETE FROM {t} WHERE p = 'a b/1'",
            "REORG TABLE {t} APPLY (PURGE)",
            "DELETE FROM {t} WHERE id = 33",
        ),
        features=("deletionVectors",),
    ),
    Scenario(
        "column_mapping_name",
        (
            """CREATE TABLE {t} (id LONG, s STRUCT<a: INT, b: STRING>, gone INT, p STRING) USING delta PARTITIONED BY (p)
               TBLPROPERTIES ('delta.columnMapping.mode' = 'name')""",
            "INSERT INTO {t} SELECT id, named_struct('a', INT(id), 'b', concat('b', id)), 1, 'x' FROM range(4)",
            "ALTER TABLE {t} RENAME COLUMN id TO `the id`",
            "ALTER TABLE {t} RENAME COLUMN s.a TO `a.a`",
            "ALTER TABLE {t} DROP COLUMN gone",
            "ALTER TABLE {t} RENAME COLUMN p TO part",
            "ALTER TABLE {t} ADD COLUMN gone STRING",
            "INSERT INTO {t} SELECT id, named_struct('a', INT(id), 'b', 'b'), 'y', 'back' FROM range(4, 8)",
            "ALTER TABLE {t} DROP COLUMN s.b",
        ),
        features=("columnMapping",),
    ),
    Scenario(
        "column_mapping_id",
        (
            """CREATE TABLE {t} (id LONG, m MAP<STRING, STRUCT<x: INT>>, l ARRAY<STRUCT<y: INT, z: INT>>) USING delta
               TBLPROPERTIES ('delta.columnMapping.mode' = 'id')""",
            "INSERT INTO {t} SELECT id, map('k', named_struct('x', 1)), array(named_struct('y', 2, 'z', 3)) FROM range(3)",
            "ALTER TABLE {t} RENAME COLUMN l TO list",
            "ALTER TABLE {t} DROP COLUMN list.element.y",
            "ALTER TABLE {t} ADD COLUMN m.value.w INT",
            "INSERT INTO {t} SELECT id, map('k', named_struct('x', 1, 'w', 5)), array(named_struct('z', 4)) FROM range(3, 5)",
        ),
        features=("columnMapping",),
    ),
    Scenario(
        "column_mapping_upgraded",
        (
            "CREATE TABLE {t} (id LONG, a INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = true)",
            "INSERT INTO {t} SELECT id, 1 FROM range(3)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE {t} RENAME COLUMN a TO b",
            "ALTER TABLE {t} ADD COLUMN a STRING",
            "INSERT INTO {t} SELECT id, 2, 'a' FROM range(3)",
            "UPDATE {t} SET a = 'z' WHERE id = 1",
        ),
        features=("columnMapping",),
        changes_from=5,
    ),
    Scenario(
        "column_names",
        (
            """CREATE TABLE {t} (`a b` INT, `x.y` INT, `q``r` INT, `c,;{}()=` INT, `é` STRUCT<`n.m`: INT, ` `: INT>,
               `p.q r` STRING) USING delta PARTITIONED BY (`p.q r`) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')""",
            "INSERT INTO {t} VALUES (1, 2, 3, 4, named_struct('n.m', 5, ' ', 6), 'p 1'), (7, 8, 9, 10, null, null)",
            "DELETE FROM {t} WHERE `x.y` = 8",
        ),
        features=("columnMapping",),
    ),
    Scenario(
        "type_widening",
        (
            """CREATE TABLE {t} (id LONG, a BYTE, b SHORT, c INT, d FLOAT, e DECIMAL(4, 2), f DATE, g INT, h BYTE, p BYTE)
               USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.enableTypeWidening' = true,
               'delta.feature.timestampNtz' = 'supported')""",
            "INSERT INTO {t} VALUES (1, 1Y, 2S, 3, 1.1F, 12.34, DATE'2024-01-31', 7, 8Y, 1Y), "
            "(2, null, null, null, null, null, null, null, null, null)",
            "ALTER TABLE {t} ALTER COLUMN a TYPE SHORT",
            "ALTER TABLE {t} ALTER COLUMN a TYPE INT",
            "INSERT INTO {t} VALUES (3, 70000, 2S, 3, 1.1F, 12.34, DATE'0001-01-01', 7, 8Y, 2Y)",
            "ALTER TABLE {t} ALTER COLUMN a TYPE LONG, b TYPE INT, c TYPE DOUBLE, d TYPE DOUBLE, e TYPE DECIMAL(20, 5), "
            "f TYPE TIMESTAMP_NTZ, g TYPE DECIMAL(12, 2), h TYPE DOUBLE, p TYPE INT",
            "INSERT INTO {t} VALUES (4, 5000000000, 70000, 0.5, 1e300, 123456789012345.12345, "
            "TIMESTAMP_NTZ'2024-01-31 01:02:03', 1234567890.12, 1e300, 1000)",
            "DELETE FROM {t} WHERE id = 3",
        ),
        features=("typeWidening",),
    ),
    Scenario(
        "type_widening_nested",
        (
            """CREATE TABLE {t} (id LONG, s STRUCT<x: BYTE>, l ARRAY<SHORT>, m MAP<BYTE, STRUCT<y: FLOAT>>) USING delta
               TBLPROPERTIES ('delta.enableTypeWidening' = true)""",
            "INSERT INTO {t} VALUES (1, named_struct('x', 1Y), array(1S, null), map(1Y, named_struct('y', 1.1F)))",
            "ALTER TABLE {t} ALTER COLUMN s.x TYPE INT",
            "ALTER TABLE {t} ALTER COLUMN l.element TYPE INT",
            "ALTER TABLE {t} ALTER COLUMN m.key TYPE INT",
            "ALTER TABLE {t} ALTER COLUMN m.value.y TYPE DOUBLE",
            "INSERT INTO {t} VALUES (2, named_struct('x', 70000), array(70000), map(70000, named_struct('y', 1e300D)))",
        ),
        features=("typeWidening",),
    ),
    Scenario(
        "variant",
        (
            """CREATE TABLE {t} (id LONG, v VARIANT, s STRUCT<v: VARIANT, i: INT>, l ARRAY<VARIANT>) USING delta
               TBLPROPERTIES ('delta.enableDeletionVectors' = true)""",
            """INSERT INTO {t} SELECT id, parse_json(text), named_struct('v', parse_json(text), 'i', 1),
               array(parse_json(text), null) FROM VALUES (1, '{"a": [1, 2.5, "x", null, true], "b": {"c": -1e100}}'),
               (2, '"text"'), (3, '9223372036854775807'), (4, 'null'), (5, null), (6, '[]'), (7, '{}') AS _(id, text)""",
            "INSERT INTO {t} VALUES (8, CAST(DATE'2024-01-31' AS VARIANT), null, array())",
            "DELETE FROM {t} WHERE id IN (2, 6)",
        ),
        features=("variantType", "deletionVectors"),
    ),
    Scenario(
        "variant_shredded",
        (
            """CREATE TABLE {t} (id LONG, v VARIANT) USING delta
               TBLPROPERTIES ('delta.enableVariantShredding' = true)""",
            """INSERT INTO {t} SELECT id, parse_json(concat('{"a": ', id, ', "b": "t', id, '", "c": {"d": [', id, ']}}'))
               FROM range(10)""",
            """INSERT INTO {t} SELECT id, parse_json(text) FROM VALUES (11, '{"a": "not a number", "e": 1}'), (12, '[1]'),
               (13, 'null'), (14, null), (15, '{"a": null, "b": 1.25}') AS _(id, text)""",
        ),
        settings={"spark.sql.variant.writeShredding.enabled": "true",
                  "spark.sql.variant.forceShreddingSchemaForTest": "a INT, b STRING, c STRUCT<d: ARRAY<INT>>"},
    ),
    Scenario(
        "row_tracking",
        (
            "CREATE TABLE {t} (id LONG, name STRING, part LONG) USING delta TBLPROPERTIES ('delta.enableRowTracking' = true)",
            *CHANGES[:4],
            "OPTIMIZE {t}",
            "INSERT INTO {t} VALUES (100, 'last', 1)",
        ),
        features=("rowTracking", "domainMetadata"),
        row_ids=True,
    ),
    Scenario(
        "row_tracking_with_deletion_vectors",
        (
            """CREATE TABLE {t} (id LONG, name STRING, part LONG) USING delta PARTITIONED BY (part)
               TBLPROPERTIES ('delta.enableRowTracking' = true, 'delta.enableDeletionVectors' = true,
               'delta.columnMapping.mode' = 'name')""",
            *CHANGES[:4],
            "ALTER TABLE {t} RENAME COLUMN name TO called",
            "REORG TABLE {t} APPLY (PURGE)",
            "DELETE FROM {t} WHERE id = 1",
        ),
        features=("rowTracking", "domainMetadata", "deletionVectors", "columnMapping"),
        row_ids=True,
    ),
    Scenario(
        "row_tracking_enabled_later",
        (
            "CREATE TABLE {t} (id LONG) USING delta",
            "INSERT INTO {t} SELECT id FROM range(0, 10, 1, 2)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = true)",
            "UPDATE {t} SET id = id + 100 WHERE id % 2 = 0",
        ),
        features=("rowTracking", "domainMetadata"),
        row_ids=True,
    ),
    Scenario(
        "in_commit_timestamps_enabled_midway",
        (
            "CREATE TABLE {t} (id LONG) USING delta",
            "INSERT INTO {t} VALUES (1)",
            "INSERT INTO {t} VALUES (2)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = true)",
            "INSERT INTO {t} VALUES (3)",
            "INSERT INTO {t} VALUES (4)",
        ),
        features=("inCommitTimestamp",),
        by_time=True,
    ),
    Scenario(
        "in_commit_timestamps_from_the_start",
        (
            """CREATE TABLE {t} (id LONG) USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = true,
               'delta.enableChangeDataFeed' = true)""",
            "INSERT INTO {t} VALUES (1)",
            "UPDATE {t} SET id = 2",
        ),
        features=("inCommitTimestamp",),
        by_time=True,
        changes_from=0,
    ),
    Scenario(
        "change_data_feed",
        (
            "CREATE TABLE {t} (id LONG, name STRING, part LONG) USING delta "
            "TBLPROPERTIES ('delta.enableChangeDataFeed' = true)",
            *CHANGES,
            "RESTORE TABLE {t} TO VERSION AS OF 3",
        ),
        features=("changeDataFeed",),
        changes_from=0,
    ),
    Scenario(
        "change_data_feed_with_deletion_vectors",
        (
            """CREATE TABLE {t} (id LONG, name STRING, part LONG) USING delta PARTITIONED BY (part)
               TBLPROPERTIES ('delta.enableChangeDataFeed' = true, 'delta.enableDeletionVectors' = true)""",
            *CHANGES[:4],
            "DELETE FROM {t} WHERE part = 0",
            "OPTIMIZE {t}",
            "RESTORE TABLE {t} TO VERSION AS OF 2",
            "DELETE FROM {t} WHERE id = 1",
        ),
        features=("changeDataFeed", "deletionVectors"),
        changes_from=0,
    ),
    Scenario(
        "change_data_feed_with_column_mapping",
        (
            """CREATE TABLE {t} (id LONG, name STRING, part LONG) USING delta PARTITIONED BY (part)
               TBLPROPERTIES ('delta.enableChangeDataFeed' = true, 'delta.columnMapping.mode' = 'name')""",
            *CHANGES[:4],
            "ALTER TABLE {t} ADD COLUMN more STRING",
            "UPDATE {t} SET more = 'x' WHERE id = 1",
        ),
        features=("changeDataFeed", "columnMapping"),
        changes_from=0,
    ),
    Scenario(
        "generated_columns",
        (
            """CREATE TABLE {t} (id LONG, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),
               twice LONG GENERATED ALWAYS AS (id * 2)) USING delta PARTITIONED BY (day)""",
            "INSERT INTO {t} (id, at) VALUES (1, TIMESTAMP'2024-02-29 23:59:59'), (2, null)",
        ),
        features=("generatedColumns",),
    ),
    Scenario(
        "identity_columns",
        (
            """CREATE TABLE {t} (id LONG GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5),
               other LONG GENERATED BY DEFAULT AS IDENTITY, name STRING) USING delta""",
            "INSERT INTO {t} (name) VALUES ('a'), ('b')",
            "INSERT INTO {t} (other, name) VALUES (77, 'c')",
        ),
        features=("identityColumns",),
    ),
    Scenario(
        "column_defaults",
        (
            """CREATE TABLE {t} (id LONG, name STRING DEFAULT 'nobody') USING delta
               TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')""",
            "INSERT INTO {t} (id) VALUES (1)",
            "ALTER TABLE {t} ADD COLUMN n INT",
            "ALTER TABLE {t} ALTER COLUMN n SET DEFAULT 7",
            "INSERT INTO {t} (id) VALUES (2)",
        ),
        features=("allowColumnDefaults",),
    ),
    Scenario(
        "constraints",
        (
            "CREATE TABLE {t} (id LONG NOT NULL, s STRUCT<x: INT NOT NULL>) USING delta "
            "TBLPROPERTIES ('delta.appendOnly' = true)",
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)",
            "INSERT INTO {t} VALUES (1, named_struct('x', 1)), (2, named_struct('x', 2))",
        ),
        features=("checkConstraints",),
    ),
    Scenario(
        "clustering",
        (
            "CREATE TABLE {t} (id LONG, a INT, b STRING) USING delta CLUSTER BY (a, b)",
            "INSERT INTO {t} SELECT id, INT(id % 10), concat('b', id % 3) FROM range(0, 200, 1, 4)",
            "OPTIMIZE {t}",
            "ALTER TABLE {t} CLUSTER BY (b)",
            "INSERT INTO {t} VALUES (1000, 1, 'x')",
        ),
        features=("clustering", "domainMetadata"),
    ),
    *(
        Scenario(
            f"v2_checkpoints_{format}",
            (
                """CREATE TABLE {t} (id LONG, p INT) USING delta PARTITIONED BY (p)
                   TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.enableDeletionVectors' = true)""",
                "INSERT INTO {t} SELECT id, INT(id % 5) FROM range(0, 100)",
                "DELETE FROM {t} WHERE id % 9 = 0",
                checkpoint,
                "INSERT INTO {t} VALUES (1000, 1)",
                forget(2),
            ),
            features=("v2Checkpoint", "deletionVectors"),
            leaves=(f"*.checkpoint.*-*.{format}", "_sidecars/*.checkpoint.0000000002.*.parquet"),
            settings={"spark.databricks.delta.checkpointV2.topLevelFileFormat": format,
                      "spark.databricks.delta.checkpoint.partSize": "2"},
        )
        for format in ("json", "parquet")
    ),
    *(
        Scenario(
            f"classic_checkpoint_{name}",
            (
                f"CREATE TABLE {{t}} ({TYPE_COLUMNS}, p STRING) USING delta PARTITIONED BY (p) "
                f"TBLPROPERTIES ({properties})",
                f"INSERT INTO {{t}} SELECT *, concat('p ', col1 % 2) FROM VALUES {EVERY_TYPE}",
                "DELETE FROM {t} WHERE id = 2",
                "OPTIMIZE {t}",
                checkpoint,
                "UPDATE {t} SET p = null WHERE id = 1",
                forget(3),
            ),
            leaves=(leaves,),
            settings=settings,
        )
        for name, properties, leaves, settings in (
            ("with_struct_statistics",
             "'delta.checkpoint.writeStatsAsJson' = false, 'delta.checkpoint.writeStatsAsStruct' = true",
             "*.checkpoint.parquet", {}),
            ("in_parts", "'delta.appendOnly' = false", "*.checkpoint.0000000002.*.parquet",
             {"spark.databricks.delta.checkpoint.partSize": "1"}),
        )
    ),
    Scenario(
        "every_type",
        (
            f"CREATE TABLE {{t}} ({TYPE_COLUMNS}) USING delta",
            f"INSERT INTO {{t}} VALUES {EVERY_TYPE}",
            "DELETE FROM {t} WHERE isnan(a_double)",
        ),
        features=("timestampNtz",),
    ),
    Scenario(
        "timestamps_of_96_bits",
        (
            "CREATE TABLE {t} (id LONG, at TIMESTAMP) USING delta",
            """INSERT INTO {t} VALUES (1, TIMESTAMP'0001-01-01 00:00:00'), (2, TIMESTAMP'9999-12-31 23:59:59.999999'),
               (3, null), (4, TIMESTAMP'1969-12-31 23:59:59.999999'), (5, TIMESTAMP'2024-01-01 00:00:00.000001'),
               (6, TIMESTAMP'1500-03-01 12:00:00')""",
        ),
        settings={"spark.sql.parquet.outputTimestampType": "INT96"},
    ),
    Scenario(
        "partitioned_by_every_type",
        (
            f"CREATE TABLE {{t}} ({TYPE_COLUMNS}, n LONG) USING delta PARTITIONED BY ({', '.join(PARTITION_NAMES)})",
            f"INSERT INTO {{t}} SELECT *, 1L FROM VALUES {EVERY_TYPE}",
            "DELETE FROM {t} WHERE id = 1",
        ),
        features=("timestampNtz",),
    ),
    Scenario(
        "partitioned_by_binary",
        (
            "CREATE TABLE {t} (id LONG, p BINARY) USING delta PARTITIONED BY (p)",
            "INSERT INTO {t} VALUES (1, X'41202F25'), (2, X'C3A9'), (3, null), (4, X'')",
        ),
    ),
    Scenario(
        "partitioned_by_timestamp_in_another_zone",
        (
            "CREATE TABLE {t} (id LONG, at TIMESTAMP) USING delta PARTITIONED BY (at)",
            "INSERT INTO {t} VALUES (1, TIMESTAMP'2024-03-10 01:59:59.999999'), (2, TIMESTAMP'2024-11-03 01:30:00')",
        ),
        settings={"spark.sql.session.timeZone": "America/Los_Angeles"},
    ),
    Scenario(
        "nested_types",
        (
            """CREATE TABLE {t} (id LONG, s STRUCT<a: STRUCT<b: ARRAY<STRUCT<c: DECIMAL(10, 3), d: DATE>>>>,
               m MAP<STRING, ARRAY<MAP<INT, TIMESTAMP>>>, l ARRAY<ARRAY<STRING>>) USING delta""",
            """INSERT INTO {t} VALUES
               (1, named_struct('a', named_struct('b', array(named_struct('c', 1.5BD, 'd', DATE'2024-01-01'), null))),
                map('k', array(map(1, TIMESTAMP'2024-01-01 00:00:00', 2, null)), 'e', array(), 'n', null),
                array(array('x', null), array(), null)),
               (2, named_struct('a', null), map(), array()), (3, null, null, null)""",
            "ALTER TABLE {t} ADD COLUMN s.a.e STRING AFTER b",
            "UPDATE {t} SET s.a.e = 'set' WHERE id = 1",
        ),
    ),
    Scenario(
        "schema_evolution",
        (
            overwrite("SELECT id, named_struct('a', id) AS s, array(named_struct('x', id)) AS l FROM range(3)"),
            append("SELECT id, named_struct('a', id, 'b', 'b') AS s, array(named_struct('x', id, 'y', 1)) AS l, true AS more "
                   "FROM range(3, 5)", mergeSchema="true"),
            append("SELECT id FROM range(5, 6)"),
            "ALTER TABLE {t} ADD COLUMN first INT FIRST",
            "ALTER TABLE {t} ALTER COLUMN id AFTER s",
            overwrite("SELECT 'x' AS id, 1 AS p FROM range(3)", "p", overwriteSchema="true"),
        ),
    ),
    Scenario(
        "shallow_clone",
        (
            """CREATE TABLE {other} (id LONG, p STRING) USING delta PARTITIONED BY (p)
               TBLPROPERTIES ('delta.enableDeletionVectors' = true)""",
            "INSERT INTO {other} SELECT id, concat('p %20 ', id % 2) FROM range(10)",
            "DELETE FROM {other} WHERE id = 3",
            "CREATE TABLE {t} SHALLOW CLONE {other}",
            "DELETE FROM {t} WHERE id = 4",
            "INSERT INTO {t} VALUES (100, 'own')",
            "UPDATE {t} SET p = 'moved' WHERE id IN (5, 6)",
        ),
        features=("deletionVectors",),
    ),
    Scenario(
        "optimize_and_restore",
        (
            "CREATE TABLE {t} (id LONG, x INT) USING delta",
            "INSERT INTO {t} SELECT id, INT(id % 10) FROM range(0, 100, 1, 4)",
            "INSERT INTO {t} VALUES (1000, 1)",
            "OPTIMIZE {t} ZORDER BY (x, id)",
            "DELETE FROM {t} WHERE x = 3",
            "RESTORE TABLE {t} TO VERSION AS OF 2",
            "TRUNCATE TABLE {t}",
            "VACUUM {t} RETAIN 1000 HOURS",
        ),
    ),
    Scenario(
        "converted",
        (
            parquet("SELECT id, concat('v', id) AS v, nullif(concat('a b/%', id % 3), 'a b/%2') AS p, INT(id % 2) AS q "
                    "FROM range(12)", "p", "q"),
            "CONVERT TO DELTA parquet.`{table_path}` PARTITIONED BY (p STRING, q INT)",
            "DELETE FROM {t} WHERE id = 1",
        ),
    ),
    Scenario(
        "streamed",
        (
            "CREATE TABLE {other} USING delta AS SELECT id, 'one' AS name FROM range(3)",
            stream,
            "INSERT INTO {other} VALUES (10, 'two')",
            stream,
            checkpoint,
            "INSERT INTO {other} VALUES (11, 'three')",
            stream,
        ),
    ),
    Scenario(
        "iceberg_compatible",
        (
            """CREATE TABLE {t} (id LONG, l ARRAY<INT>, m MAP<STRING, ARRAY<STRUCT<x: INT>>>) USING delta
               TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV2' = true)""",
            "INSERT INTO {t} VALUES (1, array(1, 2), map('k', array(named_struct('x', 3)))), (2, null, map())",
        ),
        features=("columnMapping",),
    ),
    Scenario(
        "feature_dropped",
        (
            "CREATE TABLE {t} (id LONG) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = true)",
            "INSERT INTO {t} SELECT id FROM range(10)",
            "DELETE FROM {t} WHERE id = 4",
            "ALTER TABLE {t} DROP FEATURE deletionVectors",
            "INSERT INTO {t} VALUES (100)",
        ),
        features=("checkpointProtection",),
    ),
)  # fmt: skip

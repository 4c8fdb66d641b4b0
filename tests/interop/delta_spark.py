"""Which tables does delta-spark write, and which rows does it see in them?

    python delta_spark.py FOLDER

Run by a Python that has delta-spark, which is not the one of the tests: nothing here imports Esker. Each scenario leaves in
FOLDER/<its name>: the `table`; what delta-spark itself reads there, as Parquet, in `rows/<version>`; and in `changes` its
change data feed. FOLDER/manifest.json says the rest: the history, the protocol, the rows at some moments.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from delta import configure_spark_with_delta_pip
from delta_spark_scenarios import SCENARIOS, Place, Scenario
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

AT_ONCE = 4

CONFIG = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # hundreds of small statements: what is compiled for one of them does not pay
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.checkpoint.exceptionThrowing.enabled": "true",
}


def main(folder: Path) -> None:
    """Play every scenario, a few at a time, and write the manifest."""
    builder = SparkSession.builder.master("local[2]").appName("scenarios")
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    # what is fetched stays in this environment, and goes with it
    builder = builder.config("spark.jars.ivy", str(Path(sys.prefix, "ivy")))
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        entries = list(pool.map(lambda scenario: played(scenario, spark, folder), SCENARIOS))
    (folder / "manifest.json").write_text(json.dumps(entries, indent=1))
    spark.stop()


def played(scenario: Scenario, spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Play a scenario and give its entry in the manifest, which tells of the error where delta-spark raised one."""
    session = spark.newSession()
    for key, value in scenario.settings.items():
        session.conf.set(key, value)
    place = Place(session, folder / scenario.name)
    place.folder.mkdir(parents=True)
    try:
        for step in scenario.steps:
            place.sql(step) if isinstance(step, str) else step(place)
        return {"name": scenario.name, **observed(scenario, place)}
    except Exception as error:  # told where the scenario is tested
        return {"name": scenario.name, "error": f"{type(error).__name__}: {error}"[:3000]}


def observed(scenario: Scenario, place: Place) -> dict[str, Any]:
    """What delta-spark says of the table; its rows are written beside it."""
    history = place.sql("DESCRIBE HISTORY {t}").orderBy("version").collect()
    written = [(row["version"], row["operation"], _millis(row["timestamp"])) for row in history]
    place.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for version, _, _ in written:
        _write(_rows_at(version, scenario, place), place.folder / "rows" / str(version))
    if scenario.changes_from is not None:
        feed = place.spark.read.format("delta").option("readChangeFeed", True)
        changes = feed.option("startingVersion", scenario.changes_from).load(place.table)
        _write(changes, place.folder / "changes")
    return {
        "history": written,
        "features": place.sql("DESCRIBE DETAIL {t}").collect()[0]["tableFeatures"],
        "moments": _rows_by_time(place, [at for _, _, at in written]) if scenario.by_time else [],
    }


def _rows_at(version: int, scenario: Scenario, place: Place) -> DataFrame:
    rows = place.spark.read.format("delta").option("versionAsOf", version).load(place.table)
    if not scenario.row_ids:
        return rows
    try:
        return rows.select("*", "_metadata.row_id", "_metadata.row_commit_version")
    except AnalysisException:  # the version is older than its row ids
        return rows


def _rows_by_time(place: Place, commits: list[int]) -> list[tuple[int, int]]:
    """Around each commit, how many rows the table had then."""
    moments = [moment for at in commits for moment in (at, at + 1)][:-1]
    moments += [at - 1 for at in commits[1:]]
    reader = place.spark.read.format("delta")
    return [(at, reader.option("timestampAsOf", _text(at)).load(place.table).count()) for at in sorted(set(moments))]


def _write(rows: DataFrame, folder: Path) -> None:
    """Write rows as one Parquet file, with each column that holds a variant as JSON."""
    columns = [
        F.to_json(F.struct(column), {"ignoreNullFields": "false"}).alias(field.name)
        if "variant" in field.dataType.simpleString() else column
        for field in rows.schema
        for column in [rows["`" + field.name.replace("`", "``") + "`"]]
    ]
    rows.select(*columns).coalesce(1).write.parquet(str(folder))


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _text(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

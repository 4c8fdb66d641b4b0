"""Which tables does delta-spark write, and what does it see in a table?

    python delta_spark.py

Run by a Python that has delta-spark, which is not the one of the tests: nothing here imports Esker. It takes requests, a line of
JSON each, and answers each with a line: a list of jobs becomes a list of reports, one a job. A job does steps to a table and
then looks at it: what delta-spark reads there is left beside the table, as Parquet, in `rows` for each version, and its change data
feed in `changes.parquet`; the report says the rest.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from delta import configure_spark_with_delta_pip
from delta_spark_scenarios import SCENARIOS, Place, checkpoint, forget
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

AT_ONCE = 4
MARK = "the version of the row"
SCENARIOS_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}

CONFIG = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # the little compiler has little room for its code by default: where that is full, code is thrown away and compiled again
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xms2g -Xmn640m -XX:MetaspaceSize=256m",
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


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the JVM has to say is no answer
    builder = SparkSession.builder.master("local[2]").appName("peer")
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    # what is fetched stays in this environment, and goes with it
    builder = builder.config("spark.jars.ivy", str(Path(sys.prefix, "ivy")))
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for line in sys.stdin:
            reports = list(pool.map(lambda job: report(job, spark), json.loads(line)))
            print(json.dumps(reports), file=answers, flush=True)
    spark.stop()


def report(job: dict[str, Any], spark: SparkSession) -> dict[str, Any]:
    """Do the steps of a job, then look at the table. A step that fails is told of and does not keep the next from being done."""
    scenario = SCENARIOS_BY_NAME.get(job["name"])
    session = spark.newSession()
    for key, value in (scenario.settings if scenario else job.get("settings", {})).items():
        session.conf.set(key, value)
    place = Place(session, Path(job["folder"]))
    place.folder.mkdir(parents=True, exist_ok=True)
    errors = [_error(lambda step=step: do(step, place)) for step in (scenario.steps if scenario else job["steps"])]
    seen: dict[str, Any] = {}
    if job.get("look") is not None:
        errors.append(_error(lambda: seen.update(observed(job["look"], place))))
    return {"errors": errors, **seen}


def do(step: Any, place: Place) -> None:
    """Do a step: a function; an SQL text; or a list, the name of a function here and its arguments."""
    match step:
        case str():
            place.sql(step).collect()
        case [name, *arguments]:
            STEPS[name](*arguments)(place)
        case _:
            step(place)


def write(query: str, mode: str, options: dict[str, str]) -> Callable[[Place], None]:
    """Write the rows of a query by the DataFrame writer."""
    return lambda place: place.sql(query).write.format("delta").mode(mode).options(**options).save(place.table)


STEPS: dict[str, Callable[..., Callable[[Place], object]]] = {
    "write": write, "forget": forget, "checkpoint": lambda: checkpoint,
}  # fmt: skip


def observed(look: dict[str, Any], place: Place) -> dict[str, Any]:
    """What delta-spark says of the table; its rows are written beside it. A look `at_rows` is at those of the newest version."""
    if look.get("at_rows"):
        newest = _newest(place)
        _write_rows([newest.version()], look["row_ids"], place)
        return {"domains": _domains(newest)}
    history = place.sql("DESCRIBE HISTORY {t}").orderBy("version").collect()
    written = [(row["version"], row["operation"], _millis(row["timestamp"])) for row in history]
    versions = [version for version, _, _ in written]
    _write_rows(look["versions"] or versions, look["row_ids"], place)
    if look["changes_from"] is not None:
        feed = place.spark.read.format("delta").option("readChangeFeed", True)
        changes = feed.option("startingVersion", look["changes_from"]).load(place.table)
        pq.write_table(_legible(changes).toArrow(), place.folder / "changes.parquet")
    detail = place.sql("DESCRIBE DETAIL {t}").collect()[0]
    return {
        "history": written,
        "features": detail["tableFeatures"],
        "protocol": [detail["minReaderVersion"], detail["minWriterVersion"]],
        "properties": detail["properties"],
        "partition_columns": detail["partitionColumns"],
        "clustering_columns": detail["clusteringColumns"],
        "schema": json.loads(place.spark.read.format("delta").load(place.table).schema.json()),
        "moments": _rows_by_time(place, [at for _, _, at in written]) if look["by_time"] else [],
        "domains": _domains(_newest(place)),
        "checksums": _checksums(place, versions if look["checksums"] is None else look["checksums"]),
    }


def _checksums(place: Place, versions: list[int]) -> dict[int, str | None]:
    """Which versions contradict their checksum file, each with how; those without one are left out."""
    newest = _newest(place)
    jvm: Any = place.spark.sparkContext._jvm
    none = jvm.scala.Option.empty()
    findings = {}
    for version in versions:
        snapshot = newest.deltaLog().getSnapshotAt(version, none, none, False)
        if snapshot.checksumOpt().isDefined():
            findings[version] = _error(lambda found=snapshot: found.validateChecksum(getattr(found, "validateChecksum$default$1")()))
    return findings


def _newest(place: Place) -> Any:
    """The newest snapshot, as Delta's own library has it."""
    jvm: Any = place.spark.sparkContext._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(place.spark._jsparkSession)
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(place.spark._jsparkSession, place.table)
    return log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())


def _domains(snapshot: Any) -> dict[str, str]:
    domains = snapshot.domainMetadata()
    found = (domains.apply(at) for at in range(domains.size()))
    return {each.domain(): each.configuration() for each in found}


def _error(action: Callable[[], object]) -> str | None:
    try:
        action()
    except Exception as error:  # told where the job is tested
        return f"{type(error).__name__}: {error}"[:3000]
    return None


def _write_rows(versions: list[int], row_ids: bool, place: Place) -> None:
    """Write the rows of each version to a file. Versions of one schema are read by one query: most of a query's time is its start."""
    by_schema: dict[str, dict[int, DataFrame]] = {}
    for version in versions:
        frame = _legible(_rows_at(version, row_ids, place))
        by_schema.setdefault(frame.schema.json(), {})[version] = frame
    (place.folder / "rows").mkdir()
    for frames in by_schema.values():
        marked = [frame.select(F.lit(version).alias(MARK), "*") for version, frame in frames.items()]
        rows = reduce(DataFrame.unionAll, marked).toArrow()
        for version in frames:
            wanted = rows.filter(pc.equal(rows.column(0), version)).remove_column(0)
            pq.write_table(wanted, place.folder / "rows" / f"{version}.parquet")


def _rows_at(version: int, row_ids: bool, place: Place) -> DataFrame:
    rows = place.spark.read.format("delta").option("versionAsOf", version).load(place.table)
    if not row_ids:
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


def _legible(rows: DataFrame) -> DataFrame:
    """The rows with each column that holds a variant as JSON."""
    return rows.select(*(
        F.to_json(F.struct(column), {"ignoreNullFields": "false"}).alias(field.name)
        if "variant" in field.dataType.simpleString() else column
        for field in rows.schema
        for column in [rows["`" + field.name.replace("`", "``") + "`"]]
    ))  # fmt: skip


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _text(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


if __name__ == "__main__":
    main()

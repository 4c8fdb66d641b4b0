"""Which changes to tables are made?"""

from collections.abc import Callable
from pathlib import Path

from bench import targets
from bench.cases import Bar, Case, Contender
from bench.scale import Scale

_EVEN = (Bar("cpu", 1.0), Bar("wall", 1.0))
_HALF = (Bar("cpu", 0.5), Bar("wall", 0.5))
_LIMIT = (Bar("cpu", 1.1), Bar("wall", 1.1))


def _changed(
    name: str, title: str, table: Callable[[Path, Scale], Path], call: str, does: tuple[str, str], turns: int = 1,
    bars: tuple[Bar, ...] = _EVEN,
) -> Case:  # fmt: skip
    """The same change by Esker and by delta-spark; `does` says how each is asked for it."""
    ours = Contender("esker", f"writing_by_esker.{call}", does[0])
    peer = Contender("delta-spark", f"writing_by_delta_spark.{call}", does[1], bars)
    return Case(name, title, table, ours, (peer,), "sessions", turns=turns)


def _rivals(processes: int) -> Case:
    noun = "process" if processes == 1 else "processes"
    return Case(
        f"commits-{processes}", f"one commit, {processes} {noun} at once", targets.empty,
        Contender("esker", "rivals_by_esker.append", "`table.append(rows)`, in a loop"),
        (Contender("deltalake", "rivals_by_deltalake.append", "`write_deltalake(p, rows, mode=\"append\")`, in a loop",
                   (Bar("wall", 1.0),)),),
        "rivals", processes=processes, note=_SYNCED,
    )  # fmt: skip


_SYNCED = (
    "Esker has the data file, the commit and their names on the disk before it acknowledges a commit, so that a loss of power "
    "takes none; deltalake leaves that to the operating system. On a disk that others write to, syncing is most of Esker's time."
)
_HEAP = (
    "a JVM takes whatever memory it may have before it cleans up, so here both may have 1 GiB, less than the rows of the "
    "larger table take in memory."
)
_DELETE = ("`table.delete(\"id % 100 = 7\")`", "`DeltaTable.delete(\"id % 100 = 7\")`")
_UPDATE = ("`table.update({…}, \"id % 100 = 7\")`", "`DeltaTable.update(\"id % 100 = 7\", {…})`")
_MERGE = ("`table.merge(rows, \"target.id = source.id\")`, update and insert all", "`DeltaTable.merge(…)`, the same")

WRITING = (
    Case("append", "append 10 million rows", targets.empty_for_rows,
         Contender("esker", "writing_by_esker.append", "`table.append(frame)`"),
         (Contender("Parquet", "writing_by_parquet.append", "`frame.write.parquet(p)`", _LIMIT),
          Contender("delta-spark", "writing_by_delta_spark.append", "`frame.write.format(\"delta\").save(p)`", _EVEN)),
         "sessions"),
    _changed("appends", "200 appends of 100 rows", targets.empty, "append_often",
             ("`table.append(frame)`, again and again", "`frame.write.format(\"delta\").save(p)`, again and again"), 10, _HALF),
    _changed("delete", "delete 1 % of 10 million rows", targets.plain, "delete", _DELETE),
    _changed("delete-dv", "the same, by deletion vectors", targets.with_vectors, "delete", _DELETE),
    _changed("update", "update 1 % of 10 million rows", targets.plain, "update", _UPDATE),
    _changed("update-dv", "the same, with deletion vectors", targets.with_vectors, "update", _UPDATE),
    _changed("merge", "merge 100,000 rows into 10 million", targets.plain, "merge", _MERGE),
    _changed("merge-dv", "the same, with deletion vectors", targets.with_vectors, "merge", _MERGE),
    Case("merge-grown", "the same merge into a table ten times as large", targets.of_two_sizes,
         Contender("esker", "writing_by_esker.merge", "into 10 million rows"),
         (Contender("esker, small", "writing_by_esker.merge", "into 1 million rows", (Bar("memory", 1.5),),
                    table="small", source="small-source"),),
         "sessions", heap="1g", note=_HEAP),
    _changed("optimize", "compact 1,000 small files", targets.loose, "optimize",
             ("`table.optimize()`", "`DeltaTable.optimize().executeCompaction()`")),
    *(_rivals(processes) for processes in (1, 4, 8)),
)  # fmt: skip

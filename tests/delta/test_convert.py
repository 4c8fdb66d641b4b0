"""Folders of Parquet files that become tables.  (PROTOCOL.md, "Data Files", "Partition Value Serialization")"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta.actions import action_json
from esker.delta.convert import Conversion, converting
from esker.delta.protocol import Protocol
from esker.errors import InvalidRequest, Unsupported
from esker.storage.local import LocalStorage
from esker.storage.memory import MemoryStorage
from esker.storage.port import Storage
from tests.delta.tables import ID, Log, ids, parquet

NOW = 1_700_000_000_000


def filled(files: dict[str, Any], storage: Storage | None = None) -> Log:
    """A folder with these files."""
    log = Log(storage)
    for path, content in files.items():
        log.storage.put(path, parquet(content) if isinstance(content, pa.Table) else content)
    return log


def converted(log: Log, partitions: Struct | None = None, **options: Any) -> Conversion:
    return converting(log.storage, partitions, options.pop("statistics", None), NOW, **options)


def opened(log: Log, found: Conversion) -> pa.Table:
    log.commit(*(dict(action_json(action)) for action in (found.protocol, found.metadata, *found.adds)))
    return log.open().to_arrow()


def test_the_files_become_a_table_where_they_lie() -> None:
    log = filled({"a.parquet": ids(1, 2), "deep/er/b.parquet": ids(3), "C.PARQUET": ids(4)})
    before = {f.path: f.modified for f in log.storage.list()}
    found = converted(log)
    assert found.metadata.schema == ID
    assert found.metadata.partition_columns == ()
    assert found.metadata.created_time == NOW
    assert found.protocol == Protocol(1, 2)
    assert found.metrics == {"numConvertedFiles": 3}
    assert {f.path: f.modified for f in log.storage.list()} == before
    assert sorted(opened(log, found)["id"].to_pylist()) == [1, 2, 3, 4]


def test_sizes_and_times_are_those_of_the_files() -> None:
    log = filled({"a.parquet": ids(1)})
    (add,) = converted(log).adds
    info = log.storage.head("a.parquet")
    assert (add.size, add.modification_time, add.data_change, add.stats) == (info.size, info.modified, True, None)


NAMES = [
    "a b.parquet",
    "a%20b.parquet",
    "ü😀.parquet",
    "p=x%2Fy/f.parquet",
    "a#b?c.parquet",
    "a:/b.parquet",
    "[x]*.parquet",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_encoded_so_that_they_are_found_again(name: str, tmp_path: Path) -> None:
    """ "The path is a URI as specified by RFC 2396 [...], which needs to be decoded to get the data file path." """
    for storage in (None, LocalStorage(str(tmp_path / "my table"))):
        log = filled({name: ids(1)}, storage)
        assert opened(log, converted(log))["id"].to_pylist() == [1]


def test_hidden_files_are_passed_over_and_folders_of_hidden_columns_are_not() -> None:
    log = filled({"a.parquet": ids(1), "_SUCCESS": b"", "_x/b.parquet": ids(2), ".c.parquet": ids(3), "_d.parquet": ids(4),
                  ".a.parquet.crc": b"x", "y/.z/e.parquet": ids(5), "y_$folder$": b""})  # fmt: skip
    assert [add.path for add in converted(log).adds] == ["a.parquet"]
    log = filled({"_p=1/a.parquet": ids(1), ".q=2/a.parquet": ids(1)})
    with pytest.raises(InvalidRequest, match="same columns"):
        converted(log)


BY_DAY = {"day=2024-01-01/n=1/a.parquet": ids(1), "day=2024-01-02/n=2/b.parquet": ids(2),
          "day=__HIVE_DEFAULT_PARTITION__/n=3/c.parquet": ids(3)}  # fmt: skip


def test_folders_state_columns_whose_types_are_inferred() -> None:
    log = filled(BY_DAY)
    found = converted(log)
    assert found.metadata.schema == Struct((*ID.fields, Field("day", t.DATE), Field("n", t.INTEGER)))
    assert found.metadata.partition_columns == ("day", "n")
    assert [add.partition_values for add in found.adds] == [
        {"day": "2024-01-01", "n": "1"}, {"day": "2024-01-02", "n": "2"}, {"day": None, "n": "3"},
    ]  # fmt: skip
    rows = opened(log, found).sort_by("id")
    assert [str(day) for day in rows["day"].to_pylist()] == ["2024-01-01", "2024-01-02", "None"]
    assert rows["n"].type == pa.int32()


def test_types_need_not_be_inferred() -> None:
    found = converted(filled(BY_DAY), infer_types=False)
    assert [f.type for f in found.metadata.schema] == [t.LONG, t.STRING, t.STRING]


def test_types_and_order_may_be_given() -> None:
    given = Struct((Field("N", t.LONG), Field("day", t.STRING)))
    log = filled(BY_DAY)
    found = converted(log, given)
    assert found.metadata.schema == Struct((*ID.fields, *given.fields))
    assert found.metadata.partition_columns == ("N", "day")
    assert found.adds[0].partition_values == {"N": "1", "day": "2024-01-01"}
    assert opened(log, found).sort_by("id")["N"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "given, message",
    [
        (Struct((Field("day", t.DATE),)), "the folders state day, n"),
        (Struct((Field("day", t.DATE), Field("n", t.LONG), Field("m", t.LONG))), "the folders state day, n"),
        (Struct(), "the folders state day, n"),
        (Struct((Field("day", t.LONG), Field("n", t.LONG))), "'2024-01-01' of day is not of type long"),
        (Struct((Field("day", t.DATE, nullable=False), Field("n", t.LONG))), "day is not nullable"),
        (Struct((Field("day", t.DATE), Field("n", Struct()))), "a partition column of type"),
    ],
)
def test_partition_columns_that_do_not_fit_the_folders_are_refused(given: Struct, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        converted(filled(BY_DAY), given)


def test_partition_columns_without_folders_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="the folders state nothing"):
        converted(filled({"a.parquet": ids(1)}), Struct((Field("p", t.LONG),)))


@pytest.mark.parametrize(
    "paths",
    [
        ["p=1/a.parquet", "b.parquet"], ["p=1/a.parquet", "q=1/b.parquet"], ["p=1/q=1/a.parquet", "q=1/p=1/b.parquet"],
        ["p=1/q=1/a.parquet", "p=1/b.parquet"], ["p=/a.parquet"], ["p=1/p=2/a.parquet"],
    ],
)  # fmt: skip
def test_folders_that_do_not_agree_are_refused_by_name(paths: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="same columns of every file") as refused:
        converted(filled(dict.fromkeys(paths, ids(1))))
    assert all(any(path in problem for problem in refused.value.problems) for path in paths)


def test_a_column_that_files_store_too_keeps_its_place_and_is_what_the_folders_say() -> None:
    rows = pa.table({"p": ["x"], "id": [1]})
    log = filled({"p=5/a.parquet": rows})
    found = converted(log)
    assert found.metadata.schema == Struct((Field("p", t.INTEGER), Field("id", t.LONG)))
    assert opened(log, found).to_pylist() == [{"p": 5, "id": 1}]


def test_files_with_nothing_but_the_folders_columns_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="no columns but"):
        converted(filled({"id=5/a.parquet": ids(1)}))


def test_the_schema_is_that_of_all_files_together() -> None:
    log = filled({"a.parquet": ids(1), "b.parquet": pa.table({"name": ["x"], "id": [2]})})
    found = converted(log)
    assert found.metadata.schema == Struct((Field("id", t.LONG), Field("name", t.STRING)))
    assert json.loads(found.metadata.schema_string)["fields"][1]["name"] == "name"
    assert opened(log, found).sort_by("id").to_pylist() == [{"id": 1, "name": None}, {"id": 2, "name": "x"}]


def test_columns_of_two_types_are_refused_with_the_files() -> None:
    with pytest.raises(InvalidRequest, match=r"id is of type long in a\.parquet, and string in b\.parquet"):
        converted(filled({"a.parquet": ids(1), "b.parquet": pa.table({"id": ["x"]})}))


def test_wall_clock_times_bring_the_feature_that_they_need() -> None:
    """ "To use this type, a table must support a feature `timestampNtz`."  (Primitive Types)"""
    log = filled({"a.parquet": pa.table({"at": pa.array([1], pa.timestamp("us"))})})
    found = converted(log).protocol
    assert (found.min_reader, found.min_writer) == (3, 7)
    assert found.reader_features == {"timestampNtz"}
    assert found.writer_features == {"timestampNtz", "appendOnly", "invariants"}


def test_files_that_cannot_be_part_of_a_table_are_named_all_at_once() -> None:
    files = {
        "a.parquet": ids(1),
        "b.parquet": b"",
        "c.parquet": b"PAR1 no, it is not PAR1",
        "d.parquet": pa.table({"u": pa.array([1], pa.uint8())}),
    }
    with pytest.raises(InvalidRequest) as refused:
        converted(filled(files))
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["b.parquet", "c.parquet", "d.parquet"]


@pytest.mark.parametrize(
    "rows, message",
    [
        (pa.table({"u": pa.array([1], pa.uint8())}), "the column u is of type uint8"),
        (pa.table({"my id": [1]}), "`my id`"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["id", "ID"]), "there twice"),
        (pa.table({"s": [{"x": 1, "y,z": 2}]}), "s.`y,z`"),
    ],
)
def test_columns_that_a_table_cannot_have_are_unsupported(rows: pa.Table, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        converted(filled({"a.parquet": rows}))
    with pytest.raises(Unsupported, match="`my p`"):
        converted(filled({"my p=1/a.parquet": ids(1)}))


@pytest.mark.parametrize(
    "path, whose",
    [
        ("_delta_log/00000000000000000000.json", "Delta"), ("inner/_delta_log/00000000000000000000.json", "Delta"),
        ("metadata/00001-x.metadata.json", "Iceberg"), (".hoodie/hoodie.properties", "Hudi"),
        ("_spark_metadata/0", "Spark's streams"),
    ],
)  # fmt: skip
def test_a_folder_that_is_a_table_already_is_refused(path: str, whose: str) -> None:
    with pytest.raises(InvalidRequest, match=f"a table of {whose} already, by {path}"):
        converted(filled({"a.parquet": ids(1), path: b"{}"}))


def test_files_that_would_be_forgotten_are_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match=r"not called \*.parquet") as refused:
        converted(filled({"a.parquet": ids(1), "b.parq": parquet(ids(2)), "x/c.csv": b"1"}))
    assert refused.value.problems == ("b.parq", "x/c.csv")


@pytest.mark.parametrize("files", [{}, {"_SUCCESS": b""}, {"empty": b""}])
def test_a_folder_without_files_is_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(InvalidRequest, match="no Parquet files"):
        converted(filled(files))


def test_statistics_are_asked_for_with_the_columns_that_the_file_has_of_its_own() -> None:
    asked: list[tuple[int, tuple[str, ...]]] = []

    def statistics(footer: pq.FileMetaData, columns: Struct) -> str:
        asked.append((footer.num_rows, columns.names))
        return json.dumps({"numRecords": footer.num_rows})

    log = filled({"P=1/a.parquet": pa.table({"id": [1, 2], "p": [1, 1]}), "P=2/b.parquet": pa.table({"x": ["y"]})})
    found = converted(log, statistics=statistics)
    assert sorted(asked) == [(1, ("x",)), (2, ("id",))]
    assert [add.stats for add in found.adds] == ['{"numRecords": 2}', '{"numRecords": 1}']


def test_many_files_are_read_as_pyarrow_reads_them(tmp_path: Path) -> None:
    """pyarrow's own writer lays out the folder; the table holds the rows that pyarrow finds in it."""
    count = 500
    names = ["a/b", "c:d", "100%", "é 😀", None]
    rows = pa.table({"id": range(count), "s": [names[n % 5] for n in range(count)], "n": [n % 7 for n in range(count)]})
    ds.write_dataset(rows, tmp_path, format="parquet", partitioning=ds.partitioning(
        pa.schema([("s", pa.string()), ("n", pa.int64())]), flavor="hive"))  # fmt: skip
    log = Log(LocalStorage(str(tmp_path)))
    found = converting(log.storage, Struct((Field("s", t.STRING), Field("n", t.LONG))), None, NOW)
    assert len(found.adds) == 35
    assert opened(log, found).select(rows.column_names).sort_by("id") == rows


def test_a_storage_in_memory_and_a_folder_give_the_same_table(tmp_path: Path) -> None:
    found = [
        converted(filled(BY_DAY, storage))
        for storage in (MemoryStorage("memory://convert/x"), LocalStorage(str(tmp_path)))
    ]
    one, other = ([(add.path, add.partition_values, add.size) for add in conversion.adds] for conversion in found)
    assert one == other
    assert found[0].metadata.id != found[1].metadata.id

"""Manifests that say what cannot be: whatever is asked of such a table, the answer is an error of Esker's that names the blame."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import esker
from esker.errors import EskerError, InvalidTable, Unsupported
from tests.lance.tables import bent, editor, made, newest


def _questions(table: esker.Table) -> Iterator[Callable[[], object]]:
    """Everything that reads a table."""
    yield from (table.describe, table.features, table.history, table.files, table.check, table.compat, table.to_arrow)
    yield from (lambda name=name: table.metadata(name) for name in ("refs", "indices", "fragments", "base_paths"))


def _asked(path: Path) -> list[EskerError]:
    """What the refusals say. Anything else that is raised fails the test."""
    refused = []
    try:
        table = esker.open(path)
    except EskerError as error:
        return [error]
    for question in _questions(table):
        try:
            question()
        except EskerError as error:
            refused.append(error)
    return refused


def _field(name: str, value: Any) -> Callable[[Any], None]:
    return lambda message: setattr(message.fields[0], name, value)


def _fragment(name: str, value: Any) -> Callable[[Any], None]:
    return lambda message: setattr(message.fragments[0], name, value)


def _path(value: str) -> Callable[[Any], None]:
    return lambda message: setattr(message.fragments[0].files[0], "path", value)


@pytest.mark.parametrize("change, kind, said", [
    (_field("name", "a\0b"), InvalidTable, "NUL"), (_field("logical_type", "timestamp:us:\0"), InvalidTable, "NUL"),
    (lambda message: message.base_paths.add(id=1, path="/a\0b"), InvalidTable, "NUL"),
    (_field("logical_type", ""), Unsupported, "columns of these types"),
    (_field("logical_type", "fixed_size_list:float:99999999999"), Unsupported, "columns of these types"),
    (_field("logical_type", "fixed_size_binary:99999999999"), Unsupported, "columns of these types"),
    (_field("logical_type", "decimal:128:99:1"), Unsupported, "columns of these types"),
    (_field("parent_id", 77), InvalidTable, "before its parent"),
    (_fragment("id", 2**64 - 1), InvalidTable, "number cannot be"), (_fragment("physical_rows", 2**63), InvalidTable, "rows cannot be"),
    (_path("../../etc/passwd"), InvalidTable, "does not lead"), (_path("/etc/passwd"), InvalidTable, "does not lead"),
    (_path("a\0b"), InvalidTable, "does not lead"), (_path("gone.lance"), InvalidTable, "missing"),
    (lambda message: setattr(message, "index_section", 2**40), InvalidTable, ""),
    (lambda message: setattr(message, "index_section", 2**63), InvalidTable, ""),
    (lambda message: setattr(message.fragments[0].files[0], "base_id", 9), InvalidTable, "base path 9"),
    (lambda message: setattr(message.fragments[0].deletion_file, "file_type", 7), Unsupported, "unknown kind 7"),
    (lambda message: setattr(message.fragments[0].deletion_file, "num_deleted_rows", 2**63), InvalidTable, "cannot be"),
])  # fmt: skip
def test_what_cannot_be_is_told_with_the_blame(tmp_path: Path, change: Any, kind: type[EskerError], said: str) -> None:
    refused = _asked(bent(made(tmp_path / "t") and tmp_path / "t", change))
    assert any(isinstance(error, kind) and said in str(error) for error in refused), refused


@pytest.mark.parametrize("size", [0, 1, 15, 16, 40, -1, -5, -20])
def test_a_manifest_that_is_cut_short_is_told(tmp_path: Path, size: int) -> None:
    made(tmp_path / "t")
    file = newest(tmp_path / "t")
    file.write_bytes(file.read_bytes()[:size])
    assert all(isinstance(error, InvalidTable) for error in _asked(tmp_path / "t"))
    with pytest.raises(InvalidTable):
        esker.open(tmp_path / "t")


def test_bytes_that_are_changed_at_random_give_rows_or_an_error_of_esker(tmp_path: Path) -> None:
    table = made(tmp_path / "t", features=["STABLE_ROW_IDS"], properties={"team": "sea"})
    table._table.delete("id = 3", editor())
    table.create_tag("v1")
    table.create_branch("dev")
    dice = random.Random(6)
    files = [file for file in (tmp_path / "t").rglob("*") if file.suffix in (".manifest", ".arrow", ".json", ".txn")]
    for _ in range(60):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "t", copy)
        file = copy / dice.choice(files).relative_to(tmp_path / "t")
        data = bytearray(file.read_bytes())
        for _ in range(dice.choice([1, 1, 3])):
            data[dice.randrange(len(data))] = dice.randrange(256)
        file.write_bytes(data[: dice.choice([len(data), len(data), dice.randrange(len(data))])])
        _asked(copy)


def test_a_detached_version_is_opened_by_its_number_and_named_in_no_history(tmp_path: Path) -> None:
    """Section 1: "version has the top bit set (random)", "never part of the history"."""
    made(tmp_path / "t")
    dataset = lance.dataset(str(tmp_path / "t"))
    written = lance.fragment.write_fragments(pa.table({"id": [7], "name": ["seven"]}), str(tmp_path / "t"))
    apart = lance.LanceDataset.commit(dataset, lance.LanceOperation.Append(written), read_version=1, detached=True)
    assert apart.version >= 1 << 63
    table = esker.open(tmp_path / "t")
    assert table.version == 1
    assert table.at(apart.version).to_arrow().num_rows == 11
    assert table.history().column("version").to_pylist() == [1]
    with pytest.raises(Unsupported, match="detached"):
        table.at(apart.version).append(pa.table({"id": [8]}))


def test_a_blob_within_a_struct_is_read_as_bytes(tmp_path: Path) -> None:
    """Section 11."""
    part = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = pa.StructArray.from_arrays([pa.array([b"x" * 9, None, b""], pa.large_binary())], fields=[part])
    rows = pa.Table.from_arrays([values], schema=pa.schema([pa.field("st", pa.struct([part]))]))
    lance.write_dataset(rows, str(tmp_path / "t"), data_storage_version="2.1")
    found = esker.open(tmp_path / "t").to_arrow().column("st").to_pylist()
    assert [row["b"] or None for row in found] == [b"x" * 9, None, None]


def test_a_column_that_is_called_as_all_of_them_are_meant_stands_for_itself(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": [1, 2], "*": [3, 4]}), str(tmp_path / "t"))
    table = esker.open(tmp_path / "t")
    with pytest.raises(Unsupported, match="takes the name of the column"):
        table.to_arrow()
    assert table.to_arrow(columns=["*"]).to_pydict() == {"*": [3, 4]}
    assert table.to_arrow(columns=["id"]).to_pydict() == {"id": [1, 2]}


def test_a_name_that_pylance_cannot_look_up_is_refused_as_such(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": [1], "a`b": [2]}), str(tmp_path / "t"))
    with pytest.raises(Unsupported, match="by its name"):
        esker.open(tmp_path / "t").to_arrow()
    assert esker.open(tmp_path / "t").to_arrow(columns=["id"]).num_rows == 1

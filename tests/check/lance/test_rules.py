"""Each rule is broken by hand, and found; a table that keeps them all has no finding."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pytest
from pyroaring import BitMap

import esker
from esker.check.lance.rules import RULES
from esker.lance.messages import new_message
from esker.lance.row_ids import row_id_bytes
from tests.lance.tables import ROWS, bent, editor, made, newest

Break = Callable[[Path], object]


def _said(change: Callable[[Any], object]) -> Break:
    """What is said in the newest manifest is changed."""
    return lambda path: bent(path, lambda message: change(message) and None)


def _set(name: str, value: object) -> Break:
    return _said(lambda message: setattr(message, name, value))


def _in_fragment(name: str, value: object) -> Break:
    return _said(lambda message: setattr(message.fragments[0], name, value))


def _in_file(name: str, value: object) -> Break:
    return _said(lambda message: setattr(message.fragments[0].files[0], name, value))


def _in_field(name: str, value: object) -> Break:
    return _said(lambda message: setattr(message.fields[1], name, value))


def _put(below: str, data: bytes) -> Break:
    def put(path: Path) -> None:
        (path / below).parent.mkdir(parents=True, exist_ok=True)
        (path / below).write_bytes(data)

    return put


def _data(path: Path) -> Path:
    return next((path / "data").iterdir())


def _twice(message: Any) -> None:
    message.fragments.append(message.fragments[0])


def _index(**values: object) -> Break:
    """Indices lie beside the manifest: a section of them is put before it."""

    def put(path: Path) -> None:
        bent(path, lambda message: setattr(message, "index_section", 0))
        whole = newest(path).read_bytes()
        index = new_message("IndexMetadata", uuid=new_message("Uuid", uuid=b"\x01" * 16), name="i", **values)
        section = new_message("IndexSection", indices=[index, index]).SerializeToString()
        front = struct.pack("<I", len(section)) + section
        newest(path).write_bytes(front + whole[:-16] + struct.pack("<qhh4s", len(front), 0, 2, b"LANC"))

    return put


def _deleted(path: Path) -> None:
    esker.open(path)._table.delete("id = 1", editor())


def _after_delete(change: Break) -> Break:
    def broken(path: Path) -> None:
        _deleted(path)
        change(path)

    return broken


BROKEN: dict[str, Break] = {
    "versions.open": lambda path: newest(path).write_bytes(b"x"),
    "versions.manifests": lambda path: newest(path).write_bytes(b"x" * 100),
    "versions.names": _put("_versions/notes.txt", b""),
    "versions.one-scheme": lambda path: shutil.copy(newest(path), path / "_versions" / "1.manifest"),
    "versions.once": lambda path: shutil.copy(newest(path), path / "_versions" / "1.manifest"),
    "versions.numbers": _set("version", 7),
    "versions.detached": lambda path: shutil.copy(newest(path), path / "_versions" / "d5.manifest"),
    "versions.sections": _set("index_section", 10**9),
    "versions.time": _said(lambda message: message.ClearField("timestamp")),
    "versions.hint": _put("_versions/latest_version_hint.json", b'{"version": 99}'),
    "transactions.file": lambda path: shutil.rmtree(path / "_transactions"),
    "flags.known": _set("writer_feature_flags", 1 << 40),
    "flags.supported": _set("writer_feature_flags", 64),
    "flags.sticky": _set("writer_feature_flags", 256),
    "flags.both-words": _set("reader_feature_flags", 16),
    "flags.deletion-files": _set("reader_feature_flags", 1),
    "flags.row-ids": _set("reader_feature_flags", 2),
    "flags.config": _said(lambda message: message.config.update({"a": "b"})),
    "flags.base-paths": _said(lambda message: message.base_paths.add(id=0, path="/x")),
    "manifest.data-format": _said(lambda message: message.ClearField("data_format")),
    "manifest.file-version": _said(lambda message: setattr(message.data_format, "version", "2.9")),
    "config.reserved": _said(lambda message: message.config.update({"lance.mystery": "1"})),
    "schema.ids": _in_field("id", 0),
    "schema.ids-positive": _in_field("id", -5),
    "schema.pre-order": _in_field("parent_id", 77),
    "schema.names": _in_field("name", "id"),
    "schema.named": _in_field("name", ""),
    "schema.types": _in_field("logical_type", "quaternion"),
    "schema.columns": _said(lambda message: message.ClearField("fields")),
    "manifest.unknown-fields": _said(lambda message: message.MergeFromString(b"\xf8\x01\x07")),
    "fragments.list": _said(lambda message: message.fragment_tree.SetInParent()),
    "fragments.once": _said(_twice),
    "fragments.numbers": _in_fragment("id", 1 << 40),
    "fragments.high-water-mark": _in_fragment("id", 9),
    "fragments.rows": _in_fragment("physical_rows", 0),
    "fragments.files": _said(lambda message: message.fragments[0].ClearField("files")),
    "fragments.fields-once": _said(lambda message: message.fragments[0].files.append(message.fragments[0].files[0])),
    "files.paths": _in_file("path", "../../x.lance"),
    "files.versions": _in_file("file_minor_version", 0),
    "files.columns": _said(lambda message: message.fragments[0].files[0].ClearField("column_indices")),
    "files.there": lambda path: _data(path).unlink(),
    "files.sizes": lambda path: _data(path).write_bytes(b"x"),
    "files.footers": lambda path: _data(path).write_bytes(_data(path).read_bytes()[:-4] + b"LANX"),
    "deletions.files": _after_delete(_said(lambda message: setattr(message.fragments[0].deletion_file, "num_deleted_rows", 3))),
    "deletions.whole": _after_delete(_said(lambda message: setattr(message.fragments[0], "physical_rows", 1))),
    "row-ids.count": _in_fragment("inline_row_ids", row_id_bytes(np.arange(3, dtype=np.uint64))),
    "row-ids.unique": _in_fragment("inline_row_ids", row_id_bytes(np.zeros(10, dtype=np.uint64))),
    "row-ids.lineage": _in_fragment("inline_created_at", b""),
    "data.rows": _in_fragment("physical_rows", 11),
    "base-paths.absolute": _said(lambda message: message.base_paths.add(id=0, path="here")),
    "base-paths.once": _said(lambda message: [message.base_paths.add(id=0, path="/x") for _ in range(2)]),
    "indices.fields": _index(fields=[99]),
    "indices.covering": _index(fields=[0, 1], covering_fields=[0]),
    "indices.bitmaps": _index(fields=[0], fragment_bitmap=b"xx"),
    "indices.segments": _index(fields=[0], fragment_bitmap=bytes(BitMap([0]).serialize())),
    "indices.fragments": _index(fields=[0], fragment_bitmap=bytes(BitMap([5]).serialize())),
    "indices.files": _index(fields=[0]),
    "refs.tags": _put("_refs/tags/x.json", b'{"version": 9}'),
    "refs.branches": _put("_refs/branches/x.json", b'{"parentVersion": 1}'),
    "refs.own-branch": _set("branch", "dev"),
}
NOT_BROKEN = {"versions.times-rise", "transactions.read-version", "transactions.kind", "fragments.sorted", "fragments.unknown"}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lance") / "t"
    made(path, ROWS)
    return path


def test_a_table_that_keeps_the_rules_has_no_finding(base: Path) -> None:
    assert not esker.check_table(base, deep=True)


@pytest.mark.parametrize("features", [[], ["STABLE_ROW_IDS"]])
def test_a_table_that_pylance_changed_in_many_ways_has_no_finding(tmp_path: Path, features: list[str]) -> None:
    made(tmp_path / "t", features=features)
    change = lance.dataset(str(tmp_path / "t"))
    change.delete("id = 3")
    change.update({"name": "'x'"}, where="id = 5")
    change.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(ROWS.slice(8))
    change.optimize.compact_files(target_rows_per_fragment=4)
    change.create_scalar_index("id", "BTREE")
    change.update_config({"team": "sea"})
    change.delete("id = 6")
    change.optimize.compact_files(materialize_deletions_threshold=0.0)
    for version in change.versions():
        assert not esker.open(tmp_path / "t", version=version["version"]).check(deep=True)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_that_is_broken_is_found(base: Path, tmp_path: Path, rule: str) -> None:
    path = Path(shutil.copytree(base, tmp_path / "t"))
    BROKEN[rule](path)
    found = esker.check_table(path, deep=True)
    assert rule in {finding.rule for finding in found}, [str(finding) for finding in found]


def test_there_are_thirty_rules_and_more_and_each_is_broken_here_but_for_some() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids)) >= 30
    assert set(ids) == set(BROKEN) | NOT_BROKEN

"""What a commit file says, line by line, and what is no commit file.  (PROTOCOL.md, "Delta Log Entries")"""

import json

import pyarrow as pa
import pytest

from esker.delta import json_log
from esker.errors import InvalidTable
from tests.delta.tables import ID, Log, add, lines, metadata, protocol

SCHEMA = pa.schema([("add", pa.struct([("path", pa.string()), ("size", pa.int64())]))])
ADD = b'{"add":{"path":"a","size":1}}'

READ = [
    ("one object a line", ADD + b"\n" + ADD + b"\n", ["a", "a"]),
    ("no line break at the end", ADD, ["a"]),
    ("an empty file", b"", []),
    ("nothing but white space", b" \n\r\n\t\n", []),
    ("empty lines", ADD + b"\n\n\n" + ADD + b"\n\n", ["a", "a"]),
    ("carriage returns", ADD + b"\r\n" + ADD + b"\r\n", ["a", "a"]),
    ("an object over several lines", b'{\n "add": {\n  "path": "a",\n  "size": 1\n }\n}\n' + ADD, ["a", "a"]),
    ("two objects on a line", ADD + ADD, ["a", "a"]),
    ("unknown actions", b'{"later":{"x":1}}\n' + ADD, ["a"]),
    ("an empty object", b"{}\n" + ADD, ["a"]),
    ("unknown fields", b'{"add":{"path":"a","size":1,"later":[{"x":{}}]}}', ["a"]),
    ("a field that is null", b'{"add":{"path":"a","size":null}}', ["a"]),
    ("an action that is null", b'{"add":null,"remove":null}\n' + ADD, ["a"]),
    ("a key twice, of which the last counts", b'{"add":{"path":"z","path":"a"}}', ["a"]),
    ("escapes", b'{"add":{"path":"\\u0061"}}', ["a"]),
    ("letters beyond ASCII", '{"add":{"path":"é😀"}}'.encode(), ["é😀"]),
    ("a very long line", json.dumps({"add": {"path": "x" * 3_000_000}}).encode() + b"\n" + ADD, ["x" * 3_000_000, "a"]),
]


@pytest.mark.parametrize("data, paths", [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_a_commit_is_objects_and_what_is_unknown_in_them_is_ignored(data: bytes, paths: list[str]) -> None:
    """ "must ignore any actions they don't understand"  (PROTOCOL.md, "Actions")"""
    table = json_log.file_actions(data, SCHEMA, "x")
    assert [a["path"] for a in table.column("add").to_pylist() if a is not None] == paths
    assert [a["add"]["path"] for a in json_log.actions(data, "x") if a.get("add")] == paths
    assert [body["path"] for _, body in json_log.find(data, ["add"], "x")] == paths


NAMES = [
    ("fields that no action names", b'{"add":{"path":"a"}}\n{"later":{}}\n', [{"path": "a", "size": None}, None]),
    ("a name in escapes", b'{"add":{"path":"a","\\u0073ize":1}}', [{"path": "a", "size": 1}]),
    ("a kind without a known field", b'{"add":{"later":1}}', [{"path": None, "size": None}]),
]


@pytest.mark.parametrize("data, adds", [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_every_row_has_all_fields_whichever_an_action_names(data: bytes, adds: list[object]) -> None:
    table = json_log.file_actions(data, SCHEMA, "x")
    assert table.schema == SCHEMA
    assert table.column("add").to_pylist() == adds


MALFORMED = [
    ("a line cut off", ADD + b"\n" + ADD[:-3]),
    ("garbage behind an object", ADD + b" xyz\n"),
    ("garbage on a line of its own", ADD + b"\nxyz\n"),
    ("a brace too many", ADD + b"}\n"),
    ("a list", b'[{"add":{"path":"a"}}]'),
    ("nothing but null", b"null"),
    ("lines of null", b"null\nnull\n"),
    ("null among objects", ADD + b"\nnull\n" + ADD),
    ("null before objects", b"null\n" + ADD),
    ("a number", b"1\n" + ADD),
    ("not UTF-8", b'{"add":{"path":"\xff"}}'),
    ("half a surrogate pair", b'{"add":{"path":"\\ud800"}}'),
    ("a byte order mark", b"\xef\xbb\xbf" + ADD),
    ("an action that is a text", b'{"add":"a"}'),
    ("an action that is a list", b'{"add":[1]}'),
    ("a number for a path", b'{"add":{"path":1}}'),
    ("a number out of range", b'{"add":{"path":"a","size":9223372036854775808}}'),
    ("depth without end", b'{"add":' * 5000),
    ("a NUL", ADD + b"\0"),
]


@pytest.mark.parametrize("data", [case[1] for case in MALFORMED], ids=[case[0] for case in MALFORMED])
def test_what_is_not_a_sequence_of_actions_is_an_invalid_table(data: bytes) -> None:
    """PROTOCOL.md, "Delta Log Entries": a file of "a sequence of actions", each one an object on its line."""
    with pytest.raises(InvalidTable):
        json_log.file_actions(data, SCHEMA, "x")


@pytest.mark.parametrize("data", [b"null", b"null\n", b"null\n" * 1000, b" null"])
def test_a_commit_of_nothing_but_null_reads_as_an_error_and_ends_no_process(data: bytes) -> None:
    log = Log().start()
    log.put(f"{1:020}.json", data)
    with pytest.raises(InvalidTable):
        log.open().files()


def test_a_long_run_of_null_behind_an_action_reads_as_an_error_and_ends_no_process() -> None:
    with pytest.raises(InvalidTable):
        json_log.file_actions(ADD + b"\n" + b"null\n" * 1_500_000, SCHEMA, "x")


def test_a_long_commit_cut_off_at_its_end_is_refused_as_fast_as_it_is_read() -> None:
    data = (ADD + b"\n") * 60_000 + b'{"add'
    with pytest.raises(InvalidTable, match="after 60000 actions"):
        json_log.actions(data, "x")


def test_the_newest_action_of_a_kind_is_found_in_objects_over_several_lines() -> None:
    log = Log()
    log.put(f"{0:020}.json", "\n".join(json.dumps(a, indent=1) for a in (protocol(), metadata(ID, id="pretty"))))
    assert log.snapshot().metadata.id == "pretty"


def test_a_word_that_names_an_action_elsewhere_is_not_taken_for_one() -> None:
    log = Log().start(ID)
    log.commit(add("a", tags={"protocol": "x", "metaData": "y", "txn": "z"}))
    assert log.snapshot().protocol.min_reader == 1
    assert log.snapshot().txns == {}
    assert log.paths() == ["a"]


@pytest.mark.parametrize("body", ["x", 1, [1], True])
@pytest.mark.parametrize("kind", ["protocol", "metaData", "txn", "domainMetadata"])
def test_an_action_that_is_no_object_is_an_invalid_table(kind: str, body: object) -> None:
    log = Log().start()
    log.commit({kind: body})
    with pytest.raises(InvalidTable):
        _ = (log.snapshot().txns, log.snapshot().domains)


def test_a_commit_without_file_actions_has_none() -> None:
    log = Log().start()
    log.put(f"{1:020}.json", lines([{"commitInfo": {"operation": "x"}}]))
    log.put(f"{2:020}.json", b"")
    assert log.paths() == []

"""Which tables do the tests of the command line ask about?"""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import Result
from typer.testing import CliRunner

from esker.cli.main import app
from esker.testing.builders import DeltaTableBuilder, column, metadata, protocol
from tests.cli.rides import build


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of the tests states a width, as a terminal would; here nobody looks on."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def rides(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with a history."""
    folder = tmp_path_factory.mktemp("demo") / "rides"
    build(folder)
    return str(folder)


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three rows in two files, with values that JSON and CSV have no words for."""
    table = DeltaTableBuilder(tmp_path_factory.mktemp("people") / "people")
    columns = [
        column("id", "long", nullable=False), column("score", "double"), column("data", "binary"),
        column("tags", {"type": "array", "elementType": "string", "containsNull": True}),
        column("home", {"type": "struct", "fields": [column("street", "string")]}),
        column("counts", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}),
        column("born", "date"),
    ]  # fmt: skip
    table.commit({"protocol": protocol()}, {"metaData": metadata(columns)})
    for rows in (PEOPLE[:2], PEOPLE[2:]):
        table.commit({"add": table.write_data(pa.Table.from_pylist(rows, PEOPLE_SCHEMA))})
    return str(table.storage.url)


PEOPLE_SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("score", pa.float64()), ("data", pa.binary()), ("tags", pa.list_(pa.string())),
        ("home", pa.struct([("street", pa.string())])), ("counts", pa.map_(pa.string(), pa.int64())), ("born", pa.date32()),
    ]
)  # fmt: skip
PEOPLE = [
    {
        "id": 1, "score": float("nan"), "data": b"\x00\xff", "tags": ["a", None], "home": {"street": "Elm, 1"},
        "counts": [("x", 1)], "born": 0,
    },
    {"id": 2, "score": 0.5, "data": None, "tags": None, "home": None, "counts": None, "born": None},
    {"id": 3, "score": float("-inf"), "data": b"", "tags": [], "home": {"street": 'say "hi"'}, "counts": [], "born": 20000},
]  # fmt: skip
Esker = Callable[..., Result]


@pytest.fixture
def esker_() -> Esker:
    """Runs a command, and demands the exit code."""

    def run(*words: str | Path, code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    return run


@pytest.fixture
def json_of(esker_: Esker) -> Callable[..., object]:
    """Runs a command with --json, and gives the document."""
    return lambda *words: json.loads(esker_(*words, "--json").stdout)

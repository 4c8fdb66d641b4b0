"""Does the Python in the documents run?"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_docs import DOCUMENTS
from tests.cli.rides import build
from tests.conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str) -> Iterator[tuple[int, str]]:
    """Each block of Python with the line that it begins at."""
    text = (ROOT / document).read_text()
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start(1)), found[1]


def run(document: str) -> None:
    """Run the blocks, with the names of each known to the next."""
    names: dict[str, object] = {}
    for line, block in blocks(document):
        # blank lines before it, so that an error tells its line in the document
        exec(compile("\n" * line + block, str(ROOT / document), "exec"), names)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "document", ["README.md", "docs/index.md", "docs/writing.md", "docs/maintenance.md", "docs/dropping-features.md", "docs/iceberg.md", "docs/iceberg-maintenance.md", "docs/lance.md"]
)
def test_the_blocks_of_a_document_run_one_after_another(document, tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    run(document)


@pytest.mark.spark
@pytest.mark.slow
def test_the_first_lines_run_on_the_table_of_the_demo(esker_, tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    esker_("demo", "--engine", "arrow", "--keep", "playground")
    run("docs/getting-started.md")
    for line in (ROOT / "docs" / "getting-started.md").read_text().splitlines():
        if line.startswith("esker ") and not line.startswith("esker demo"):
            esker_(*shlex.split(line)[1:])


def test_what_is_said_of_reading_runs_on_a_table_with_a_history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build("lake/rides")
    run("docs/reading.md")


def test_what_is_said_of_clients_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("docs/which-features.md")


def test_what_is_said_of_enabling_features_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("docs/enabling-features.md")


@pytest.mark.parametrize("document", ["docs/iceberg-versions.md", "docs/reading-iceberg.md"])
def test_what_is_said_of_reading_and_upgrading_iceberg_tables_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(document)


def test_every_document_with_python_is_run_here():
    known = set(re.findall(r'"((?:docs/)?[\w-]+\.md)"', Path(__file__).read_text()))
    assert {str(path.relative_to(ROOT)) for path in DOCUMENTS if BLOCK.search(path.read_text())} <= known

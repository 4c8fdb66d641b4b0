"""Is the data on clients no bolder than what clients were seen to do?

What was seen is kept in files; `make verify-clients` sees it anew. One client is installed with the tests, and asked here.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from esker.compat.clients import client
from esker.compat.verdicts import Judgement, Verdict
from esker.core.features import Operation
from tests.conftest import ROOT
from tests.interop.clients import observed
from tests.interop.clients.__main__ import verified
from tests.interop.clients.asking import build
from tests.interop.clients.catalogue import FORMATS, cases
from tests.interop.clients.cells import Agreement, Cell, Outcome, Seen, counted
from tests.interop.clients.environments import Environment, environments
from tests.interop.clients.judging import cells, contracts

FALSE = (Agreement.FALSE_YES, Agreement.MISSED)
GUIDE = ROOT / "docs" / "which-features.md"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of each format."""
    folder = tmp_path_factory.mktemp("shown")
    for format in FORMATS:
        build(cases(format), folder / format / "tables")
    return folder


def seen(format: str, shown: Path) -> list[Cell]:
    return list(cells(format, observed.observations(format), contracts(shown / format / "tables")))


@pytest.mark.parametrize("format", FORMATS)
def test_no_client_does_less_than_the_data_says(shown: Path, format: str) -> None:
    found = seen(format, shown)
    assert len(found) > 300
    assert not [str(cell) for cell in found if cell.agreement in FALSE]
    assert not counted(found)[Agreement.OPEN]


def test_the_guide_tells_how_many_cells_there_are(shown: Path) -> None:
    found = [cell for format in FORMATS for cell in seen(format, shown)]
    guide = GUIDE.read_text()
    assert f"{len(found):,} cells" in guide
    assert f"{counted(found)[Agreement.EQUAL]:,} of them" in guide


@pytest.mark.parametrize("format", FORMATS)
def test_every_table_was_shown_to_a_client_and_every_release_seen_is_in_the_data(format: str) -> None:
    seen = list(observed.observations(format))
    assert {case.name for case in cases(format)} == {one.table for one in seen}
    assert all(client(format, name).release(release) for name, release in {(one.client, one.release) for one in seen})


@pytest.mark.peers
def test_the_client_that_is_installed_does_what_the_data_says(shown: Path) -> None:
    known = client("delta", "deltalake")
    here = Environment(known, version("deltalake"), (), Path(sys.executable))
    if known.release(here.version) is None:
        pytest.skip(f"nothing is known of deltalake {here.version}")
    found = list(verified(here, cases("delta"), shown / "delta"))
    assert len(found) >= 200
    assert not [str(cell) for cell in found if cell.agreement in FALSE]


W, R, X = Seen.WORKED, Seen.REFUSED, Seen.WRONG


@pytest.mark.parametrize(
    "verdict, ways, expected",
    [
        (Verdict.YES, (W,), Agreement.EQUAL), (Verdict.YES, (R,), Agreement.FALSE_YES), (Verdict.YES, (X,), Agreement.FALSE_YES),
        (Verdict.YES, (R, W), Agreement.EQUAL), (Verdict.YES, (W, X), Agreement.FALSE_YES), (Verdict.LIMITED, (W,), Agreement.EQUAL),
        (Verdict.LIMITED, (R,), Agreement.FALSE_YES), (Verdict.REFUSES, (R,), Agreement.EQUAL), (Verdict.REFUSES, (W,), Agreement.CAREFUL),
        (Verdict.REFUSES, (R, X), Agreement.MISSED), (Verdict.HARMS, (X,), Agreement.EQUAL), (Verdict.HARMS, (R,), Agreement.WARNED),
        (Verdict.UNKNOWN, (W,), Agreement.OPEN),
    ],
)  # fmt: skip
def test_a_prediction_may_be_more_careful_than_the_client_and_never_bolder(verdict: Verdict, ways: tuple[Seen, ...], expected: Agreement) -> None:
    assert cell(Operation.READ, *ways, predicted=verdict).agreement is expected


def test_what_was_seen_is_kept_and_gives_way_to_what_is_seen_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed, "FOLDER", tmp_path)
    observed.recorded("delta", [cell(Operation.READ, W, X), cell(Operation.WRITE, R)])
    observed.recorded("delta", [cell(Operation.READ, R, release="2.0")])
    observed.recorded("delta", [cell(Operation.WRITE, W)])
    kept = {(one.release, one.operation): [outcome.seen for outcome in one.ways.values()] for one in observed.observations("delta")}
    assert kept == {("1.0", Operation.READ): [W, X], ("1.0", Operation.WRITE): [W], ("2.0", Operation.READ): [R]}


def cell(operation: Operation, *ways: Seen, predicted: Verdict = Verdict.YES, release: str = "1.0") -> Cell:
    outcomes = {f"way {number}": Outcome(seen) for number, seen in enumerate(ways)}
    return Cell("paper", release, "a table", operation, Judgement(predicted), outcomes)


def test_an_environment_holds_what_the_data_says_was_run() -> None:
    found = {str(one): one.requirements for one in environments("delta")}
    assert found["deltalake==1.6.6"][0] == "deltalake==1.6.6"
    assert found["polars==1.9.0"][:2] == ("polars==1.9.0", "deltalake==0.20.2")
    assert "numpy<2" in found["deltalake==0.20.0"]
    assert len(found) > 60

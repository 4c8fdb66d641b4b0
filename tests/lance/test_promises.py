"""Can a Lance table be promised to clients, and is the promise then kept?  (lance-format-versioning.md; "Feature flags")"""

from pathlib import Path

import pytest

import esker
from esker.compat.promises import broken
from esker.core.demands import PROMISES, Contract
from esker.core.protocol_changes import Drop
from esker.errors import InvalidRequest
from esker.lance.create import FILE_VERSION, MANIFEST_NAMES
from tests.delta.arranging import ArrowArranger
from tests.lance.tables import ROWS, editor, made

OLDEST = {FILE_VERSION: "2.0", MANIFEST_NAMES: "V1"}
WRITING = "pylance==0.18.2: write"
"""Before the configuration of tables had a flag."""


@pytest.fixture
def promised(tmp_path: Path) -> esker.Table:
    return made(tmp_path / "t", properties=OLDEST).require([WRITING])


def test_a_promise_asks_nothing_of_clients_by_itself(promised: esker.Table) -> None:
    assert promised.promises == (WRITING,)
    table = promised.at()
    assert table.describe().properties == {PROMISES: WRITING}
    assert table.describe().protocol == "reader flags 0, writer flags 0, data file version 2.0"
    assert table.compat(["pylance==0.18.2"]).breaches == ()
    assert table.unrequire().at().describe().properties == {}


def test_what_a_promise_forbids_is_refused_unless_it_is_forced(promised: esker.Table) -> None:
    version = promised.version
    with pytest.raises(InvalidRequest, match="writer flag 8"):
        promised.set_properties({"owner": "nobody"})
    assert promised.at().version == version
    assert promised.append(ROWS).to_arrow().num_rows == 20
    with promised.forced():
        promised.set_properties({"owner": "nobody"})
    assert promised.at().describe().properties == {"owner": "nobody", PROMISES: WRITING}
    (breach,) = promised.compat(["pylance"]).breaches
    assert breach.startswith(WRITING)
    assert promised.drop_feature("TABLE_CONFIG", dry_run=True).gained


def no_deletion_files(text: str, contract: Contract) -> tuple[str, ...]:
    return (text,) if "reader flag 1" in {demand.name for demand in contract.demands} else ()


def test_deletion_files_may_break_a_promise(promised: esker.Table) -> None:
    table = promised._table.judged_by(no_deletion_files)
    with pytest.raises(InvalidRequest, match="promised"):
        table.delete("id < 3", editor())
    assert promised.at().to_arrow().num_rows == ROWS.num_rows
    marked = table.judged_by(None).delete("id < 3", editor())
    assert marked.judged_by(no_deletion_files).delete("id = 4", editor()).version > marked.version  # it is broken already


def test_a_promise_that_a_rival_has_made_meanwhile_is_kept(tmp_path: Path) -> None:
    ours = made(tmp_path / "t", properties=OLDEST)
    esker.open(tmp_path / "t").require([WRITING])
    with pytest.raises(InvalidRequest, match="promised"):
        ours.set_properties({"owner": "nobody"})


def test_a_table_that_would_break_its_own_promise_is_not_created(tmp_path: Path) -> None:
    asked = {**OLDEST, "owner": "nobody", PROMISES: WRITING}
    with pytest.raises(InvalidRequest, match="promised"):
        made(tmp_path / "t", properties=asked)
    with pytest.raises(esker.NotFound):
        esker.open(tmp_path / "t")
    assert made(tmp_path / "t", properties=asked, force=True).promises == (WRITING,)


def test_a_table_that_is_replaced_or_restored_keeps_its_promises(promised: esker.Table) -> None:
    with pytest.raises(InvalidRequest, match="promised"):
        made(Path(promised.location.removeprefix("file://")), properties={**OLDEST, "owner": "nobody"}, if_exists="replace")
    again = made(Path(promised.location.removeprefix("file://")), properties=OLDEST, if_exists="replace")
    assert again.promises == (WRITING,)
    assert again.restore(version=1).promises == (WRITING,)
    assert again.at().describe().properties == {PROMISES: WRITING}


def test_dropping_flags_keeps_the_promise(promised: esker.Table) -> None:
    with promised.forced():
        promised.set_properties({"owner": "nobody"})
    done, dropped = promised._table.judged_by(broken).drop_features(Drop(("TABLE_CONFIG",)), ArrowArranger())
    assert dropped.is_done
    assert done.describe().properties == {PROMISES: WRITING}


@pytest.mark.parametrize("change", [lambda t: t.enable("STABLE_ROW_IDS"), lambda t: t.upgrade(2), lambda t: t.enable("DELETION_FILES", dry_run=True)])
def test_flags_are_not_enabled(promised: esker.Table, change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidRequest, match="follow from its content"):
        change(promised)

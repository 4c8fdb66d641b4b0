"""Is every table below a root found, looked at by its metadata alone, and counted?"""

import csv
import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

import esker
from esker.auditing.clients import NEVER, judgement, releases
from esker.auditing.find import Skipped, Spot, search
from esker.auditing.forms import to_csv, to_json
from esker.check.model import Severity
from esker.compat.report import compatibility
from esker.compat.verdicts import Verdict
from esker.core.features import Presence
from esker.core.types import LONG, Field, Struct
from esker.delta import glance as glances
from esker.delta.glance import glance
from esker.delta.snapshot import Place
from esker.iceberg.metadata import EncryptionKey
from esker.storage import open_storage
from esker.testing.faults import Wrapping
from tests.auditing.lakes import lake, table
from tests.check.delta.broken import BROKEN
from tests.delta.tables import ID, Log, add, ids, inline, metadata, protocol, remove
from tests.fuzz.seeds import SEEDS
from tests.iceberg.tables import Builder
from tests.lance.tables import flagged, made


def found(root: Path, hidden: bool = False) -> tuple[list[Spot], list[Skipped]]:
    with ThreadPoolExecutor(2) as pool:
        state = search(open_storage(root), pool, hidden)
    return state.spots, state.skipped


def test_tables_of_all_formats_are_found_and_their_own_folders_not_searched(tmp_path: Path) -> None:
    spots, skipped = found(lake(tmp_path))
    assert spots == [
        Spot("broken", "delta"), Spot("iceberg", "iceberg"), Spot("sales/customers", "delta"), Spot("sales/orders", "delta"),
        Spot("vectors.lance", "lance"), Spot("web/clicks", "delta"),
    ]  # fmt: skip
    assert skipped == [Skipped(".trash", "it is hidden"), Skipped("_staging", "it is hidden")]


def test_what_a_format_version_admits_is_remarked_upon_only_where_a_table_has_it(tmp_path: Path) -> None:
    for version in "123":
        esker.create(tmp_path / f"v{version}", "id bigint", format="iceberg", properties={"format-version": version})
    builder = Builder(Struct((Field("id", LONG, id=1),)), version=3, storage=open_storage(tmp_path / "encrypted"))
    builder.metadata = replace(builder.metadata, encryption_keys=(EncryptionKey("k", "AA=="),))
    builder.publish()
    told = {table.folder: [remark.what for remark in table.remarks] for table in esker.audit(tmp_path).tables}
    encrypted = "Esker does not read it: encryption_keys: Esker does not decrypt tables"
    assert told == {"encrypted": [encrypted], "v1": [], "v2": [], "v3": []}


def test_hidden_folders_are_searched_on_demand(tmp_path: Path) -> None:
    spots, skipped = found(lake(tmp_path), hidden=True)
    assert {".trash/old", "_staging/half"} <= {spot.folder for spot in spots}
    assert not skipped


def test_a_root_can_be_a_table_itself_and_of_two_formats(tmp_path: Path) -> None:
    table(tmp_path)
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata/v1.metadata.json").write_text("{}")
    assert found(tmp_path)[0] == [Spot("", "delta"), Spot("", "iceberg")]


def test_links_are_followed_out_of_the_root_and_never_in_circles(tmp_path: Path) -> None:
    root, outside = tmp_path / "lake", tmp_path / "elsewhere"
    table(root / "a/real")
    table(outside / "deep/far")
    (outside / "deep/round").symlink_to(outside)
    (root / "out").symlink_to(outside)
    (root / "a/again").symlink_to(root / "a/real")
    (root / "a/up").symlink_to(tmp_path)
    (root / "a/loop").symlink_to(root)
    (root / "out2").symlink_to(outside / "deep")
    spots, skipped = found(root)
    assert spots == [Spot("a/real", "delta"), Spot("out/deep/far", "delta")]
    assert {one.folder for one in skipped} == {"a/again", "a/loop", "a/up", "out/deep/round", "out2"}
    assert all("link" in one.why for one in skipped)


def test_a_folder_that_cannot_be_listed_is_told_and_keeps_no_other_from_being_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path / "open/t")
    (tmp_path / "shut").mkdir()
    scan = os.scandir

    def refusing(path: str) -> "Iterator[os.DirEntry[str]]":
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr("esker.storage.browse.os.scandir", refusing)
    spots, skipped = found(tmp_path)
    assert spots == [Spot("open/t", "delta")]
    assert skipped == [Skipped("shut", "it cannot be listed: the operating system denies access")]


def test_an_audit_tells_each_table_its_state_and_its_findings(tmp_path: Path) -> None:
    audit = esker.audit(lake(tmp_path))
    by_folder = {one.folder: one for one in audit.tables}
    orders = by_folder["sales/orders"]
    assert (orders.format, orders.version, orders.files, orders.size, orders.columns) == ("delta", 1, 3, 300, 1)
    assert orders.protocol == "(3, 7, [deletionVectors], [deletionVectors])"
    assert orders.features == {"deletionVectors": Presence.ACTIVE}
    assert orders.remarks == ()
    clicks = by_folder["web/clicks"]
    assert any("unheardOf is a feature that Esker does not know" in remark.what for remark in clicks.remarks)
    assert clicks.files is None
    assert by_folder["broken"].worst is Severity.ERROR
    for other in ("iceberg", "vectors.lance"):
        assert by_folder[other].remarks
        assert by_folder[other].format in ("iceberg", "lance")


def test_lance_tables_are_told_as_others_are(tmp_path: Path) -> None:
    pytest.importorskip("lance")
    made(tmp_path / "vectors", features=["STABLE_ROW_IDS"])
    made(tmp_path / "later")
    flagged(tmp_path / "later", 1 << 40, 1 << 40)
    by_folder = {one.folder: one for one in esker.audit(tmp_path).tables}
    vectors, later = by_folder["vectors"], by_folder["later"]
    assert (vectors.format, vectors.version, vectors.columns, vectors.remarks) == ("lance", 1, 2, ())
    assert vectors.features["STABLE_ROW_IDS"] is Presence.IN_USE
    assert any(f"Esker does not read it: flag {1 << 40}" in remark.what for remark in later.remarks)


def test_totals_count_each_table_once(tmp_path: Path) -> None:
    audit = esker.audit(lake(tmp_path))
    vectors = next(total for total in audit.features if total.feature == "deletionVectors")
    assert (vectors.tables, vectors.supported, vectors.active, vectors.in_use) == (1, 0, 1, 0)
    for standing in audit.clients:
        if standing.release.reads:
            assert sum(standing.read.values()) == sum(one.contract is not None and one.format == standing.client.format for one in audit.tables)


def test_the_verdicts_of_an_audit_are_those_of_compat(tmp_path: Path) -> None:
    for number, features in enumerate([(), ("deletionVectors",), ("columnMapping", "rowTracking", "domainMetadata"), ("unheardOf",)]):
        contract = table(tmp_path / str(number), *features).delta().contract()
        told = judgement(contract)
        reports = {(report.client.name, report.versions): report for report in compatibility(contract).clients}
        for index, (client, release) in enumerate(releases("delta")):
            report = reports[client.name, release.versions]
            for letter, own, does in zip(told[2 * index : 2 * index + 2], (report.read, report.write), (release.reads, release.writes), strict=True):
                assert letter == ({v: k for k, v in _letters().items()}[own.verdict] if does else NEVER)


def _letters() -> dict[str, Verdict]:
    return {"y": Verdict.YES, "l": Verdict.LIMITED, "u": Verdict.UNKNOWN, "r": Verdict.REFUSES, "h": Verdict.HARMS}


def test_a_broken_promise_is_a_finding(tmp_path: Path) -> None:
    table(tmp_path / "t", "deletionVectors", esker__requires="deltalake==0.20.0: read")
    (one,) = esker.audit(tmp_path).tables
    assert one.worst is Severity.ERROR
    assert "a promise is broken" in one.remarks[0].what


@pytest.mark.parametrize("seed", [name for name in SEEDS if name != "mapped"])
def test_a_glance_tells_of_the_files_what_the_list_of_files_tells(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SEEDS[seed]()
    listed = log.open().files()
    monkeypatch.setattr(glances, "SHORT_LOG", 0)
    for name in ("00000000000000000002.crc",):
        log.storage.delete(f"_delta_log/{name}")
    without = glance(Place(log.storage))
    assert (without.files, without.size) == (None, None)
    slow = glance(Place(log.storage), with_files=True)
    assert (slow.files, slow.size) == (listed.num_rows, sum(listed.column("size").to_pylist()))
    assert slow.features == log.open().features()


def test_a_short_log_is_replayed_as_the_list_of_files_is() -> None:
    log = Log().start(features=("deletionVectors", "domainMetadata"))
    log.commit(add("a", size=1), add("b", size=10), add("c", size=100))
    log.commit(remove("a"), add("a", size=2, dv=inline(1), stats={"numRecords": 9}), remove("b"))
    log.commit(remove("a"), remove("c"), add("c", size=300))  # the remove of `a` is of the file without a vector
    log.commit({"domainMetadata": {"domain": "d", "configuration": "", "removed": False}}, add("c", size=400))
    seen = glance(Place(log.storage))
    listed = log.open().files()
    assert (seen.files, seen.size) == (listed.num_rows, sum(listed.column("size").to_pylist())) == (2, 402)
    assert seen.features == log.open().features()
    assert seen.contract == log.delta().contract()


def test_a_checksum_file_tells_the_size_without_a_commit_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log().start()
    made = log.open().append(ids(1, 2, 3))
    monkeypatch.setattr(glances, "SHORT_LOG", 0)
    seen = glance(Place(log.storage))
    assert (seen.files, seen.size) == (1, sum(made.files().column("size").to_pylist()))


def test_a_glance_reads_metadata_alone() -> None:
    log = Log().start()
    log.commit(add("a.parquet"))
    reads: list[str] = []

    class Watched(Wrapping):
        def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
            reads.append(path)
            return super().read(path, start, end)

    glance(Place(Watched(log.storage)), with_files=True)
    assert reads
    assert all(path.startswith("_delta_log/") for path in reads)


@pytest.mark.parametrize("rule", ["log.gap", "log.opens", "log.json", "log.replays", "protocol.reader-list"])
def test_a_broken_table_is_listed_with_a_finding(rule: str) -> None:
    log = Log()
    BROKEN[rule][0](log)
    (one,) = esker.audit(log.url).tables
    assert one.remarks


def test_what_is_not_there_cannot_be_audited(tmp_path: Path) -> None:
    for root in (tmp_path / "nowhere", f"memory://{tmp_path.name}-nothing/lake"):
        with pytest.raises(esker.NotFound):
            esker.audit(root)
    assert esker.audit(tmp_path).tables == ()


def test_names_that_are_no_text_are_written_as_escapes(tmp_path: Path) -> None:
    table(tmp_path / "sound")
    try:
        os.rename(os.fsencode(tmp_path / "sound"), os.fsencode(tmp_path) + b"/b\xffd")
    except OSError:
        pytest.skip("this file system has no names that are not UTF-8")
    audit = esker.audit(tmp_path)
    assert [one.folder for one in audit.tables] == ["b\\udcffd"]
    orjson.dumps(to_json(audit))


def test_json_and_csv_say_the_same(tmp_path: Path) -> None:
    audit = esker.audit(lake(tmp_path))
    told = to_json(audit)
    rows = list(csv.DictReader(io.StringIO(to_csv(audit))))
    assert [row["folder"] for row in rows] == [one["folder"] for one in told["tables"]]
    orders = next(row for row in rows if row["folder"] == "sales/orders")
    assert (orders["files"], orders["size"], orders["features"]) == ("3", "300", "deletionVectors: active")
    assert len(told["clients"]) == len(releases("delta"))


def test_a_name_that_a_spreadsheet_would_run_stays_a_text(tmp_path: Path) -> None:
    table(tmp_path / "=cmd()", name="+1+1")
    (row,) = csv.DictReader(io.StringIO(to_csv(esker.audit(tmp_path))))
    assert (row["folder"], row["name"]) == ("'=cmd()", "'+1+1")


def test_progress_is_told_and_ends_at_the_end(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []
    audit = esker.audit(lake(tmp_path), progress=lambda *step: steps.append(step))
    assert steps[-1] == ("reading tables", len(audit.tables), len(audit.tables))
    assert ("finding tables", len(audit.tables), None) in steps


def test_each_distinct_contract_is_judged_once(tmp_path: Path) -> None:
    root = f"memory://{tmp_path.name}-many/lake"
    for number in range(60):
        log = Log(open_storage(f"{root}/{number}"))
        log.commit(protocol(*(["deletionVectors"] if number % 2 else [])), metadata(ID))
    audit = esker.audit(root)
    assert len(audit.tables) == 60
    assert len(audit.judgements) == 2

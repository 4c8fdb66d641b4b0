"""Does the command line tell who gets a table right, and which rules it breaks?"""

from pathlib import Path

import pytest

import esker
from esker.cli.judge import EXIT_CODES
from esker.testing.builders import DeltaTableBuilder, column, metadata, protocol


def test_compat_tells_each_client_once_unless_all_releases_are_asked_for(esker_, json_of, rides):
    newest = json_of("compat", rides)["clients"]
    assert len({report["client"] for report in newest}) == len(newest)
    assert len(json_of("compat", rides, "--all")["clients"]) > len(newest)
    assert "deltalake" in esker_("compat", rides).stdout


def test_compat_of_one_release_says_why_and_by_which_evidence(json_of, tmp_path: Path):
    table = DeltaTableBuilder(tmp_path)
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    table.commit({"protocol": features}, {"metaData": metadata([column("id", "long")])})
    (old,) = json_of("compat", str(tmp_path), "--client", "deltalake==0.20.0")["clients"]
    assert old["read"]["verdict"] == "refuses"
    assert [reason["feature"] for reason in old["read"]["reasons"]] == ["deletionVectors"]
    assert old["evidence"] == "run"
    assert old["source"]
    assert any(remedy.startswith("to read: deltalake") for remedy in old["remedies"])


def test_compat_of_an_unknown_client_is_refused(esker_, rides):
    esker_("compat", rides, "--client", "paper", code=2)


def test_compat_after_a_change_tells_who_is_lost_and_gained(esker_, json_of, tmp_path: Path):
    esker.create(tmp_path, "id BIGINT")
    told = json_of("compat", str(tmp_path), "--client", "deltalake==0.20.0", "--after", "enable=deletionVectors")
    assert [(shift["operation"], shift["because_of"]) for shift in told["lost"]] == [(o, ["deletionVectors"]) for o in ("read", "write")]
    assert told["gained"] == []
    shown = esker_("compat", str(tmp_path), "--client", "deltalake==0.20.0", "--after", "upgrade=1,4").stdout
    assert "lost: nobody" in shown
    assert "after the change" in shown
    esker_("compat", str(tmp_path), "--after", "drop=deletionVectors", code=2)  # there is none


@pytest.mark.parametrize("text", ["enable", "enable=", "upgrade=", "upgrade=a,b", "paint=blue"])
def test_a_change_that_nobody_understands_is_refused(esker_, rides, text):
    assert "--after" in esker_("compat", rides, "--after", text, code=2).stderr


def test_promises_are_made_shown_kept_forced_and_taken_back(esker_, json_of, tmp_path: Path):
    table, promise = str(tmp_path), "deltalake==0.20.0: read"
    esker.create(tmp_path, "id BIGINT")
    esker_("require", table, promise)
    assert "Every promise is kept." in esker_("compat", table, "--client", "trino").stdout
    vectors = "delta.enableDeletionVectors=true"
    assert promise in esker_("set", table, vectors, code=2).stderr
    esker_("set", table, vectors, "--force")
    assert json_of("compat", table, "--client", "trino")["breaches"]
    assert f"broken: {promise}" in esker_("compat", table, "--client", "trino").stdout
    esker_("require", table, "--take-back")
    assert json_of("compat", table, "--client", "trino")["promises"] == []
    esker_("require", table, code=2)


def test_check_is_quiet_on_a_sound_table_and_has_an_exit_code_by_severity(esker_, rides, tmp_path: Path):
    esker_("check", rides, "--deep")
    table = DeltaTableBuilder(tmp_path)
    table.commit({"protocol": protocol()}, {"metaData": metadata([column("id", "long")])})
    table.version += 1
    table.commit({"commitInfo": {}})
    worst = max(EXIT_CODES.values())
    broken = esker_("check", str(tmp_path), code=worst)
    assert "log.gap" in broken.stdout
    told = esker_("check", str(tmp_path), "--json", code=worst)
    assert '"severity": "error"' in told.stdout or '"severity":"error"' in told.stdout


def test_what_is_no_table_cannot_be_checked(esker_, tmp_path: Path):
    esker_("check", str(tmp_path), code=2)

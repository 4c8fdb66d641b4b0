"""Is the check quiet on the valid tables of the corpus, and loud on the others?"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from esker.check.delta.rules import check_delta
from esker.check.model import Severity
from esker.delta.snapshot import Place
from esker.storage import open_storage
from tests.conftest import corpus_cases

pytestmark = pytest.mark.corpus

KNOWN = {
    # "One millisecond later than the previous commit's `inCommitTimestamp`" is asked of every commit, and one goes back by years.
    "delta/delta-rs/cdc_ict_table": {"commit.timestamps-rise"},
    # The commit names the source's files by `../`, the checkpoint by where they were in a bucket.
    "delta/trino/deltalake/clone_merge/clone_merge_cloned": {"checkpoint.replay"},
}
"""Tables that readers can read and that break a rule all the same: the tests below prove it by the log alone."""


@pytest.mark.parametrize("entry", corpus_cases("delta"))
def test_valid_tables_have_no_error_and_invalid_ones_a_finding(corpus: Path, entry: dict[str, Any]) -> None:
    # Files that lie elsewhere cannot be looked for, so only what needs the table's own storage is looked into deeply.
    is_deep = entry.get("error") == "missing-dv-file"
    found = list(check_delta(Place(open_storage(corpus / entry["table"])), deep=is_deep))
    if entry.get("error"):
        assert found
    else:
        errors = {finding.rule for finding in found if finding.severity is Severity.ERROR}
        assert errors == KNOWN.get(entry["table"], set())


def actions(log: Path) -> Iterator[list[dict[str, Any]]]:
    """The actions of each commit, oldest first."""
    for file in sorted(log.glob("*.json")):
        yield [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


def test_a_table_of_the_corpus_has_a_timestamp_that_goes_back(corpus: Path) -> None:
    """Writer Requirements for In-Commit Timestamps: larger than that of the commit before."""
    commits = list(actions(corpus / "delta/delta-rs/cdc_ict_table/_delta_log"))
    (metadata,) = [action["metaData"] for commit in commits for action in commit if "metaData" in action]
    assert metadata["configuration"]["delta.enableInCommitTimestamps"] == "true"
    stamps = [action["commitInfo"]["inCommitTimestamp"] for commit in commits for action in commit if "commitInfo" in action]
    assert any(after <= before for before, after in pairwise(stamps))


def test_a_table_of_the_corpus_has_a_checkpoint_of_other_files_than_its_commits(corpus: Path) -> None:
    """Action Reconciliation: a checkpoint holds the files that the commits up to its version leave, by their paths."""
    log = corpus / "delta/trino/deltalake/clone_merge/clone_merge_cloned/_delta_log"
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    version = int(checkpoint.name[:20])
    live: set[str] = set()
    for number, commit in enumerate(actions(log)):
        if number <= version:
            live -= {action["remove"]["path"] for action in commit if "remove" in action}
            live |= {action["add"]["path"] for action in commit if "add" in action}
    written = {add["path"] for add in pq.read_table(checkpoint).column("add").to_pylist() if add}
    assert live != written

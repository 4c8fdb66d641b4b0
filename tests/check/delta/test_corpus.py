"""Is the check quiet on the valid tables of the corpus, and loud on the others?"""

from pathlib import Path
from typing import Any

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
"""Tables that readers can read and that break a rule all the same."""


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

"""Is the check quiet on the valid Lance tables of the corpus, and loud on the others?"""

from pathlib import Path
from typing import Any

import pytest

import esker
from esker.check.model import Severity
from tests.conftest import corpus_cases

pytestmark = pytest.mark.corpus

KNOWN = {
    # Lance keeps these to test that it mends what its older releases have broken; each says by its name what that is.
    "lance/lance/v0.10.5/corrupt_schema": {"fragments.fields-once"},
    "lance/lance/v0.16.0/wrong_data_version_no_fix.lance": {"files.versions", "fragments.once"},
    "lance/lance/v0.21.0/bad_index_fragment_bitmap": {"indices.segments"},
}
"""Tables that readers can read and that break a rule all the same."""


@pytest.mark.parametrize("entry", corpus_cases("lance"))
def test_valid_tables_have_no_error_and_invalid_ones_a_finding(corpus: Path, entry: dict[str, Any]) -> None:
    found = esker.check_table(corpus / entry["table"], deep=bool(entry.get("error")))
    errors = {finding.rule for finding in found if finding.severity is Severity.ERROR}
    if entry.get("error"):
        assert errors
    else:
        assert errors == KNOWN.get(entry["table"], set())

"""Is the check quiet on the valid Iceberg tables of the corpus, and loud on the others?"""

import os
from pathlib import Path
from typing import Any

import pytest

import esker
from esker.check.model import Severity
from tests.conftest import corpus_cases

pytestmark = pytest.mark.corpus

KNOWN = {
    # "Default values are added to struct fields in v3", and this is a table of version 2.
    "iceberg/duckdb-iceberg/add_columns_with_defaults_in_struct/default.db/add_columns_with_defaults_in_struct": {"schema.default-versions"},
    # A table of version 3 without `next-row-id`, which is "required in v3".
    "iceberg/duckdb-iceberg/timestamptz_ns": {"metadata.required"},
    # `last-column-id` is 1, and the columns have other ids.
    "iceberg/impala/hadoop_catalog/ice/iceberg_uppercase_col": {"metadata.last-column-id"},
    # Its manifest list was put together by hand: a sequence number beyond that of its own snapshot, and counts that are off.
    "iceberg/impala/hadoop_catalog/ice/iceberg_v2_null_delete_record": {"list.counts", "list.sequence-numbers"},
}
"""Tables that readers can read and that break a rule all the same."""


@pytest.mark.parametrize("entry", [c for c in corpus_cases("iceberg") if not c.values[0] or "metadata-only" not in c.values[0]["features"]])
def test_valid_tables_have_no_error_and_invalid_ones_a_fitting_finding(corpus: Path, entry: dict[str, Any]) -> None:
    folder = corpus / entry["table"]
    moves = dict.fromkeys(entry["path_prefixes"], str(folder))
    moves |= {path: os.path.normpath(folder / relative) for path, relative in (entry.get("outside") or {}).items()}
    found = esker.check_table(folder / entry["metadata"], deep=bool(entry.get("error")), relocate=moves)
    errors = {finding.rule for finding in found if finding.severity is Severity.ERROR}
    if kind := entry.get("error"):
        assert {"invalid-puffin": "file.vector", "missing-manifest": "manifest.there"}[kind] in errors
    else:
        assert errors == KNOWN.get(entry["table"], set())

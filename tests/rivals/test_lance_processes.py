"""Do many processes that change one Lance table at once leave what one after the other would have left?

They run for some seconds, or for as many as ESKER_RIVALS_SECONDS says; `test_processes` says what is held against what. (Section 9)
"""

import json
from collections import Counter
from pathlib import Path

import lance
import pytest

import esker
from tests.rivals.test_processes import CROWD, SECONDS, contents, seen_once, start, told, watching

_OTHERS = {"reserve_fragments", "overwrite"}
"""What is committed besides what is acknowledged: numbers for a compaction's fragments, and the creation."""


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 6 + 300)
@pytest.mark.parametrize("features", [[], ["STABLE_ROW_IDS"]], ids=["by addresses", "with row ids"])
def test_what_many_processes_were_told_is_what_the_table_holds(tmp_path: Path, features: list[str]) -> None:
    location = tmp_path / "table"
    esker.create(location, "id bigint, v bigint, p string", format="lance", features=features)
    journals = [tmp_path / f"{number}.jsonl" for number in range(len(CROWD))]
    crowd = [
        start(location, journal, kind, number, "lance_worker")
        for number, (kind, journal) in enumerate(zip(CROWD, journals, strict=True), 1)
    ]
    glances = [seen_once(location) for _ in watching(crowd)]
    assert [process.wait() for process in crowd] == [0] * len(crowd)

    table = esker.open(location)
    notes = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
    done = sorted((note for note in notes if "version" in note), key=lambda note: note["version"])
    acknowledged = [note["version"] for note in done]
    assert len(set(acknowledged)) == len(acknowledged)
    history = table.history().to_pylist()
    assert [row["version"] for row in history] == list(range(table.version, 0, -1))
    assert {row["operation"] for row in history if row["version"] not in set(acknowledged)} <= _OTHERS
    assert contents(table.to_arrow()) == told(done)
    assert lance.dataset(str(location)).count_rows() == len(told(done))
    assert not [finding for finding in table.check(deep=True) if finding.severity.name == "ERROR"]
    if features:
        ids = table.to_arrow(columns=["_rowid"]).column(0).to_pylist()
        assert len(set(ids)) == len(ids)
    assert glances
    counts = Counter(f"{note['operation']}{'' if 'version' in note else ' in vain'}" for note in notes)
    assert {name.removesuffix(" in vain") for name in counts} >= {"append", "delete", "update", "merge", "optimize"}
    print(f"\n{table.version} versions by {len(CROWD)} processes, {table.version / SECONDS:.1f} a second: {dict(counts)}")

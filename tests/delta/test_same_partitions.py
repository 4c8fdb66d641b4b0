"""Which files give way to rows in the same partitions?  (PROTOCOL.md, "Partition Value Serialization")"""

from typing import Any

import pytest

from esker.core import types as t
from esker.core.footers import FileStatistics
from esker.core.predicate import Truth
from esker.core.types import Field, Struct, Type
from esker.core.write import WrittenFile
from esker.delta.plan import Pruner
from esker.delta.same_partitions import same_partitions
from tests.delta.tables import Log, add


def log(kind: Type, *texts: str | None) -> Log:
    schema = Struct((Field("id", t.LONG), Field("p", kind), Field("q", t.STRING)))
    adds = [add(f"f{i}", partition={"p": text, "q": "x"}) for i, text in enumerate(texts)]
    return Log().start(schema, *adds, partition_by=["p", "q"])


def written(p: str | None, q: str = "x") -> WrittenFile:
    return WrittenFile("new", 1, 1, {"p": p, "q": q}, FileStatistics(1, {}))


CASES: list[tuple[Type, str | None, str | None, bool]] = [
    (t.STRING, "a", "a", True),
    (t.STRING, "a", "A", False),
    (t.INTEGER, "1", "1", True),
    (t.INTEGER, "1", "01", True),
    (t.STRING, "1", "01", False),
    # "An empty string for any type translates to a `null` partition value"
    (t.STRING, "", None, True),
    (t.STRING, None, None, True),
    (t.STRING, None, "null", False),
    # "Encoded as `{year}-{month}-{day} {hour}:{minute}:{second}.{microsecond}` [...] or [...] ISO8601 formatted"
    (t.TIMESTAMP, "2026-01-02 03:04:05", "2026-01-02T03:04:05.000000Z", True),
    (t.TIMESTAMP, "2026-01-02 03:04:05", "2026-01-02T03:04:06.000000Z", False),
    (t.DATE, "2026-01-02", "2026-01-02", True),
    (t.DOUBLE, "NaN", "NaN", True),
    (t.DOUBLE, "1.0", "1", True),
]


@pytest.mark.parametrize("kind, live, fresh, same", CASES)
def test_partitions_are_the_same_by_their_values(kind: Type, live: str | None, fresh: str | None, same: bool) -> None:
    snapshot = log(kind, live).snapshot()
    found = same_partitions(snapshot, [written(fresh)])
    assert [file.path for file in found.files] == (["f0"] if same else [])
    assert Pruner(snapshot)(found.condition).tolist() == [same]


def test_every_partition_that_was_written_to_counts_and_no_other() -> None:
    snapshot = log(t.INTEGER, "1", "2", "3", None).snapshot()
    found = same_partitions(snapshot, [written("1"), written(None), written("3", "y")])
    assert [file.path for file in found.files] == ["f0", "f3"]


def test_without_a_row_no_partition_is_meant() -> None:
    found: Any = same_partitions(log(t.INTEGER, "1").snapshot(), [])
    assert (found.files, found.condition) == ((), Truth(False))

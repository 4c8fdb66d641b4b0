"""How do tables of any format come about that clients are shown?"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import esker
from tests.interop.clients.tables import Case

PLAIN = "id BIGINT, name STRING"
Step = Callable[[Path], object]


def rows(*ids: int, **more: Iterable[Any] | pa.Array) -> pa.Table:
    """Rows with these ids."""
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {n}" for n in ids], **more})


def by_esker(name: str, schema: str | pa.Schema = PLAIN, before: pa.Table | None = None, after: Step | None = None, **told: Any) -> Case:
    """A table that Esker creates and appends rows to; what is told goes to `esker.create`, or to the case."""
    of_case = {key: told.pop(key) for key in ("holds", "appended", "forbidden") if key in told}
    given = rows(1, 2, 3) if before is None else before

    def build(place: Path) -> None:
        esker.create(place, schema, **told).append(given)
        if after is not None:
            after(place)

    return Case(name, name.partition(" ")[0], build, **{"holds": given, "appended": rows(4), **of_case})


def then(*steps: Step) -> Step:
    """One step after another."""

    def build(place: Path) -> None:
        for step in steps:
            step(place)

    return build

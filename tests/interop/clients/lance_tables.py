"""Which Lance tables are clients shown, to see what they make of each flag and version of files?  (lance-format-versioning.md)

What Esker writes, Esker has written: one table a version of data files, and one for each content that a flag follows from. Besides,
each bit is stated by hand, in one word or in both, on a table that any release of the last years could have written.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import esker
from esker.lance import flags
from esker.lance.create import FILE_VERSION, MANIFEST_NAMES, STABLE_ROW_IDS
from esker.lance.file_versions import STABLE
from tests.arrow_editor import ArrowEditor
from tests.interop.clients.making import Step, by_esker, rows
from tests.interop.clients.tables import Case
from tests.lance.tables import flagged

BITS = tuple(1 << place for place in range(12))
OLDEST = {FILE_VERSION: STABLE[0], MANIFEST_NAMES: "V1"}


def lance_cases() -> Iterator[Case]:
    """Every table."""
    yield from (_made(f"data file version {version}", {FILE_VERSION: version, MANIFEST_NAMES: "V1"}) for version in STABLE)
    yield _made("V2 manifest names used", {FILE_VERSION: STABLE[0]})
    yield _made("DELETION_FILES used", after=_deleting, holds=rows(2, 3))
    yield _made("STABLE_ROW_IDS used", features=[STABLE_ROW_IDS])
    yield _made("STABLE_ROW_IDS used, with deletion files", features=[STABLE_ROW_IDS], after=_deleting, holds=rows(2, 3))
    yield _made("TABLE_CONFIG used", {**OLDEST, "owner": "nobody"})
    yield Case("BASE_PATHS used", "BASE_PATHS", _cloned, rows(1, 2, 3), rows(4))
    for bit in BITS:
        if bit == flags.STABLE_ROW_IDS:
            continue  # no table is valid that states it and has no row ids, or the other way round
        for word, reader, writer in (("reader", bit, 0), ("writer", 0, bit), ("both", bit, bit)):
            yield _made(f"flag {bit} stated, {word}", after=_stating(reader, writer))


def _made(name: str, properties: dict[str, str] | None = None, **told: Any) -> Case:
    return by_esker(name, format="lance", properties=OLDEST if properties is None else properties, **told)


def _deleting(place: Path) -> None:
    esker.open(place)._table.delete("id = 1", ArrowEditor())


def _cloned(place: Path) -> None:
    """A table whose files lie in another one's folder, which stays."""
    place.rmdir()
    source = esker.create(place.parent / "cloned", rows(1, 2, 3), format="lance", properties=OLDEST, if_exists="replace")
    source.clone(place)


def _stating(reader: int, writer: int) -> Step:
    return lambda place: flagged(place, reader, writer)

"""How does one look at all tables below a root?

Metadata alone is read, by many threads, so that a bucket's answers are waited for together. Whatever is wrong with one table is a
remark on it and keeps no other from being looked at.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from esker.auditing.clients import judgement, standings
from esker.auditing.find import Search, Skipped, Spot, search
from esker.auditing.model import Audit, AuditedTable, FeatureTotal, legible
from esker.auditing.remarks import refused, remarks
from esker.core.features import Presence
from esker.errors import EskerError, NotFound
from esker.formats import glance_format
from esker.storage import open_storage
from esker.storage.browse import Level, below, level
from esker.storage.local import LocalStorage
from esker.storage.port import Storage

Progress = Callable[[str, int, int | None], None]
"""Is told what is being done, how much of it is done, and of how much."""




def audit(
    root: str | os.PathLike[str],
    *,
    sizes: bool = False,
    hidden: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress = lambda what, done, of: None,
) -> Audit:
    """Look at every table below a folder or a bucket's prefix: metadata alone, many at once.

    Sizes and numbers of files are told where that is cheap; with `sizes`, files are listed where it is not. `hidden` searches
    also the folders whose names begin with a dot or an underscore. `progress` is told what is being done and how far it is.
    """
    options = storage_options or {}
    storage = open_storage(root, options)
    _require(storage)
    with ThreadPoolExecutor(_LOCAL_THREADS if isinstance(storage, LocalStorage) else _REMOTE_THREADS) as pool:
        found = search(storage, pool, hidden, lambda count: progress("finding tables", count, None))
        tables: list[AuditedTable] = []
        for table in pool.map(lambda spot: _looked_at(storage, spot, sizes, options), found.spots):
            tables.append(table)
            progress("reading tables", len(tables), len(found.spots))
    return _summed_up(storage.url, tables, found)


_LOCAL_THREADS, _REMOTE_THREADS = 4, 32
"""A disk answers at once, and Python does one thing at a time; a bucket is mostly waited for."""


def _require(storage: Storage) -> None:
    """Refuse a root that is not there, rather than find nothing in it."""
    if level(storage) == Level():
        if isinstance(storage, LocalStorage):
            return
        raise NotFound("there is nothing here", where=storage.url)


def _looked_at(storage: Storage, spot: Spot, sizes: bool, options: Mapping[str, str]) -> AuditedTable:
    own = below(storage, spot.folder)
    folder, location = legible(spot.folder), legible(own.url)
    try:
        found = glance_format(spot.format, own, options, sizes)
    except EskerError as error:
        return AuditedTable(folder, location, spot.format, remarks=(refused(error),))
    about = found.about
    name = None if about.name is None else legible(about.name)
    return AuditedTable(
        folder, location, spot.format, name, about.version, about.protocol, found.contract, len(about.schema), found.files,
        found.size, about.modified, remarks(found),
    )  # fmt: skip


def _summed_up(root: str, tables: Sequence[AuditedTable], found: Search) -> Audit:
    counted = Counter(table.contract for table in tables if table.contract is not None)
    judgements = {contract: judgement(contract) for contract in counted}
    return Audit(
        root=legible(root),
        at=datetime.now(UTC),
        tables=tuple(tables),
        features=feature_totals(tables),
        clients=standings(counted, judgements),
        skipped=tuple(Skipped(legible(one.folder), legible(one.why)) for one in found.skipped),
        folders=found.folders,
        judgements=judgements,
    )


def feature_totals(tables: Iterable[AuditedTable]) -> tuple[FeatureTotal, ...]:
    """Each feature with the number of tables that have it, the most frequent first."""
    counted = Counter((table.format, name, presence) for table in tables for name, presence in table.features.items())
    names = {(format, name) for format, name, _ in counted}
    totals = [
        FeatureTotal(format, name, *(counted[format, name, p] for p in (Presence.SUPPORTED, Presence.ACTIVE, Presence.IN_USE)))
        for format, name in names
    ]
    return tuple(sorted(totals, key=lambda total: (-total.tables, total.format, total.feature)))

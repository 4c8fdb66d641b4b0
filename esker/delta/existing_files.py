"""Are the files that are there such as a table must have that is to stay convertible?  (PROTOCOL.md, "Iceberg Compatibility V1"
and "V2")"""

from collections.abc import Iterator

from esker.delta.intended import Intended
from esker.delta.properties import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2
from esker.delta.settled import Settled
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest


def check_convertible(base: Snapshot, after: Settled) -> None:
    """Raise `InvalidRequest`, with all that keeps the table from becoming convertible to Iceberg, if it is to become so."""
    if problems := [*_problems(base, after)]:
        raise InvalidRequest("files that are there stand against it", where=base.location, problems=problems)


def _problems(base: Snapshot, after: Settled) -> Iterator[str]:
    """Files are listed only where they have to be looked at."""
    before, then = Intended(base.metadata, base.protocol), Intended(after.metadata, after.protocol)
    fresh = [v for v in (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2) if then.is_active(v) and not before.is_active(v)]
    if not fresh:
        return
    files = base.bare_files.table
    if marked := len(files) - files.column("deletionVector").null_count:
        yield f"{marked} files have deletion vectors, of which Iceberg would not know; purge them first"
    # "Require that all `AddFile`s committed to the table have the `numRecords` statistic populated in their `stats` field"
    if ICEBERG_COMPAT_V1 in fresh and (uncounted := base.statistics.num_records().null_count):
        yield f"{uncounted} files do not say how many records they have, which {ICEBERG_COMPAT_V1.feature} wants of each"
    # "Require that partition column values are materialized into any Parquet data file that is present in the table"
    if ICEBERG_COMPAT_V1 in fresh and base.metadata.partition_columns and len(files):
        yield f"{len(files)} files may lack the partition columns, which {ICEBERG_COMPAT_V1.feature} wants in each"

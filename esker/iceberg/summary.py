"""What does a snapshot say of itself?  (spec, "Snapshots": `summary`; keys as the reference implementation writes them)"""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version as package_version

from esker.iceberg.data_files import Content, DataFile

ENGINE = {"engine-name": "esker", "engine-version": package_version("esker")}

_TOTALS = {
    "total-records": ("added-records", "deleted-records"),
    "total-files-size": ("added-files-size", "removed-files-size"),
    "total-data-files": ("added-data-files", "deleted-data-files"),
    "total-delete-files": ("added-delete-files", "removed-delete-files"),
    "total-position-deletes": ("added-position-deletes", "removed-position-deletes"),
    "total-equality-deletes": ("added-equality-deletes", "removed-equality-deletes"),
}


def summary(
    operation: str,
    added: Iterable[DataFile],
    removed: Iterable[DataFile],
    before: Mapping[str, str] | None,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """The summary of a snapshot; `before` is that of its parent, None where it has none."""
    counts: Counter[str] = Counter()
    partitions = set()
    for file in added:
        _count(counts, file, is_added=True)
        partitions.add((file.spec_id, file.partition))
    for file in removed:
        _count(counts, file, is_added=False)
        partitions.add((file.spec_id, file.partition))
    told = {"operation": operation, **{key: str(number) for key, number in sorted(counts.items()) if number}}
    told["changed-partition-count"] = str(len(partitions))
    for total, (plus, minus) in _TOTALS.items():
        known = "0" if before is None else before.get(total)
        if known is not None and known.lstrip("-").isdecimal():
            told[total] = str(int(known) + counts[plus] - counts[minus])
    return told | ENGINE | dict(extra)


def _count(counts: Counter[str], file: DataFile, is_added: bool) -> None:
    verb = "added" if is_added else "removed"
    counts[f"{verb}-files-size"] += file.content_size_in_bytes or file.file_size_in_bytes
    match file.content:
        case Content.DATA:
            counts["added-data-files" if is_added else "deleted-data-files"] += 1
            counts["added-records" if is_added else "deleted-records"] += file.record_count
        case Content.POSITION_DELETES:
            counts[f"{verb}-delete-files"] += 1
            counts[f"{verb}-dvs" if file.is_deletion_vector else f"{verb}-position-delete-files"] += 1
            counts[f"{verb}-position-deletes"] += file.record_count
        case Content.EQUALITY_DELETES:
            counts[f"{verb}-delete-files"] += 1
            counts[f"{verb}-equality-delete-files"] += 1
            counts[f"{verb}-equality-deletes"] += file.record_count

"""How are manifests written anew, without a change of their files?  (spec, "Snapshots": `replace`)"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from esker.core.footers import Bound
from esker.errors import EskerError
from esker.iceberg.commit import commit, is_certain
from esker.iceberg.data_files import ManifestEntry, Status
from esker.iceberg.file_change import REPLACE, FileChange
from esker.iceberg.manifest_lists import ManifestFile
from esker.iceberg.manifest_writer import total_order
from esker.iceberg.snapshot_writer import ENTRIES_PER_MANIFEST, SnapshotMaker, Written
from esker.iceberg.state import TableState


def rewrite_manifests(state: TableState) -> TableState:
    """Write the manifests anew, with the files of a partition together. Where there is one of a kind, nothing is gained."""
    kinds = {(m.partition_spec_id, m.is_deletes) for m in state.manifests if m.may_have_live_files}
    if len(kinds) == len(state.manifests):
        return state
    maker = _Rewriter(state, FileChange(REPLACE, is_fast=True))
    try:
        made = commit(state, maker)
    except EskerError as error:
        if is_certain(error):
            maker.discard(frozenset())
        raise
    maker.discard(frozenset(maker.used))
    return made


@dataclass
class _Rewriter(SnapshotMaker):
    """Makes a snapshot with the same files in other manifests. What rivals have added meanwhile is in it too."""

    def _filtered(self, base: TableState) -> tuple[list[ManifestFile], list[Written]]:
        groups: dict[tuple[int, bool], list[ManifestFile]] = {}
        for manifest in base.manifests:
            if manifest.may_have_live_files:
                groups.setdefault((manifest.partition_spec_id, manifest.is_deletes), []).append(manifest)
        written: list[Written] = []
        for (spec_id, is_deletes), manifests in groups.items():
            key = ("rewritten", tuple(m.manifest_path for m in manifests), base.metadata.format_version)
            if key not in self._cache:
                entries = _ordered([e for e in self._entries(manifests, base) if e.is_live])
                self._cache[key] = [
                    self._write(entries[at : at + ENTRIES_PER_MANIFEST], base, spec_id, is_deletes)
                    for at in range(0, len(entries), ENTRIES_PER_MANIFEST)
                ]
            written += self._cache[key]
        return [], written


def _ordered(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """By partition, nulls first, and then by path."""
    existing = [replace(entry, status=Status.EXISTING) for entry in entries]
    return sorted(existing, key=lambda entry: ([_rank(value) for value in entry.file.partition], entry.file.file_path))


def _rank(value: Bound | None) -> tuple[bool, str | tuple[Bound, float]]:
    return (False, "") if value is None else (True, total_order(value))

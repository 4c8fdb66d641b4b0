"""Which snapshots expire?  (spec, "Snapshot Retention Policy")

Pure. A branch keeps its newest snapshots, by number and by age; a tag keeps one; a reference that is too old goes, save main.
What no reference leads to is kept by age alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from esker.iceberg.metadata import BRANCH, MAIN, TableMetadata
from esker.iceberg.refs import ancestors

MAX_AGE = "history.expire.max-snapshot-age-ms"
LEAST = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE = "history.expire.max-ref-age-ms"
_FIVE_DAYS = 5 * 24 * 3600 * 1000
_FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Expiry:
    """What is to go."""

    snapshot_ids: tuple[int, ...]
    refs: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        return not self.snapshot_ids and not self.refs


def expiry(metadata: TableMetadata, now: int, max_age: int | None = None, least: int | None = None) -> Expiry:
    """What goes at a time in milliseconds. `max_age` and `least` take the place of what the table's properties say.

    What a branch asks for itself stands: it "defaults to" the table's, and whoever asked for it may need the older snapshots.
    """
    age = max_age if max_age is not None else _number(metadata.properties, MAX_AGE, _FIVE_DAYS)
    number = least if least is not None else _number(metadata.properties, LEAST, 1)
    ref_age = _number(metadata.properties, MAX_REF_AGE, _FOREVER)
    old_refs: list[str] = []
    kept: set[int] = set()
    reached: set[int] = set()
    for name, ref in metadata.refs.items():
        at = metadata.snapshot(ref.snapshot_id)
        limit = ref.max_ref_age_ms if ref.max_ref_age_ms is not None else ref_age
        if name != MAIN and (at is None or now - at.timestamp_ms > limit):
            old_refs.append(name)
            continue
        if ref.type != BRANCH:
            kept.add(ref.snapshot_id)
            continue
        own_age = ref.max_snapshot_age_ms if ref.max_snapshot_age_ms is not None else age
        own_least = ref.min_snapshots_to_keep if ref.min_snapshots_to_keep is not None else number
        for place, snapshot in enumerate(ancestors(metadata, ref.snapshot_id)):
            reached.add(snapshot.snapshot_id)
            if place < max(1, own_least) or now - snapshot.timestamp_ms <= own_age:
                kept.add(snapshot.snapshot_id)
    for snapshot in metadata.snapshots:
        if snapshot.snapshot_id not in reached and now - snapshot.timestamp_ms <= age:
            kept.add(snapshot.snapshot_id)
    gone = tuple(s.snapshot_id for s in metadata.snapshots if s.snapshot_id not in kept)
    return Expiry(gone, tuple(old_refs))


def _number(properties: Mapping[str, str], name: str, usual: int) -> int:
    text = properties.get(name, "")
    return int(text) if text.isdecimal() else usual

"""What did the older versions need that a log still reaches?  (PROTOCOL.md, "Action Reconciliation", "Checkpoints")

Every commit that is left, and every checkpoint, is asked by itself: what one of them says is needed by whoever goes back to it,
also where the newest version has no trace of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from esker.core.features import Feature, FeaturePresence
from esker.delta import checkpoint as checkpoints
from esker.delta import json_log, properties
from esker.delta.actions import JsonObject, parse_domain_metadata, parse_metadata
from esker.delta.features import FEATURES, Facts
from esker.delta.log import Checkpoint, Commit
from esker.delta.properties import CheckpointPolicy
from esker.delta.snapshot import Snapshot, list_log
from esker.errors import EskerError
from esker.storage.port import Storage

Need = Callable[[Facts], bool]
"""Whether what an entry of the log says cannot be understood without a feature."""


def with_past(presences: Iterable[FeaturePresence[Facts]], snapshot: Snapshot) -> tuple[FeaturePresence[Facts], ...]:
    """The same, and whether a version that the log reaches holds a trace of each; as they were where the log does not tell."""
    found = tuple(presences)
    try:
        told = [facts for _, facts in entries(snapshot)]
    except EskerError:
        return found
    return tuple(replace(p, in_past=None if p.feature is None else _any_use(p.feature, told)) for p in found)


def _any_use(feature: Feature[Facts], told: Iterable[Facts]) -> bool | None:
    answers = {feature.in_use(facts) for facts in told}
    return True if True in answers else None if answers == {None} else False


def last_need(snapshot: Snapshot, names: Iterable[str]) -> int | None:
    """The newest version in the log that still needs one of these features; None where no version does."""
    needs = [NEEDS[feature.name] for feature in FEATURES.named(names) if feature.name in NEEDS]
    found = (version for version, facts in entries(snapshot) if any(need(facts) for need in needs)) if needs else ()
    return max(found, default=None)


def entries(snapshot: Snapshot) -> Iterator[tuple[int, Facts]]:
    """What each commit and each checkpoint up to the snapshot says, with its version."""
    storage, where = snapshot.place.storage, snapshot.location
    listing = list_log(storage)
    written = [found for at in listing.checkpoints.values() for found in at if found.version <= snapshot.version]
    commits = [commit for version, commit in listing.commits.items() if version <= snapshot.version]
    oldest = min((found.version for found in written), default=None)
    # the state that a later checkpoint repeats was brought by a commit, which is asked
    with ThreadPoolExecutor(8) as pool:
        yield from pool.map(lambda commit: (commit.version, _of_commit(storage, commit, where)), commits)
        yield from pool.map(
            lambda found: (found.version, _of_checkpoint(storage, found, where, found.version == oldest)), written
        )


def _maps_columns(facts: Facts) -> bool:
    return facts.configuration.get(properties.COLUMN_MAPPING_MODE.name, "none").lower() != "none"


def _marks_rows(facts: Facts) -> bool:
    is_on = facts.configuration.get(properties.DELETION_VECTORS.name, "").lower() == "true"
    return is_on or bool(facts.has_deletion_vectors)


def _has_v2(facts: Facts) -> bool:
    policy = facts.configuration.get(properties.CHECKPOINT_POLICY.name, "").lower()
    return policy == CheckpointPolicy.V2.value or bool(facts.checkpoint_is_v2)


def _was_widened(facts: Facts) -> bool:
    feature = FEATURES.get("typeWidening")
    return feature is not None and bool(feature.in_use(facts))


NEEDS: Mapping[str, Need] = {
    "columnMapping": _maps_columns, "deletionVectors": _marks_rows, "v2Checkpoint": _has_v2, "typeWidening": _was_widened,
}  # fmt: skip
"""The features that keep history from being read without them, and what shows that."""


def _of_commit(storage: Storage, commit: Commit, where: str) -> Facts:
    data, place = storage.read(commit.file.path), f"{where}/{commit.file.path}"
    actions = list(json_log.find(data, ("metaData", "domainMetadata"), place))
    files = json_log.file_actions(data, _FILES, place)
    columns = [files.column(kind).combine_chunks().drop_null() for kind in _FILES.names]
    told = Facts(
        has_deletion_vectors=any(_any(column, "deletionVector") for column in columns),
        has_row_ids=_any(columns[0], "baseRowId"),
        has_change_files=bool(len(columns[2])),
        checkpoint_is_v2=False,
    )
    return _with_metadata(told, actions, where)


def _of_checkpoint(storage: Storage, found: Checkpoint, where: str, is_oldest: bool) -> Facts:
    """Tombstones are left out: the versions that had the files are gone."""
    actions = checkpoints.table_actions(storage, found)
    is_v2 = any(kind in ("checkpointMetadata", "sidecar") for kind, _ in actions)
    marked = numbered = False
    if is_oldest:
        sidecars = checkpoints.sidecars_of(actions, where)
        wanted = {"add": ["path", "deletionVector", "baseRowId"]}
        for _, table in checkpoints.file_columns(storage, found, sidecars, wanted):
            if "add" in table.column_names:
                adds = table.column("add").combine_chunks().drop_null()
                marked, numbered = marked or _any(adds, "deletionVector"), numbered or _any(adds, "baseRowId")
    told = Facts(
        has_deletion_vectors=marked, has_row_ids=numbered, has_change_files=False, checkpoint_is_v2=is_v2
    )
    return _with_metadata(told, actions, where)


def _with_metadata(told: Facts, actions: Sequence[tuple[str, JsonObject]], where: str) -> Facts:
    metadata = next((parse_metadata(body, where) for kind, body in reversed(actions) if kind == "metaData"), None)
    domains = frozenset(parse_domain_metadata(body, where).domain for kind, body in actions if kind == "domainMetadata")
    if metadata is None:
        return replace(told, domains=domains)
    return replace(told, domains=domains, configuration=metadata.configuration, schema=metadata.schema)


def _any(actions: pa.StructArray, field: str) -> bool:
    if not len(actions) or actions.type.get_field_index(field) < 0:
        return False
    return bool(pc.any(pc.is_valid(pc.struct_field(actions, field))).as_py())


_VECTOR = pa.struct([("storageType", pa.string())])
_FILES = pa.schema(
    [
        ("add", pa.struct([("path", pa.string()), ("deletionVector", _VECTOR), ("baseRowId", pa.int64())])),
        ("remove", pa.struct([("path", pa.string()), ("deletionVector", _VECTOR)])),
        ("cdc", pa.struct([("path", pa.string()), ("deletionVector", _VECTOR)])),
    ]
)

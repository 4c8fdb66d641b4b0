"""What is known of a table that its features can be told by?  (spec, "Snapshots", "Manifests", "Delete Formats")"""

from collections.abc import Iterable
from dataclasses import replace

import pyarrow.compute as pc

from esker.core.features import Feature, FeaturePresence, Operation
from esker.errors import EskerError
from esker.iceberg.data_files import Content
from esker.iceberg.features import Facts, gate
from esker.iceberg.state import TableState


def facts(state: TableState) -> Facts:
    """What the registry asks about; nothing of the files where the table may not be read."""
    known = Facts(replace(state.metadata, current_schema_id=state.schema.schema_id))
    try:
        gate(known, Operation.READ, state.location)
        return known if state.snapshot is None else _with_deletes(known, state)
    except EskerError:
        return known


def with_past(found: Iterable[FeaturePresence[Facts]], state: TableState) -> tuple[FeaturePresence[Facts], ...]:
    """The same, and whether a snapshot that can still be read holds a trace of each."""
    told = [facts(state.at(snapshot.snapshot_id)) for snapshot in state.metadata.snapshots]
    return tuple(replace(p, in_past=None if p.feature is None else _any_use(p.feature, told)) for p in found)


def _any_use(feature: Feature[Facts], told: Iterable[Facts]) -> bool | None:
    answers = {feature.in_use(facts) for facts in told}
    return True if True in answers else None if None in answers else False


def _with_deletes(known: Facts, state: TableState) -> Facts:
    """With what the manifests of delete files list; those of data files are not read."""
    manifests = [manifest for manifest in state.manifests if manifest.is_deletes]
    if not manifests:
        return replace(known, has_position_deletes=False, has_equality_deletes=False, has_deletion_vectors=False)
    files = state.files_of(manifests).deletes
    kinds = files.numbers("content")
    are_puffin = pc.equal(pc.utf8_lower(files.column("file_format")), "puffin").to_numpy(zero_copy_only=False)
    return replace(
        known,
        has_position_deletes=bool(((kinds == Content.POSITION_DELETES) & ~are_puffin).any()),
        has_equality_deletes=bool((kinds == Content.EQUALITY_DELETES).any()),
        has_deletion_vectors=bool(((kinds == Content.POSITION_DELETES) & are_puffin).any()),
    )

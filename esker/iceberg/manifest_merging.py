"""Which manifests are to become one?  (table properties `commit.manifest.*`)

Small manifests of one kind and one partition spec are put together until they have the target size, once there are enough.
"""

from collections.abc import Mapping, Sequence

from esker.iceberg.manifest_lists import ManifestFile

ENABLED = "commit.manifest-merge.enabled"
TARGET_SIZE = "commit.manifest.target-size-bytes"
LEAST = "commit.manifest.min-count-to-merge"


def bins(manifests: Sequence[ManifestFile], properties: Mapping[str, str], snapshot_id: int) -> list[list[ManifestFile]]:
    """The manifests in their order; those in one list are to become one. `snapshot_id` is the one that is being made."""
    if properties.get(ENABLED, "true").lower() != "true":
        return [[manifest] for manifest in manifests]
    target, least = _number(properties, TARGET_SIZE, 8 << 20), _number(properties, LEAST, 100)
    groups: dict[tuple[bool, int], list[ManifestFile]] = {}
    for manifest in manifests:
        groups.setdefault((manifest.is_deletes, manifest.partition_spec_id), []).append(manifest)
    return [packed for group in groups.values() for packed in _packed(group, target, least, snapshot_id)]


def _packed(group: Sequence[ManifestFile], target: int, least: int, snapshot_id: int) -> list[list[ManifestFile]]:
    found: list[list[ManifestFile]] = []
    size = target + 1
    for manifest in group:
        if size + manifest.manifest_length > target or manifest.manifest_length > target:
            found.append([])
            size = 0
        found[-1].append(manifest)
        size += manifest.manifest_length
    # The bin with what is new grows with each commit: it is left alone until there are enough of them.
    unpacked: list[list[ManifestFile]] = []
    for packed in found:
        is_newest = any(m.added_snapshot_id == snapshot_id for m in packed)
        unpacked += [[m] for m in packed] if is_newest and len(packed) < least else [packed]
    return unpacked


def _number(properties: Mapping[str, str], name: str, usual: int) -> int:
    text = properties.get(name, "")
    return int(text) if text.isdecimal() else usual

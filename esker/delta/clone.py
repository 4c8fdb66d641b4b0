"""How does a table begin with the files of another?  (PROTOCOL.md, "Add File and Remove File", "Deletion Vectors")

A shallow clone names the source's files where they lie, by absolute URIs, and copies none. It has an identity and a history of
its own; the source's vacuum does not know of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from esker.core.features import Operation
from esker.delta import properties
from esker.delta.actions import Add, DomainMetadata, Metadata
from esker.delta.deletion_vectors import DeletionVector, file_uri
from esker.delta.live_adds import live_adds
from esker.delta.protocol import Protocol, check_writable
from esker.delta.snapshot import Place, Snapshot, absolute_paths
from esker.errors import InvalidRequest
from esker.storage.paths import encoded, trimmed, url_parts


@dataclass(frozen=True, slots=True)
class Clone:
    """What the first commit of a clone holds, and what the history says of it."""

    adds: tuple[Add, ...]
    metadata: Metadata
    protocol: Protocol
    domains: tuple[DomainMetadata, ...]
    metrics: Mapping[str, int] = field(hash=False)


def cloning(source: Snapshot, target_url: str, now: int) -> Clone:
    """A shallow clone of the snapshot for the place `target_url`. `now` is in milliseconds since the epoch."""
    source.gate(Operation.READ)
    check_writable(source.protocol, target_url)
    _check_apart(source.location, target_url)
    adds = tuple(_adds(source))
    metrics = {
        "sourceTableSize": sum(add.size for add in adds), "sourceNumOfFiles": len(adds), "numRemovedFiles": 0,
        "numCopiedFiles": 0, "removedFilesSize": 0, "copiedFilesSize": 0,
    }  # fmt: skip
    domains = tuple(domain for name, domain in source.domains.items() if name in _COPIED_DOMAINS)
    return Clone(adds, _metadata(source.metadata, now), source.protocol, domains, metrics)


_COPIED_DOMAINS = ("delta.clustering",)
"""Other domains speak of the source's own commits, or belong to somebody who does not know the clone."""


def _check_apart(source: str, target: str) -> None:
    """A table inside another one is in the way of its vacuum."""
    one, other = f"{trimmed(source)}/", f"{trimmed(target)}/"
    if one.startswith(other) or other.startswith(one):
        raise InvalidRequest(f"a clone cannot lie in {target}: the source is in {source}", hint="Choose another place.")


def _adds(source: Snapshot) -> Iterator[Add]:
    urls = absolute_paths(source.files.table.column("path").combine_chunks(), source.place).to_pylist()
    for add, url in zip(live_adds(source), urls, strict=True):
        vector = None if add.deletion_vector is None else _absolute(add.deletion_vector, source.place)
        # Row ids are given out anew: the source's count on in the source.
        yield replace(
            add,
            path=_uri(url),
            data_change=True,
            deletion_vector=vector,
            base_row_id=None,
            default_row_commit_version=None,
        )


def _absolute(vector: DeletionVector, place: Place) -> DeletionVector:
    """ "If `storageType = 'p'` then `<absolute path>`", "which has the same format as the `path` field in the `add`/`remove`
    actions"; an inline vector stays as it is.
    """
    if vector.storage_type == "i":
        return vector
    return replace(vector, storage_type="p", path_or_inline=_uri(place.absolute(file_uri(vector))))


def _uri(url: str) -> str:
    scheme, authority, path = url_parts(url)
    return f"{scheme}://{authority}/{encoded(path)}"


def _metadata(source: Metadata, now: int) -> Metadata:
    """A new identity, without what the properties say of the source's own versions and row ids."""
    configuration = {key: value for key, value in source.configuration.items() if key not in _OF_THE_SOURCE}
    configuration |= {key: f"{prefix}-{uuid4()}" for key, prefix in _MATERIALIZED.items() if key in configuration}
    return replace(source, id=str(uuid4()), name=None, description=None, created_time=now, configuration=configuration)


_OF_THE_SOURCE = frozenset(
    known.name
    for known in (properties.TIMESTAMPS_SINCE_VERSION, properties.TIMESTAMPS_SINCE, properties.CHECKPOINT_PROTECTION)
)
_MATERIALIZED = {
    properties.ROW_ID_COLUMN.name: "_row-id-col",
    properties.ROW_COMMIT_VERSION_COLUMN.name: "_row-commit-version-col",
}

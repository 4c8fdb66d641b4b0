"""How does a library find files that lie elsewhere than their table says?

It reads the manifest itself, so it gets one to read in which the paths are as they are now. Such a manifest is a shallow clone
of the version: every file has a base path, and the first is the table's own folder.
"""

import struct

from esker.lance.flags import BASE_PATHS
from esker.lance.manifest import MAGIC
from esker.lance.messages import new_message
from esker.lance.snapshot import Snapshot
from esker.storage.paths import url_parts


def relocated_manifest(snapshot: Snapshot) -> bytes:
    """The version's manifest with every path as it is now, to be read from anywhere. It names no index."""
    manifest = snapshot.manifest
    message = new_message("Manifest")
    message.CopyFrom(manifest.message)
    for base, said in zip(manifest.base_paths, message.base_paths, strict=True):
        said.path = _spelled(snapshot.place.base_url(base))
    own = 1 + max((base.id for base in manifest.base_paths), default=-1)
    message.base_paths.add(id=own, is_dataset_root=True, path=_spelled(snapshot.place.url))
    for fragment in message.fragments:
        for file in fragment.files:
            if not file.HasField("base_id"):
                file.base_id = own
        if fragment.HasField("deletion_file") and not fragment.deletion_file.HasField("base_id"):
            fragment.deletion_file.base_id = own
    message.reader_feature_flags |= BASE_PATHS
    message.writer_feature_flags |= BASE_PATHS
    for name in ("index_section", "transaction_section", "transaction_before", "branch"):
        message.ClearField(name)
    message.transaction_file = ""
    return manifest_bytes(message.SerializeToString())


def manifest_bytes(body: bytes) -> bytes:
    """The file that a manifest of these bytes is."""
    return struct.pack("<I", len(body)) + body + struct.pack("<qhh4s", 0, 0, 2, MAGIC)


def _spelled(url: str) -> str:
    """A URL as Lance writes base paths: local ones are plain paths."""
    scheme, _, path = url_parts(url)
    return f"/{path}" if scheme == "file" else url

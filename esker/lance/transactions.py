"""What made a version?  (Lance table format, "Transaction", "Commit protocol")"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from esker.errors import EskerError
from esker.lance.manifest import Manifest
from esker.lance.messages import parse_message
from esker.lance.place import Place
from esker.lance.versions import TRANSACTIONS_FOLDER

MESSAGE = "__lance_commit_message"


@dataclass(frozen=True, slots=True)
class Transaction:
    """A change, as it was asked for. `operation` is None where Esker does not know its kind."""

    read_version: int
    uuid: str
    operation: str | None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    details: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def message(self) -> str | None:
        return self.properties.get(MESSAGE)


def parse_transaction(message: Any) -> Transaction:
    """The transaction that a message states."""
    operation = message.WhichOneof("operation")
    details = {} if operation is None else _details(operation, getattr(message, operation))
    return Transaction(message.read_version, message.uuid, operation, dict(message.transaction_properties), details)


def read_transaction(place: Place, manifest: Manifest) -> Transaction | None:
    """The transaction that made a version, from its file or from the manifest itself."""
    inline = manifest.inline_transaction
    if inline is not None:
        return parse_transaction(inline)
    name = manifest.transaction_file
    if not name or "/" in name:
        return None
    path = place.path(f"{TRANSACTIONS_FOLDER}/{name}")
    try:
        data = place.storage.read(path)
    except EskerError:  # files of transactions may be cleaned away, and nothing rests on them
        return None
    return parse_transaction(parse_message("Transaction", data, f"{place.storage.url}/{path}"))


def _details(operation: str, body: Any) -> dict[str, str]:
    match operation:
        case "append" | "overwrite" | "merge":
            return {"fragments": str(len(body.fragments))}
        case "delete":
            return {"predicate": body.predicate, "removedFragments": str(len(body.deleted_fragment_ids))}
        case "update":
            return {"newFragments": str(len(body.new_fragments)), "removedFragments": str(len(body.removed_fragment_ids))}
        case "create_index":
            return {"indices": ", ".join(index.name for index in body.new_indices)}
        case "rewrite":
            return {
                "removedFragments": str(sum(len(group.old_fragments) for group in body.groups)),
                "newFragments": str(sum(len(group.new_fragments) for group in body.groups)),
            }
        case "restore":
            return {"version": str(body.version)}
        case "clone":
            return {"location": body.ref_path, "version": str(body.ref_version)}
    return {}



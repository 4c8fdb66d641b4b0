"""One thing changed in a valid table: an action or a field flipped, dropped or said twice; a file cut, lost or changed in a bit.

The mutations are all of their kind, not drawn: for each line of each JSON file, each field at any depth, also in texts that hold
JSON; for each row of each checkpoint; for each file. `breaks` names a rule of PROTOCOL.md that the change breaks by its nature,
whatever a reader makes of it.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.check.delta.valid import Files

REQUIRED = {
    "add": {"path": str, "partitionValues": dict, "size": int, "modificationTime": int, "dataChange": bool},
    "remove": {"path": str, "dataChange": bool},
    "cdc": {"path": str, "partitionValues": dict, "size": int, "dataChange": bool},
    "metaData": {"id": str, "format": dict, "schemaString": str, "partitionColumns": list, "configuration": dict},
    "protocol": {"minReaderVersion": int, "minWriterVersion": int},
    "txn": {"appId": str, "version": int},
    "domainMetadata": {"domain": str, "configuration": str, "removed": bool},
    "deletionVector": {"storageType": str, "pathOrInlineDv": str, "sizeInBytes": int, "cardinality": int},
    "sidecar": {"path": str, "sizeInBytes": int, "modificationTime": int},
    "checkpointMetadata": {"version": int},
    "crc": {"tableSizeBytes": int, "numFiles": int, "numMetadata": int, "numProtocol": int, "metadata": dict, "protocol": dict},
}
"""The fields that the tables of PROTOCOL.md, "Actions" and "Version Checksum File Schema", do not call optional, with their types."""
MAPS = ("partitionValues", "configuration")
"""Of texts, which a checkpoint has as lists of pairs: one that is there twice is the same map."""
ONCE = ("protocol", "metaData", "txn", "domainMetadata", "add", "remove", "sidecar", "checkpointMetadata")
"""Of which a commit has one for its key, and a checkpoint too.  (Actions; Action Reconciliation)"""

Path = tuple[str | int, ...]
INSIDE = "(json)"
"""Stands in a path where a text is entered that holds JSON."""


@dataclass(frozen=True, slots=True)
class Mutation:
    kind: str
    what: str
    files: Files = field(repr=False)
    breaks: str | None = None


def mutations(files: Files) -> Iterator[Mutation]:
    for name, data in sorted(files.items()):
        if not name.startswith("_delta_log/"):
            if name.endswith(".bin"):
                yield from _bits(files, name, "deletion vector", range(0, len(data), 2))
            continue
        yield from _whole(files, name)
        if name.endswith(".json") or name.endswith(".crc") or name.endswith("_last_checkpoint"):
            yield from _lines(files, name)
        elif name.endswith(".parquet"):
            yield from _rows(files, name)
            yield from _bits(files, name, "checkpoint bytes", range(3, len(data), max(1, len(data) // 24)))


def _whole(files: Files, name: str) -> Iterator[Mutation]:
    data = files[name]
    part = _part(name)
    if not _is_last_word(files, name):
        yield Mutation(f"drop {part}", name, {path: body for path, body in files.items() if path != name})
    yield Mutation(f"cut {part}", name, files | {name: data[: len(data) // 2]})
    yield Mutation(f"empty {part}", name, files | {name: b""})


def _is_last_word(files: Files, name: str) -> bool:
    """Whether nothing but this commit tells of its version: without it the table is what it was before, and as valid."""
    return name.endswith(".json") and not any(path > name.removesuffix("json") for path in files if path.startswith("_delta_log/0") and path != name)


def _part(name: str) -> str:
    if name.endswith(".crc"):
        return "checksum file"
    if name.endswith("_last_checkpoint"):
        return "hint"
    return "sidecar" if "_sidecars" in name else "checkpoint" if "checkpoint" in name else "commit"


def _bits(files: Files, name: str, kind: str, places: range) -> Iterator[Mutation]:
    for place in places:
        data = bytearray(files[name])
        data[place] ^= 1 << (place % 8)
        yield Mutation(f"flip {kind}", f"{name} byte {place}", files | {name: bytes(data)})


def _lines(files: Files, name: str) -> Iterator[Mutation]:
    lines = [json.loads(line) for line in files[name].splitlines()]
    part = _part(name)

    def written(changed: list[Any]) -> Files:
        return files | {name: "".join(json.dumps(line) + "\n" for line in changed).encode()}

    for number, line in enumerate(lines):
        kind = "crc" if part == "checksum file" else "hint" if part == "hint" else next(iter(line))
        what = f"{name} line {number} ({kind})"
        rest = lines[:number] + lines[number + 1 :]
        if len(lines) > 1:
            yield Mutation("drop action", what, written(rest))
        if part == "commit":
            twice = "an action twice in one commit" if kind in ONCE else None
            yield Mutation("duplicate action", what, written([*lines, line]), twice)
        for how, path, changed, breaks in _fields(line, kind):
            yield Mutation(f"{how} {'checksum' if kind == 'crc' else kind} field", f"{what} {'.'.join(map(str, path))}", written([*lines[:number], changed, *lines[number + 1 :]]), breaks)


def _rows(files: Files, name: str) -> Iterator[Mutation]:
    table = pq.read_table(pa.BufferReader(files[name]))
    rows = table.to_pylist()

    def written(changed: list[Any]) -> Files:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(changed, table.schema), sink)
        return files | {name: bytes(sink.getvalue())}

    for number, row in enumerate(rows):
        kind = next(key for key, value in row.items() if value is not None)
        what = f"{name} row {number} ({kind})"
        yield Mutation("drop checkpoint row", what, written(rows[:number] + rows[number + 1 :]), "a checkpoint is the reconciled state")
        twice = "a checkpoint has one of each" if kind in ONCE else None
        yield Mutation("duplicate checkpoint row", what, written([*rows, row]), twice)
        for how, path, changed, breaks in _fields({kind: row[kind]}, kind):
            try:
                mutated = written([*rows[:number], row | changed, *rows[number + 1 :]])
            except (pa.ArrowException, TypeError, AttributeError, KeyError):
                continue  # the column's type has no room for it
            yield Mutation(f"{how} checkpoint field", f"{what} {'.'.join(map(str, path))}", mutated, breaks)


def _fields(document: Any, kind: str) -> Iterator[tuple[str, Path, Any, str | None]]:
    """Each field dropped, and flipped in several ways."""
    root = document if kind in ("crc", "hint") else document[kind]
    prefix: Path = () if root is document else (kind,)
    for path, value in _walk(root, prefix):
        if path[-1] != INSIDE and not isinstance(path[-1], int):
            yield "drop", path, _without(document, path), _breach(kind, path, None)
        if isinstance(path[-1], int):
            yield "drop", path, _without(document, path), _crc(kind, path)
        for other in _others(value):
            yield "flip", path, _with(document, path, other), _breach(kind, path, other)


def _walk(node: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    inside = _opened(node)
    if inside is not None:
        yield from _walk(inside, (*path, INSIDE))
        return
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if isinstance(node, list) and len(node) > 8:
        members = list(members)[:2]  # one of a histogram's bins is as good as another
    for key, value in members:
        if value is not None:
            if _opened(value) is None:
                yield (*path, key), value
            yield from _walk(value, (*path, key))


def _opened(node: Any) -> Any:
    if isinstance(node, str) and node[:1] == "{":
        try:
            return json.loads(node)
        except ValueError:
            return None
    return None


def _others(value: Any) -> list[Any]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, -1, "x"]
        case str():
            return [value + "x", "", 7]
        case float():
            return [value + 1]
        case list() if value:
            return [[*value, value[0]]]
    return []


def _breach(kind: str, path: Path, value: Any) -> str | None:
    """Whether the field is one that must be there and of its type."""
    if kind == "crc" and (value is not None or path[-1] in REQUIRED["crc"]):
        return _crc(kind, path, value)
    owner = path[-2] if len(path) > 1 else kind
    wanted = REQUIRED.get(str(owner), {}).get(str(path[-1]))
    if wanted is None or (path[-1] in MAPS and isinstance(value, list)):
        return None
    is_sound = value is not None and isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
    return None if is_sound else f"{owner}.{path[-1]} is required"


def _crc(kind: str, path: Path, value: Any = None) -> str | None:
    """Whether a field of a checksum file is part of what it says of the table's state."""
    match path:
        case ("allFiles", _, "dataChange"):
            return None  # tells of a commit, not of a state
        case ("fileSizeHistogram" | "deletedFileSizeHistogram", "sortedBinBoundaries", 1) if value == 8193:
            return None  # no file is of the size between, so the counts are right for these bins too
        case ("protocol", "readerFeatures" | "writerFeatures") if isinstance(value, list):
            return None  # a set of names, one of which is there twice
    return "all metrics in the Version Checksum accurately reflect table state" if kind == "crc" else None


def _with(document: Any, path: Path, value: Any) -> Any:
    return _changed(document, path, lambda holder, key: holder.__setitem__(key, value))


def _without(document: Any, path: Path) -> Any:
    return _changed(document, path, lambda holder, key: holder.__delitem__(key))


def _changed(document: Any, path: Path, change: Any) -> Any:
    if INSIDE in path:
        at = path.index(INSIDE)
        text = document
        for key in path[:at]:
            text = text[key]
        inner = _changed(json.loads(text), path[at + 1 :], change)
        return _with(document, path[:at], json.dumps(inner))
    made = copy.deepcopy(document)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return made

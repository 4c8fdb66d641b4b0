"""Which actions are in a commit file?  (PROTOCOL.md, "Delta Log Entries")

Three ways in, by how much is wanted: `find` looks up the few actions of some kinds without parsing the rest, `file_actions`
reads adds and removes as Arrow columns, and `actions` parses everything, one by one. The first two are fast and fall back on the
third, which is strict and alone decides what is malformed.
"""

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json

from esker.core.columns import empty
from esker.core.types import Json
from esker.delta.actions import JsonObject
from esker.errors import InvalidTable

_PIECE = 2 << 20
_OBJECT = ord("{")


def actions(data: bytes, where: str) -> list[dict[str, Json]]:
    """Every action of a commit, in order. Objects may span lines; anything but objects is an error."""
    found = _by_line(data)
    return _by_stream(data, where) if found is None else found


def find(data: bytes, kinds: Sequence[str], where: str) -> Iterator[tuple[str, JsonObject]]:
    """The actions of these kinds, without parsing the lines that cannot hold one."""
    lines = sorted({span for kind in kinds for span in _lines_with(data, kind)})
    parsed: list[dict[str, Json]] = []
    for start, end in lines:
        action = _object(data[start:end])
        if action is None:  # not one object a line
            parsed = actions(data, where)
            break
        parsed.append(action)
    for action in parsed:
        for kind in kinds:
            body = action.get(kind)
            if isinstance(body, dict):
                yield kind, body
            elif body is not None:
                raise InvalidTable(f"the action {kind} is not an object", where=where)


def file_actions(data: bytes, schema: pa.Schema, where: str) -> pa.Table:
    """The actions as Arrow columns, one row an action; `schema` names the kinds and fields wanted."""
    if not data.isascii():
        _refuse_bad_utf8(data, where)
    fast = _by_arrow(data, schema)
    if fast is not None:
        return fast
    rows = [{kind: action.get(kind) for kind in schema.names} for action in actions(data, where)]
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError, OverflowError) as error:
        raise InvalidTable(f"a file action is malformed: {error}", where=where) from error


def text_maps(data: bytes, kind: str, field: str, where: str) -> list[dict[str, str | None] | None]:
    """The map of texts that each action of a kind has as its `field`, in order; None where it has none.

    Arrow reads objects as structs only, whose members it must know beforehand.
    """
    found: list[Json] = []
    for start, end in _lines_with(data, kind):
        action = _object(data[start:end])
        if action is None:  # not one object a line
            found = _bodies(actions(data, where), kind)
            break
        found += _bodies([action], kind)
    return [_text_map(body.get(field), f"{kind}.{field}", where) for body in found if isinstance(body, dict)]


def has_kind(data: bytes, kind: str) -> bool:
    """Whether an action may be of the kind."""
    return _has_escapes(data) or _has_name(data, kind)


def has_field(data: bytes, kind: str, field: str) -> bool:
    """Whether an action of the kind may have the field."""
    return _has_escapes(data) or any(_has_name(data[start:end], kind) for start, end in _lines_with(data, field))


def _bodies(found: Sequence[dict[str, Json]], kind: str) -> list[Json]:
    return [action[kind] for action in found if action.get(kind) is not None]


def _text_map(value: Json, name: str, where: str) -> dict[str, str | None] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidTable(f"{name} is not a map", where=where)
    texts = {key: text for key, text in value.items() if text is None or isinstance(text, str)}
    if len(texts) < len(value):
        raise InvalidTable(f"{name} is not a map of texts", where=where)
    return texts


def _by_arrow(data: bytes, schema: pa.Schema) -> pa.Table | None:
    """The actions as Arrow reads them, piece by piece to keep memory low; None where it cannot take them."""
    if data.rfind(b"\nnull") >= 0:
        return None  # no action, which Arrow would pass over
    options = pa.json.ParseOptions(explicit_schema=_named(data, schema), unexpected_field_behavior="ignore")
    tables = []
    for start, end in _pieces(data):
        # Arrow's reader crashes, as of version 26, on a piece of nothing but `null`: it gets only what begins an object
        if data[start] != _OBJECT:
            return None
        reading = pa.json.ReadOptions(use_threads=False, block_size=end - start + 1)
        piece = pa.BufferReader(pa.py_buffer(memoryview(data)[start:end]))
        try:
            tables.append(pa.json.read_json(piece, parse_options=options, read_options=reading))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return None
    return _completed(pa.concat_tables(tables), schema) if tables else empty(schema)


def _named(data: bytes, schema: pa.Schema) -> pa.Schema:
    """The schema without the structs that no action names; Arrow would spend a third of its time on filling them in."""
    structs = {field.name for kind in schema for field in kind.type if field.type.num_fields}
    unnamed = set() if _has_escapes(data) else {name for name in structs if not _has_name(data, name)}
    kinds = [(kind.name, [field for field in kind.type if field.name not in unnamed]) for kind in schema]
    return pa.schema([(kind, pa.struct(fields)) for kind, fields in kinds])


def _completed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the fields that `_named` left out."""
    kinds = zip(table.columns, schema.types, strict=True)
    columns = [pa.chunked_array([_with_fields(chunk, kind) for chunk in column.chunks], kind) for column, kind in kinds]
    return pa.table(columns, schema=schema)


def _with_fields(structs: pa.StructArray, target: pa.StructType) -> pa.StructArray:
    found = structs.type.names
    fields = [structs.field(f.name) if f.name in found else pa.nulls(len(structs), f.type) for f in target]
    return pa.StructArray.from_arrays(fields, fields=list(target), mask=structs.is_null())


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """The text in pieces of whole lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE)
        end = len(data) if end < 0 else end + 1
        yield start, end
        start = end


def _by_line(data: bytes) -> list[dict[str, Json]] | None:
    found = []
    for line in data.splitlines():
        if line.strip():
            action = _object(line)
            if action is None:
                return None
            found.append(action)
    return found


def _by_stream(data: bytes, where: str) -> list[dict[str, Json]]:
    decoder = json.JSONDecoder()
    found: list[dict[str, Json]] = []
    try:
        text = data.decode()
        at = _past_space(text, 0)
        while at < len(text):
            action, end = decoder.raw_decode(text, at)
            at = _past_space(text, end)
            if not isinstance(action, dict):
                raise InvalidTable(f"action {len(found)} is not an object", where=where)
            json.dumps(action, ensure_ascii=False).encode()  # half a surrogate pair is no text
            found.append(action)
    except (ValueError, RecursionError) as error:
        raise InvalidTable(
            f"the commit is malformed after {len(found)} actions: {error}",
            where=where,
            hint="Each line of a commit must be one JSON object. Restore the file from a copy if there is one.",
        ) from error
    return found


_SPACE = re.compile(r"[ \t\r\n]*")


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _object(line: bytes) -> dict[str, Json] | None:
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _lines_with(data: bytes, name: str) -> list[tuple[int, int]]:
    """Where the lines that hold the name in quotes begin and end, in order."""
    found: list[tuple[int, int]] = []
    at = _last(data, name, len(data))
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        found.append((start, len(data) if end < 0 else end))
        at = _last(data, name, start)
    return found[::-1]


def _has_name(data: bytes, name: str) -> bool:
    return _last(data, name, len(data)) >= 0


def _last(data: bytes, name: str, end: int) -> int:
    # A commit may be large, and CPython is through with it in half the time when it looks from the end.
    return data.rfind(f'"{name}"'.encode(), 0, end)


def _has_escapes(data: bytes) -> bool:
    """Whether a name may be spelled in escapes, so that it is not found as it is."""
    # Texts are full of backslashes and of the letter u: comparing all pairs of bytes at once is quicker than a search.
    pairs = (np.frombuffer(data, _ESCAPE.dtype, (len(data) - start) // 2, start) for start in (0, 1) if len(data) > start + 1)
    return any((each == _ESCAPE).any() for each in pairs)


_ESCAPE = np.frombuffer(b"\\u", np.uint16)[0]


def _refuse_bad_utf8(data: bytes, where: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InvalidTable(f"the commit is not UTF-8: {error}", where=where) from error

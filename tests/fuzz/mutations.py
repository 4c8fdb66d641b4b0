"""What can go wrong with the bytes of a table? Changes of bytes, of JSON values, of whole lines, drawn from a seed."""

import json
from random import Random
from typing import Any

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e308, "", "x", "null", "\0", "é",
    "\ud83d\ude00", "../../x", "/etc/passwd", "file:///etc/passwd", "%2e%2e%2fx", "memory://other/x", "9" * 40, [], {},
    [None], [[]], {"a": 1}, {"": None}, "{", "1970-01-01", "NaN",
]  # fmt: skip
NUMBERS = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\n", b"{", b"}",
           b'"', b"null", b"null\n", b"\xed\xa0\x80", b"[", b"," , b"\r\n"]  # fmt: skip


def mutated(random: Random, data: bytes, is_json: bool) -> bytes:
    """The bytes after one to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice((_json_value, _json_value, _json_line, _bytes) if is_json else (_bytes,))(random, data)
    return data


def _bytes(random: Random, data: bytes) -> bytes:
    if not data:
        return random.choice(NUMBERS)
    at, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    near = min(len(data), at + random.choice((1, 1, 2, 4, 8)))
    match random.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + random.choice(NUMBERS) + data[at:]
        case 2:
            return data[:at] + random.choice(NUMBERS) + data[near:]
        case 3:
            return data[:at] + data[near:]
        case 4:
            return data[:end] + data[at:]
        case 5:
            return data[:at] + bytes(random.randrange(256) for _ in range(near - at)) + data[near:]
    flipped = bytearray(data)
    place = random.randrange(len(data))
    flipped[place] ^= 1 << random.randrange(8)
    return bytes(flipped)


def _json_line(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[at] = random.choice((b"null", b"[]", b"1", b'"x"', b"", b"{}", b" ", b"{}{}", b"\xef\xbb\xbf{}"))
        case 1:
            lines.insert(at, random.choice(lines))
        case 2:
            del lines[at]
        case _:
            lines[at] = lines[at].replace(b",", b"\n,\n")
    return b"\n".join(lines)


def _json_value(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except ValueError:
        return _bytes(random, data)
    lines[at] = json.dumps(_changed(random, document)).encode()
    return b"\n".join(lines)


def _changed(random: Random, node: Any) -> Any:
    """The value with one value in it replaced, dropped or renamed; texts that hold JSON are changed inside too."""
    if isinstance(node, dict) and node and random.random() < 0.85:
        key = random.choice(list(node))
        rest = {k: v for k, v in node.items() if k != key}
        match random.randrange(10):
            case 0:
                return rest
            case 1:
                return rest | {random.choice(("x", "", "path", "add", "remove", "metaData", "null")): node[key]}
        return node | {key: _changed(random, node[key])}
    if isinstance(node, list) and node and random.random() < 0.85:
        at = random.randrange(len(node))
        return [_changed(random, v) if i == at else v for i, v in enumerate(node)]
    if isinstance(node, str) and node[:1] in ("{", "[") and random.random() < 0.8:
        try:
            return json.dumps(_changed(random, json.loads(node)))
        except ValueError:
            return node + random.choice(("}", "{", "\n"))
    if isinstance(node, str) and node and random.random() < 0.3:
        return _bytes(random, node.encode()).decode(errors="replace")
    return random.choice(VALUES)

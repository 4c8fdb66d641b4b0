"""How does an audit look to people?

One file that loads nothing: style, script and data are in it, and its content security policy allows no other. Anybody may
have named the tables, so names enter as data: the data's text cannot end the element that holds it, and the script puts texts
into the page as texts.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

import orjson

from esker.core.types import Json


def page(data: dict[str, Json]) -> str:
    """The page that shows the data of an audit."""
    style, script = _part("style.css"), _part("script.js")
    parts = {
        "title": escape(f"Table audit of {data['root']}"), "style": style, "style_hash": _hash(style), "script": script,
        "script_hash": _hash(script), "data": _embedded(data),
    }  # fmt: skip
    # split rather than replaced one after another: what a part says is never looked into for another's place
    first, *rest = _part("page.html").split("{")
    found = [first]
    for piece in rest:
        name, _, after = piece.partition("}")
        found += [parts[name], after]
    return "".join(found)


def _part(name: str) -> str:
    return files("esker.auditing.page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _embedded(data: dict[str, Json]) -> str:
    """The data as JSON in which no character means anything to HTML."""
    text = orjson.dumps(data).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text

"""Where does a path lead, and may it lead there?

A *path* is relative to a storage's root and literal; a *URL* in Esker is absolute and literal too: `file:///my events`.
Only the paths that a table's metadata holds as URIs (RFC 2396; PROTOCOL.md, "Add File and Remove File") are
percent-encoded, and `resolve` is the one place that decodes them, once; those of Iceberg are literal.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from esker.errors import EskerError, InvalidRequest, InvalidTable, Unsupported


def checked(path: str) -> str:
    """The path itself, when it names something below a root; `InvalidRequest` otherwise."""
    if problem := _problem(path):
        raise InvalidRequest(f"{path!r} is not a path below a storage's root: {problem}")
    return path


def resolve(root_url: str, uri: str) -> str:
    """The URL of a file that a table at `root_url` names by a percent-encoded URI, relative or absolute.

    A relative one never leaves the root. An absolute one may: shallow clones point into other tables.
    """
    return _resolved(root_url, uri, decoded)


def resolve_literal(root_url: str, path: str) -> str:
    """The same for a path in which nothing is percent-encoded."""
    return _resolved(root_url, path, lambda text: text)


def below(root_url: str, path: str) -> str:
    """The URL of a file that a table names by its literal path below `root_url`, which it never leaves."""
    return _below(root_url, path, path)


def relocated(url: str, moves: Mapping[str, str]) -> str:
    """The URL with its longest prefix among `moves` replaced; a prefix ends at a `/` or is the whole URL."""
    for old in sorted(moves, key=lambda prefix: len(trimmed(prefix)), reverse=True):
        if url == trimmed(old):
            return trimmed(moves[old])
        if url.startswith(trimmed(old) + "/"):
            return join_url(moves[old], url.removeprefix(trimmed(old) + "/"))
    return url


def join_url(root_url: str, path: str) -> str:
    """The URL of a path below a root."""
    return f"{trimmed(root_url)}/{path}"


def split_url(url: str) -> tuple[str, str]:
    """The root and the name of a file's URL, so that it can be opened as a storage and a path."""
    scheme, authority, path = url_parts(url)
    folder, _, name = path.rpartition("/")
    if not name:
        raise InvalidRequest("this URL names no file", where=url)
    return f"{scheme}://{authority}" + (f"/{folder}" if folder else ""), name


def url_parts(url: str) -> tuple[str, str, str]:
    """Scheme, authority and path of a URL, the path without the slashes around it."""
    if not (match := _URL.match(url)):
        raise InvalidRequest(f"{url!r} is not a URL", hint="A URL has a scheme: s3://bucket/folder, file:///folder")
    scheme, authority, path = match.groups()
    return scheme.lower(), authority, path.strip("/")


def trimmed(url: str) -> str:
    """The URL without trailing slashes; those of `file://` stay."""
    bare = url.rstrip("/")
    return bare + "//" if bare.endswith(":") else bare


def decoded(uri: str) -> str:
    """The text with its percent-escapes decoded once; what is not an escape of UTF-8 is taken literally."""
    return _ESCAPES.sub(_decoded_run, uri)


def encoded(path: str) -> str:
    """The path as a URI spells it: `decoded` gives it back, and its beginning is never taken for a scheme."""
    return quote(path, safe="/=-_.~!$&'()*+,;@")


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
# Without a `/` after the colon it is a relative name that contains a colon, not a scheme.
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/.*)", re.DOTALL)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _resolved(root_url: str, uri: str, decode: Callable[[str], str]) -> str:
    if absolute := _ABSOLUTE.match(uri):
        scheme, authority, path = absolute.groups()
        return _absolute(root_url, uri, scheme.lower(), authority, decode(path))
    if uri.startswith("//"):
        raise InvalidTable(f"the path {uri!r} names a host and no scheme", where=root_url)
    if uri.startswith("/"):
        scheme, authority, _ = url_parts(root_url)
        return _absolute(root_url, uri, scheme, authority, decode(uri))
    return _below(root_url, decode(uri), uri)


def _below(root_url: str, path: str, spelled: str) -> str:
    if problem := _problem(path):
        raise InvalidTable(f"the path {spelled!r} does not lead to a file of the table: {problem}", where=root_url)
    return join_url(root_url, path)


def _problem(path: str) -> str | None:
    if not path:
        return "it is empty"
    if "\0" in path:
        return "it contains NUL"
    segments = path.split("/")
    if "" in segments:
        return "it begins or ends with a slash, or has two in a row"
    # A backslash is a letter of a name here and a separator elsewhere, so what climbs by either reading is refused.
    if not {".", ".."}.isdisjoint(segments) or ".." in re.split(r"[/\\]", path):
        return "it contains a `.` or `..` segment"
    if path.startswith("\\"):
        return "it begins with a backslash"
    return None


def _absolute(root_url: str, uri: str, scheme: str, authority: str | None, path: str) -> str:
    """The URL of an absolute URI's decoded parts, in one spelling: `file:/x` and `file:///x` are the same."""
    segments = path.split("/")[1:]
    if scheme == "file":
        if authority not in (None, "", "localhost"):
            raise Unsupported(f"the path {uri!r} is on another host", where=root_url)
        authority = ""
        segments = [segment for segment in segments if segment]
    elif not authority:
        raise InvalidTable(f"the path {uri!r} names no bucket or host", where=root_url)
    kind: type[EskerError] = Unsupported if "" in segments else InvalidTable
    if problem := _problem("/".join(segments)):
        raise kind(f"the path {uri!r} cannot be opened: {problem}", where=root_url)
    return f"{scheme}://{authority}/" + "/".join(segments)


def _decoded_run(match: re.Match[str]) -> str:
    run = match.group()
    try:
        return bytes.fromhex(run.replace("%", "")).decode()
    except UnicodeDecodeError:
        return run

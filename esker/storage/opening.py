"""Which storage does a location mean?"""

import os
import re
from collections.abc import Mapping

from esker.errors import InvalidRequest, Unsupported
from esker.storage import cloud
from esker.storage.local import LocalStorage
from esker.storage.memory import MemoryStorage
from esker.storage.paths import decoded, url_parts
from esker.storage.port import Storage


def open_storage(location: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> Storage:
    """The storage at a location as people write it: a local path, a `file:` URL, or the URL of a bucket or of memory.

    A local path is literal and may be relative; a `file:` URL is percent-decoded once; other URLs are literal.
    """
    text = os.fspath(location)
    if not text:
        raise InvalidRequest("the location is empty")
    if isinstance(location, str) and text[:5].lower() == "file:":
        return LocalStorage(_normal(_path_of_file_url(text)))
    if isinstance(location, str) and _HAS_SCHEME.match(text):
        return storage_at(text, options)
    return LocalStorage(_normal(os.path.expanduser(text)))


def storage_at(url: str, options: Mapping[str, str] | None = None) -> Storage:
    """The storage at a URL as Esker writes it, nothing percent-encoded: `storage_at(storage.url)` is the same place."""
    scheme, authority, path = url_parts(url)
    if scheme == "file" and not authority:
        return LocalStorage(_normal(f"/{path}"))
    if scheme == "memory":
        return MemoryStorage(url)
    if scheme in cloud.SCHEMES:
        return cloud.open_cloud(url, options or {})
    known = ", ".join(sorted({"file", "memory", *cloud.SCHEMES}))
    raise Unsupported(f"no storage is known for {scheme}://{authority}", where=url, hint=f"Known schemes: {known}.")


_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Two slashes begin an authority, which is this machine or none.
_FILE_URL = re.compile(r"file:(?://(?:localhost)?)?(/(?!/).*)", re.IGNORECASE | re.DOTALL)


def _path_of_file_url(url: str) -> str:
    if not (match := _FILE_URL.fullmatch(url)):
        raise InvalidRequest("a file URL names an absolute path of this machine", where=url, hint="Write file:///lake.")
    return decoded(match.group(1))


def _normal(path: str) -> str:
    """The path made absolute, without `..` and doubled slashes, links not resolved; the root folder is empty."""
    if "\0" in path:
        raise InvalidRequest("the path contains NUL", where=repr(path))
    return "/" + stripped if (stripped := os.path.abspath(path).strip("/")) else ""

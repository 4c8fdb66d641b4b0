"""How are files kept in an object store: S3, GCS, Azure?

Through obstore (Rust's `object_store`), which has the conditional put of each. The table's prefix is joined here, not
by obstore, so that a key is the literal text of the URL.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)
from obstore.store import ObjectStore, from_url

from esker.errors import AlreadyExists, EskerError, InvalidRequest, NotFound, Unsupported
from esker.storage.paths import checked, join_url, trimmed, url_parts
from esker.storage.port import FileInfo
from esker.storage.ranges import checked_range

SCHEMES = frozenset({"s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"})
_AZURE = ("az:", "azure:", "adl:", "abfs:", "abfss:")


def open_cloud(url: str, options: Mapping[str, str]) -> "CloudStorage":
    """The storage at a literal URL; options are obstore's (`aws_region`, `allow_http`), then the environment's."""
    scheme, authority, _ = url_parts(url)
    if not authority:
        raise InvalidRequest("this URL names no bucket", where=url)
    config, client = _settings(options)
    with _obstore_errors(url):
        return CloudStorage(from_url(f"{scheme}://{authority}", config=config, client_options=client), url)


class CloudStorage:
    """A prefix of a bucket. `url` says which, and its path is the prefix."""

    def __init__(self, store: ObjectStore, url: str) -> None:
        folder = url_parts(url)[2]
        self._store = store
        self._url = trimmed(url)
        self._prefix = checked(folder) + "/" if folder else ""

    @property
    def url(self) -> str:
        return self._url

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        key = self._key(path)
        checked_range(path, start, end)
        if end == start:
            self.head(path)
            return b""
        with _obstore_errors(self._where(path)):
            if start == 0 and end is None:
                return bytes(obstore.get(self._store, key).bytes())
            try:
                if end is None:
                    return bytes(obstore.get(self._store, key, options={"range": {"offset": start}}).bytes())
                return bytes(obstore.get_range(self._store, key, start=start, end=end))
            except BaseError:
                # A range that begins past the end of the file is an error to the stores, each in its own words.
                if start >= self.head(path).size:
                    return b""
                raise

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[FileInfo]:
        below = self._key(prefix) + "/" if prefix else self._prefix
        return self._listing(below, after)

    def head(self, path: str) -> FileInfo:
        key = self._key(path)
        with _obstore_errors(self._where(path)):
            return _info(path, obstore.head(self._store, key))

    def put(self, path: str, data: bytes) -> None:
        key = self._key(path)
        with _obstore_errors(self._where(path)):
            obstore.put(self._store, key, data)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        key = self._key(path)
        with _obstore_errors(self._where(path)):
            # Only a put in one request is conditional.
            obstore.put(self._store, key, data, mode="create", use_multipart=False)

    def delete(self, path: str) -> None:
        key = self._key(path)
        try:
            with _obstore_errors(self._where(path)):
                obstore.delete(self._store, key)
        except NotFound:
            return

    def level(self, folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the folders and of the files right in a folder, or in the root where it is empty."""
        within = self._key(folder) + "/" if folder else self._prefix
        with _obstore_errors(self._url):
            found = obstore.list_with_delimiter(self._store, within.rstrip("/") or None)
        folders = (path.rstrip("/").removeprefix(within) for path in found["common_prefixes"])
        # A folder's own marker comes as the folder's name, so it is not below it.
        files = (meta["path"].removeprefix(within) for meta in found["objects"] if meta["path"].startswith(within))
        return tuple(sorted(folders)), tuple(sorted(files))

    def below(self, folder: str) -> "CloudStorage":
        """The storage of a folder, reached by the same client."""
        return CloudStorage(self._store, join_url(self._url, checked(folder)))

    def _listing(self, below: str, after: str | None) -> Iterator[FileInfo]:
        offset = None if after is None else self._prefix + after
        with _obstore_errors(self._url):
            pages = obstore.list(self._store, below.rstrip("/") or None, offset=offset, chunk_size=1000)
            # A folder's own marker comes as the folder's name, so it is not below it.
            found = [
                _info(meta["path"].removeprefix(self._prefix), meta)
                for page in pages
                for meta in page
                if meta["path"].startswith(below)
            ]
        # S3 and GCS list in this order; Azure with folders and S3 directory buckets do not.
        found.sort(key=lambda info: info.path)
        yield from (info for info in found if after is None or info.path > after)

    def _key(self, path: str) -> str:
        key = self._prefix + checked(path)
        # It would be kept as a slash, so the file would get a name that was not asked for.
        if "\\" in key and self._url.startswith(_AZURE):
            raise Unsupported("Azure keeps no backslash in a name", where=self._where(path))
        return key

    def _where(self, path: str) -> str:
        return join_url(self._url, path)


_CLIENT_OPTIONS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_content_type",
        "default_headers",
        "http1_only",
        "http2_keep_alive_interval",
        "http2_keep_alive_timeout",
        "http2_keep_alive_while_idle",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "randomize_addresses",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)

_HINTS = {
    # Where a machine of the cloud would get credentials, asked when there are no others.
    "169.254.169.254": "No credentials were found. Set them in the environment (AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY) or pass them as options; "
    "for a public bucket pass skip_signature=true.",
    "Account must be specified": "Pass azure_storage_account_name, or write abfss://container@account.dfs.core.windows.net/...",
    "builder error": "If the endpoint is http://, pass allow_http=true.",
    "error sending request": "The store could not be reached: check the endpoint, the region and the network.",
}


def _settings(options: Mapping[str, str]) -> tuple[Any, Any]:
    """The options as obstore wants them: those of the store and those of the HTTP client.

    obstore panics when one of the latter is among the former, so none may slip through.
    """
    config, client = {}, {}
    for key, value in options.items():
        name = key.lower()
        bare = name.removeprefix("aws_").removeprefix("google_").removeprefix("azure_")
        if bare in _CLIENT_OPTIONS:
            client[bare] = value
        else:
            config[name] = value
    return config or None, client or None


def _info(path: str, meta: "obstore.ObjectMeta") -> FileInfo:
    return FileInfo(path, meta["size"], int(meta["last_modified"].timestamp() * 1000))


@contextmanager
def _obstore_errors(where: str) -> Iterator[None]:
    """Turns what obstore raises into Esker's errors."""
    try:
        yield
    except FileNotFoundError as error:
        missing = "bucket" if _names_no_bucket(error) else "file"
        raise NotFound(f"there is no such {missing}", where=where) from error
    except AlreadyExistsError as error:
        raise AlreadyExists("the file is already there", where=where) from error
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise EskerError(
            f"the store denies access: {_said(error)}",
            where=where,
            hint="Check the credentials and what they are allowed to do.",
        ) from error
    except UnknownConfigurationKeyError as error:
        raise InvalidRequest(f"an option is not known: {_said(error)}", where=where) from error
    except InvalidPathError as error:
        raise Unsupported(f"a key cannot be read as a path: {_said(error)}", where=where) from error
    except BaseError as error:
        if _names_no_bucket(error):
            raise NotFound("there is no such bucket", where=where) from error
        hint = next((hint for sign, hint in _HINTS.items() if sign in str(error)), None)
        raise EskerError(f"the store says: {_said(error)}", where=where, hint=hint) from error
    except ValueError as error:
        raise InvalidRequest(f"the store refuses the request: {_said(error)}", where=where) from error
    except OSError as error:
        raise EskerError(f"the store could not be reached: {_said(error)}", where=where) from error


def _names_no_bucket(error: Exception) -> bool:
    return any(code in str(error) for code in ("NoSuchBucket", "ContainerNotFound"))


def _said(error: Exception) -> str:
    """The message without the dump of Rust values that obstore appends."""
    return str(error).split("\n\nDebug source")[0].strip()

"""Where do the files of a table lie?  (Lance table format, "Directory layout", "Base paths")

A branch is a table of its own in a folder of the table. A file of a fragment lies in its own table's folder, or at a base path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from esker.core.demands import Judge
from esker.errors import EskerError, InvalidTable
from esker.lance.manifest import BasePath, DataFile, DeletionFile, Manifest
from esker.lance.refs import branch_folder
from esker.lance.versions import DATA_FOLDER, DELETIONS_FOLDER, INDICES_FOLDER
from esker.storage import Storage, storage_at
from esker.storage.paths import checked, join_url, relocated, split_url


@dataclass(frozen=True)
class Place:
    """A table's storage, the options that opened it, paths that have moved, and the branch that is meant, if one is.

    `judge` is asked whether a change keeps the table's promises; None where they are not to be kept.
    """

    storage: Storage
    options: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    branch: str | None = None
    judge: Judge | None = field(default=None, compare=False)

    @property
    def url(self) -> str:
        """The root of the table that is meant: of the branch, where there is one."""
        return self.storage.url if self.branch is None else f"{self.storage.url}/{branch_folder(self.branch)}"

    def path(self, below: str) -> str:
        """The path, in the storage, of something below that root."""
        return below if self.branch is None else f"{branch_folder(self.branch)}/{below}"

    def data_file(self, manifest: Manifest, file: DataFile) -> str:
        """The URL of a data file."""
        return self._located(manifest, file.base_id, DATA_FOLDER, file.path)

    def deletion_file(self, manifest: Manifest, fragment: int, file: DeletionFile) -> str:
        """The URL of a deletion file."""
        return self._located(manifest, file.base_id, DELETIONS_FOLDER, file.name(fragment))

    def index_folder(self, manifest: Manifest, base_id: int | None, uuid: str) -> str:
        """The URL of the folder that an index lies in."""
        return self._located(manifest, base_id, INDICES_FOLDER, uuid)

    def base_url(self, base: BasePath) -> str:
        """The URL that a base path stands for, as it is now. It may be moved as the manifest spells it, and as its URL."""
        url = _url(base.path)
        for said in (base.path, url):
            if said is not None and (moved := relocated(said, self.moves)) != said:
                return _url(moved) or moved
        return url or self._own_root(base)

    def is_moved(self, manifest: Manifest) -> bool:
        """Whether files lie elsewhere than the manifest says, so that who reads the manifest alone would not find them."""
        return any(self.base_url(base) != _url(base.path) for base in manifest.base_paths)

    def locate(self, url: str) -> tuple[Storage, str]:
        """The storage that holds a file, and the file's path in it."""
        if url.startswith(f"{self.storage.url}/"):
            return self.storage, url.removeprefix(f"{self.storage.url}/")
        root, name = split_url(url)
        return storage_at(root, self.options), name

    def _located(self, manifest: Manifest, base_id: int | None, folder: str, path: str) -> str:
        try:
            checked(path)
        except EskerError as error:
            raise InvalidTable(f"the path {path!r} does not lead to a file of the table: {error}", where=self.url) from error
        if base_id is None:
            return join_url(self.url, f"{folder}/{path}")
        base = next((base for base in manifest.base_paths if base.id == base_id), None)
        if base is None:
            raise InvalidTable(f"the file {path} lies at the base path {base_id}, which the manifest lacks", where=self.url)
        # "if is_dataset_root, add `data/`, `_deletions/` or `_indices/<uuid>/`; otherwise append the file path directly"
        return join_url(self.base_url(base), f"{folder}/{path}" if base.is_dataset_root else path)

    def _own_root(self, base: BasePath) -> str:
        """The URL of a path that is none: of the table itself where a branch says so, whose writer was told a relative one."""
        if self.branch is not None and base.is_dataset_root:
            return self.storage.url
        raise InvalidTable(
            f"the base path {base.path!r} is not absolute", where=self.url, hint="Say by relocate= where it leads."
        )


def _url(path: str) -> str | None:
    """A base path as a URL of ours; None where it is relative."""
    if path.startswith("/"):
        return f"file://{path}".rstrip("/")
    scheme, found, rest = path.partition("://")
    if not found:
        return None
    return f"{scheme}://{rest}".rstrip("/")

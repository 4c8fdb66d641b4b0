"""Which versions of data files can be read and written?  (Lance table format, "Data storage format version")"""

from collections.abc import Iterable, Iterator

from esker.core.features import Operation
from esker.core.types import Array, Field, Map, Struct, Type
from esker.errors import InvalidRequest, Unsupported
from esker.lance.manifest import Manifest

LEGACY = "0.1"
STABLE = ("2.0", "2.1", "2.2")
DEFAULT = "2.1"
"""The version of new tables: the newest that releases of the last years read and append to."""
WITH_MAPS = "2.2"
_READABLE = (LEGACY, *STABLE)
_ALIASES = {"legacy": LEGACY, "stable": DEFAULT, "0.3": "2.0"}


def check_file_versions(manifest: Manifest, operation: Operation, location: str) -> None:
    """Refuse the operation on a table whose files, or those it would write, are of another version."""
    if problems := list(_problems(manifest, operation)):
        raise Unsupported(f"Esker cannot {operation.value} these data files", where=location, problems=problems)


def file_versions(manifest: Manifest) -> tuple[str, ...]:
    """The versions that the table states and that its files have, each once."""
    found = {manifest.file_version, *(file.version for fragment in manifest.fragments for file in fragment.files)}
    return tuple(sorted(found))


def chosen(version: str | None) -> str:
    """The version of a new table's files that a caller means."""
    wanted = DEFAULT if version is None else _ALIASES.get(version, version)
    if wanted not in STABLE:
        raise InvalidRequest(f"new tables have data files of version {', '.join(STABLE)}, and not of {version}")
    return wanted


def check_types(columns: Iterable[Field], version: str, location: str) -> None:
    """Refuse columns that data files of this version cannot have: a table would have them and take no rows any more."""
    # "`2.2` (map support etc.)"
    if version != WITH_MAPS and (maps := [column.name for column in columns if _has_map(column.type)]):
        raise Unsupported(
            f"maps in data files of version {version}: {', '.join(maps)}", where=location,
            hint=f"Create the table with the property lance.data_storage_version={WITH_MAPS}, or use arrays of structs.",
        )  # fmt: skip


def _has_map(kind: Type) -> bool:
    match kind:
        case Map():
            return True
        case Array():
            return _has_map(kind.element)
        case Struct():
            return any(_has_map(member.type) for member in kind)
    return False


def _problems(manifest: Manifest, operation: Operation) -> Iterator[str]:
    if manifest.data_format is not None and manifest.data_format[0] not in ("lance", ""):
        yield f"the file format {manifest.data_format[0]}"
    for version in file_versions(manifest):
        # `0.1` is read only, and `next` and 2.3 mean something else from one release to another
        if version not in _READABLE or (operation is Operation.WRITE and version == LEGACY):
            yield f"version {version}" + ("; overwrite the table to write a newer one" if version == LEGACY else "")

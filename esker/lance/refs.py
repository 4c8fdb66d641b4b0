"""Which tags and branches does a table have?  (Lance table format, "Time travel, tags, branches, cleanup")"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote

import orjson

from esker.errors import InvalidRequest, InvalidTable
from esker.storage.port import FileInfo, Storage

TAGS_FOLDER = "_refs/tags"
BRANCHES_FOLDER = "_refs/branches"
MAIN = "main"
"""What the history is called that is no branch."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for a version of a branch, or of the main history where `branch` is None."""

    name: str
    version: int
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A history that parted from another at a version."""

    name: str
    parent: str | None
    parent_version: int
    created: datetime | None = None


def read_tags(storage: Storage) -> tuple[Tag, ...]:
    """The tags by name."""
    return tuple(parse_tag(storage, file) for file in storage.list(TAGS_FOLDER) if file.path.endswith(".json"))


def read_branches(storage: Storage) -> tuple[Branch, ...]:
    """The branches by name."""
    return tuple(parse_branch(storage, file) for file in storage.list(BRANCHES_FOLDER) if file.path.endswith(".json"))


def parse_tag(storage: Storage, file: FileInfo) -> Tag:
    """The tag in a file of the folder of tags."""
    said = _object(storage, file)
    branch = said.get("branch")
    of = branch if isinstance(branch, str) and branch != MAIN else None
    return Tag(_name(file), _number(said, "version", storage, file), of)


def parse_branch(storage: Storage, file: FileInfo) -> Branch:
    """The branch in a file of the folder of branches."""
    said = _object(storage, file)
    parent, created = said.get("parentBranch"), said.get("createAt")
    return Branch(
        _name(file),
        parent if isinstance(parent, str) and parent != MAIN else None,
        _number(said, "parentVersion", storage, file),
        datetime.fromtimestamp(created, UTC) if isinstance(created, int) and 0 <= created < 2**36 else None,
    )


def branch_folder(name: str) -> str:
    """The folder of a branch, below the table's."""
    return f"tree/{name}"


def branch_file(name: str) -> str:
    """Where a branch is noted."""
    return f"{BRANCHES_FOLDER}/{quote(name, safe='')}.json"


def tag_problem(name: str) -> str | None:
    """Why this is no name for a tag."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        return "it has other signs than letters, digits, dots, dashes and underscores"
    if name.startswith(".") or name.endswith(".") or ".." in name:
        return "it begins or ends with a dot, or has two in a row"
    return "it ends with .lock" if name.endswith(".lock") else None


def branch_problem(name: str) -> str | None:
    """Why this is no name for a branch."""
    if name == MAIN:
        return f"{MAIN} is the history that is no branch"
    if not re.fullmatch(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*", name):
        return "it is not made of letters, digits, dots, dashes and underscores, in parts between slashes"
    if ".." in name:
        return "it has two dots in a row"
    return "it ends with .lock" if name.endswith(".lock") else None


def checked_tag(name: str, where: str) -> str:
    """The name, where a tag may have it."""
    if problem := tag_problem(name):
        raise InvalidRequest(f"{name!r} is no name for a tag: {problem}", where=where)
    return name


def checked_branch(name: str, where: str) -> str:
    """The name, where a branch may have it."""
    if problem := branch_problem(name):
        raise InvalidRequest(f"{name!r} is no name for a branch: {problem}", where=where)
    return name


def _name(file: FileInfo) -> str:
    return unquote(file.path.rpartition("/")[2].removesuffix(".json"))


def _object(storage: Storage, file: FileInfo) -> dict[str, object]:
    where = f"{storage.url}/{file.path}"
    try:
        said = orjson.loads(storage.read(file.path))
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"the reference is no JSON: {error}", where=where) from error
    if not isinstance(said, dict):
        raise InvalidTable("the reference is no JSON object", where=where)
    return said


def _number(said: dict[str, object], key: str, storage: Storage, file: FileInfo) -> int:
    # the prose of the specification spells keys with underscores, its code with capitals
    value = said.get(key, said.get(re.sub(r"([A-Z])", lambda m: "_" + m[1].lower(), key)))
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise InvalidTable(f"the reference has no {key}", where=f"{storage.url}/{file.path}")
    return value

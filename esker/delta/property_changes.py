"""Which properties may a user set, and what does that ask of the protocol?  (PROTOCOL.md, "Change Metadata")

Pure. A name that begins with `delta.` must be one of the registry, else a slip of the pen would silently do nothing; other
names are the user's own. Features and protocol versions can be asked for in the same way and are never stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from esker.core.sql_tokens import check_enclosed
from esker.delta.constraints import PREFIX as CONSTRAINT_PREFIX
from esker.delta.features import FEATURES
from esker.delta.properties import PROPERTIES, Configuration, Property
from esker.delta.protocol import LAST_READER, LAST_WRITER
from esker.errors import InvalidRequest

PREFIX = "delta."
FEATURE_PREFIX = "delta.feature."

_VERSIONS = {"delta.minreaderversion": LAST_READER, "delta.minwriterversion": LAST_WRITER}
_ABOUT_SESSIONS = "delta.ignoreprotocoldefaults"  # Spark's switch; there are no defaults of a session here
_BY_NAME: Mapping[str, Property[object]] = {
    name.lower(): known for known in PROPERTIES for name in (known.name, *known.aliases)
}
_SAYABLE = tuple(known.name for known in PROPERTIES if not known.is_managed)


@dataclass(frozen=True, slots=True)
class PropertyChanges:
    """What to store, None for what to take out; and what is asked of the protocol instead."""

    stored: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    features: frozenset[str] = frozenset()
    min_reader: int | None = None
    min_writer: int | None = None


def validated(changes: Mapping[str, str | None], creating: bool = False) -> PropertyChanges:
    """The changes under the names that the registry has for them; a value of None takes a property out.

    Raises `InvalidRequest`, with every problem. Constraints can be stated as properties only while `creating` a table: in
    one that has rows, each row must be looked at first.
    """
    problems: list[str] = []
    stored: dict[str, str | None] = {}
    features: set[str] = set()
    versions: dict[str, int] = {}
    for name, text in changes.items():
        key = name.lower()
        try:
            if key.startswith(FEATURE_PREFIX):
                features.add(_feature(name, text))
            elif key in _VERSIONS:
                versions[key] = _version(name, text)
            elif key.startswith(CONSTRAINT_PREFIX):
                stored[key] = _constraint(name, text, creating)
            elif key.startswith(PREFIX) and key != _ABOUT_SESSIONS:
                known = _known(name)
                stored[known.name] = _checked(known, text)
            elif key != _ABOUT_SESSIONS:
                stored[name] = text
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise InvalidRequest("these properties cannot be set", problems=problems)
    reader, writer = (versions.get(key) for key in _VERSIONS)
    return PropertyChanges(stored, frozenset(features), reader, writer)


def applied(configuration: Configuration, changes: PropertyChanges) -> dict[str, str]:
    """The configuration after the changes. A property that is set is not left under an older name as well."""
    aliases = {alias for known in PROPERTIES if known.name in changes.stored for alias in known.aliases}
    merged = {**{k: v for k, v in configuration.items() if k not in aliases}, **changes.stored}
    return {name: text for name, text in merged.items() if text is not None}


def _known(name: str) -> Property[object]:
    known = _BY_NAME.get(name.lower())
    if known is None:
        raise ValueError(f"there is no property {name}{_suggestion(name, _SAYABLE)}")
    if known.is_managed:
        raise ValueError(f"{known.name} is kept by writers and cannot be set: {known.meaning}")
    return known


def _checked(known: Property[object], text: str | None) -> str | None:
    try:
        if text is not None:
            known.parse(text)
    except ValueError as error:
        raise ValueError(f"{known.name} is {text!r}: {error}") from error
    return text


def _constraint(name: str, text: str | None, creating: bool) -> str:
    # "When adding a CHECK constraint to a table, a writer must validate the existing data in the table"  CHECK Constraints
    if not creating:
        raise ValueError(f"{name} is a constraint; add and drop constraints by their own operations")
    if text is None or not text.strip() or len(name) == len(CONSTRAINT_PREFIX):
        raise ValueError(f"{name} states no named condition")
    try:
        check_enclosed(text)
    except InvalidRequest as error:
        raise ValueError(f"{name} is {text!r}: {error.what}") from error
    return text


def _feature(name: str, text: str | None) -> str:
    asked = name[len(FEATURE_PREFIX) :]
    if asked not in FEATURES:
        raise ValueError(f"there is no feature {asked}{_suggestion(asked, (f.name for f in FEATURES))}")
    if text is None:
        raise ValueError(f"{name} cannot be taken out; drop the feature")
    if text.lower() not in ("supported", "enabled"):
        raise ValueError(f"{name} is {text!r}: supported is expected")
    return FEATURES.spelled(asked)


def _version(name: str, text: str | None) -> int:
    last = _VERSIONS[name.lower()]
    if text is None or not text.isdecimal() or not 1 <= int(text) <= last:
        raise ValueError(f"{name} is {text!r}: a version from 1 to {last} is expected")
    return int(text)


def _suggestion(name: str, names: Iterable[str]) -> str:
    spelled = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), spelled, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(spelled[known] for known in near)}?" if near else ""

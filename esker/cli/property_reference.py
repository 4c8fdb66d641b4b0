"""What is there to know about each table property?  `python -m esker.cli.property_reference > docs/properties.md`

Prints the reference of properties from the registry, so that it says what the code says.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from enum import Enum

from esker.delta.properties import PROPERTIES, Property
from esker.delta.property_texts import columns, formats, interval, page_version, size

_HEAD = """\
# Table properties

A Delta table keeps settings in its metadata, by names and texts. These are the ones of Delta's own that Esker knows; any other
name that begins with `delta.` is refused when it is set, and names without it are yours. `Table.set_properties`,
`Table.unset_properties`, `esker set` and `esker unset` change them, `create` takes them, `Table.describe` and `esker inspect`
show them. A table may hold a property that Esker knows and leaves to others to act on.

A condition that each row must fulfil is the property `delta.constraints.NAME`: `Table.add_constraint` looks at the rows first. A
feature is asked for by name as `delta.feature.NAME` with the value `supported`. A property that needs a
[feature](features.md) adds it to the table's protocol when it is set.

The page is printed from the registry in `esker/delta/properties.py` by `make docs`.
"""
_MANAGED = """
## Kept by writers

These are written by whoever writes the table, and cannot be set.
"""


def reference(properties: Iterable[Property[object]] = PROPERTIES) -> str:
    """The page, in Markdown."""
    known = sorted(properties, key=lambda p: p.name.lower())
    yours = _table(p for p in known if not p.is_managed)
    theirs = _table(p for p in known if p.is_managed)
    return "\n".join([_HEAD, *yours, _MANAGED, *theirs, ""])


def _table(properties: Iterable[Property[object]]) -> Iterator[str]:
    yield "| property | values | without it | meaning | feature |"
    yield "|---|---|---|---|---|"
    for p in properties:
        feature = f"[{p.feature}](features.md#{p.feature.lower()})" if p.feature else ""
        meaning = f"{p.meaning}; also called {', '.join(f'`{name}`' for name in p.aliases)}" if p.aliases else p.meaning
        yield f"| `{p.name}` | {_values(p.parse)} | {_default(p.default)} | {meaning} | {feature} |"


_WORDS: dict[Callable[[str], object], str] = {
    str: "a text", interval: "a time such as `2 weeks`", columns: "columns with commas between them",
    size: "bytes, as `104857600` or `100mb`", formats: "`iceberg`, `hudi`", page_version: "`1.0.0`, or `2.` and two numbers more",
}  # fmt: skip


def _values(parse: Callable[[str], object]) -> str:
    """What is said of values when one makes no sense, where there are no better words."""
    if parse in _WORDS:
        return _WORDS[parse]
    try:
        parse("")
    except ValueError as error:
        return str(error).removesuffix(" is expected")
    raise ValueError("a parser without words that takes the empty text")


def _default(value: object) -> str:
    match value:
        case None | ():
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case Enum():
            return f"`{value.value}`"
        case timedelta():
            return f"{value.days} days" if value.days > 1 else f"{value / timedelta(hours=1):g} hours"
    return f"`{value}`"


if __name__ == "__main__":
    print(reference(), end="")

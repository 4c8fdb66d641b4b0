"""What is there to know about each feature?  `python -m esker.cli.feature_reference > docs/features.md`

Prints the reference of features from the registry, so that it says what the code says.
"""

from collections.abc import Iterable, Iterator

from esker.cli.report import removal_steps
from esker.core.features import Feature, Operation, Removable, Section
from esker.delta.features import FEATURES, Facts

_HEAD = """\
# Delta table features

A Delta table names the features that its clients must know. This page lists every feature that Esker knows, what Esker does
with tables that have it, and how it is [taken out](dropping-features.md) again. `esker features TABLE` says the same of one
table. An unknown feature is refused by name; one that concerns writers alone does not keep a table from being read.

The page is printed from the registry in `esker/delta/features.py` by `make docs`.

A feature is *supported* when the table's protocol names it or implies it, *active* when the table's metadata turns it on,
and *in use* when the table holds something that only the feature explains.
"""


def reference(features: Iterable[Feature[Facts]] = FEATURES) -> str:
    """The page, in Markdown."""
    known = list(features)
    return "\n".join([_HEAD, *_overview(known), *(line for feature in known for line in _entry(feature))])


def _overview(features: Iterable[Feature[Facts]]) -> Iterator[str]:
    yield "| feature | concerns | Esker reads | Esker writes | can be taken out |"
    yield "|---|---|---|---|---|"
    for f in features:
        can = [_yes(f.support.allows(operation)) for operation in (Operation.READ, Operation.WRITE)]
        removable = _yes(isinstance(f.removal, Removable))
        yield f"| [{f.name}](#{f.name.lower()}) | {f.scope.value} | {can[0]} | {can[1]} | {removable} |"
    yield ""


def _entry(f: Feature[Facts]) -> Iterator[str]:
    yield f"## {f.name}\n"
    yield f"{f.summary}\n"
    facts = {
        "Also called": ", ".join(f"`{alias}`" for alias in f.aliases),
        "Status": f.status.value,
        "Enabled by": _code(f.trigger),
        "Implied by": _versions(f.implied_by),
        "Requires": _links(f.requires, f.requires_active),
        "Not together with": _links(f.excludes),
        "Esker": f.support.reason,
        "Taken out": "; ".join(_code(step) for step in removal_steps(f.removal)),
        "Written in": _section(f.section),
    }
    yield from (f"- {name}: {text}" for name, text in facts.items() if text)
    yield ""


def _section(section: Section) -> str:
    """A link where the document is one that stays in its place; proposals are moved when they are accepted."""
    is_settled = section.document == "PROTOCOL.md"
    return f"[{section}](https://github.com/delta-io/delta/blob/master/{section})" if is_settled else f"`{section}`"


def _yes(is_true: bool) -> str:
    return "yes" if is_true else "no"


def _code(text: str) -> str:
    """Property names and placeholders as code, so that Markdown leaves their characters alone."""
    return " ".join(f"`{word}`" if _is_code(word) else word for word in text.split(" "))


def _is_code(word: str) -> bool:
    return any(sign in word for sign in "=<>*_\\{") or word.startswith("delta.")


def _versions(versions: tuple[int, ...] | None) -> str:
    return f"reader version {versions[0]} with writer version {versions[1]}" if versions else ""


def _links(names: Iterable[str], active: Iterable[str] = ()) -> str:
    wanted = set(active)
    return ", ".join(f"[{name}](#{name.lower()}){', active' if name in wanted else ''}" for name in names)


if __name__ == "__main__":
    print(reference(), end="")

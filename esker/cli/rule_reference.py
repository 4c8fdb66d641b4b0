"""What is there to know about each rule?  `python -m esker.cli.rule_reference > docs/checking.md`

Prints the page on checking with the reference of rules, so that it says what the code says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from esker.check.delta.rules import RULES as DELTA
from esker.check.iceberg.rules import RULES as ICEBERG
from esker.check.lance.rules import RULES as LANCE
from esker.check.model import Rule, Severity
from esker.cli.judge import EXIT_CODES
from esker.core.features import Section

_HEAD = """\
# Checking tables

`esker check TABLE` looks which rules of its specification a table breaks. It reads log and metadata as they are
written, so it works on tables that cannot be opened, and it changes nothing.

```
esker check lake/events
esker check lake/events --deep
esker check lake/events --json
```

The same from Python, for a table that is open and for one that cannot be:

```
findings = table.check(deep=True)
findings = esker.check_table("lake/events")
```

Each finding names the rule, the section of the specification that states it, how bad it is, the place, and how it is mended.
In JSON a finding has `rule`, `severity`, `section`, `where`, `what` and `mend`. Of a rule that is broken at many places, the
first are told, and then how many more there are.

| severity | meaning | exit code |
|---|---|---|
"""
_MEANINGS = {
    Severity.ERROR: "breaks the specification: clients may refuse the table, or read it wrong",
    Severity.WARNING: "breaks a recommendation, or harms some clients",
    Severity.NOTICE: "odd, and allowed",
}
_MIDDLE = """
Without findings the exit code is 0. `--deep` adds the rules that are marked so below: they read data files, deletion vectors, or
the state of every version, so a deep check takes about as long as reading the whole table. It is meant for a copy that was
restored, for a table that another program wrote, or for a look once a week.

A table that keeps every rule need not be right: a log can lose a whole commit at its end, or an `add`, and be a valid log of
fewer rows. What tells then is a checksum file, which Esker writes with each version and compares with the state.

To look at many tables, see [esker audit](cli.md#esker-audit): it tells protocol, features, sizes and who is locked out, and
does not check.

The rules are printed from `esker/check` by `make docs`.
"""


@dataclass(frozen=True)
class _Book:
    """The rules of one format, the headings under which they stand, and where its specification is published."""

    title: str
    rules: tuple[Rule[Any], ...]
    groups: Mapping[str, str]
    published: str | None = None


_BOOKS = (
    _Book("Delta", DELTA, {
        "log": "The files of the log", "commit": "Commits", "protocol": "Protocol", "metadata": "Metadata",
        "evolution": "What becomes of metadata", "action": "Actions", "file": "Live files, as far as the log tells",
        "checkpoint": "Checkpoints", "checksum": "Checksum files",
        "data": "Data files and deletion vectors",
    }, "https://github.com/delta-io/delta/blob/master/"),
    _Book("Iceberg", ICEBERG, {
        "metadata": "The metadata file", "schema": "Schemas", "spec": "Partition specs", "order": "Sort orders",
        "snapshot": "Snapshots", "list": "Manifest lists", "manifest": "Manifests", "entry": "Entries of manifests",
        "file": "Data files and delete files",
    }, "https://github.com/apache/iceberg/blob/main/format/"),
    _Book("Lance", LANCE, {
        "versions": "Versions", "manifest": "Manifests", "transactions": "Transactions", "flags": "Flags", "config": "Config",
        "schema": "Fields", "fragments": "Fragments", "files": "Data files, as far as the manifest tells",
        "deletions": "Deletion files", "row-ids": "Row ids", "data": "Data files", "base-paths": "Base paths",
        "indices": "Indices", "refs": "Tags and branches",
    }),
)  # fmt: skip


def reference() -> str:
    """The page, in Markdown."""
    return _HEAD + "\n".join([*_severities(), _MIDDLE, *(line for book in _BOOKS for line in _chapter(book))])


def _severities() -> Iterator[str]:
    for severity in reversed(Severity):
        yield f"| {severity.name.lower()} | {_MEANINGS[severity]} | {EXIT_CODES[severity]} |"


def _chapter(book: _Book) -> Iterator[str]:
    rules = book.rules
    told = ", ".join(f"{sum(r.severity is s for r in rules)} of severity {s.name.lower()}" for s in reversed(Severity))
    yield f"## {book.title}\n"
    yield f"There are {len(rules)} rules for {book.title} tables: {told}; {sum(r.is_deep for r in rules)} are deep.\n"
    for group, members in groupby(sorted(rules, key=lambda rule: [*book.groups].index(_group(rule))), _group):
        yield f"### {book.title}: {book.groups[group]}\n"
        yield "| rule | severity | meaning | how to mend it | section |"
        yield "|---|---|---|---|---|"
        for rule in members:
            deep = ", deep" if rule.is_deep else ""
            section = _section(rule.section, book.published)
            yield f"| `{rule.id}` | {rule.severity.name.lower()}{deep} | {rule.says} | {rule.mend} | {section} |"
        yield ""


def _group(rule: Rule[Any]) -> str:
    return rule.id.partition(".")[0]


def _section(section: Section, published: str | None) -> str:
    name = section.anchor.lstrip("#")
    return name if published is None else f"[{name}]({published}{section})"


if __name__ == "__main__":
    print(reference(), end="")

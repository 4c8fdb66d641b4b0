"""What is known of each client?  `python -m esker.cli.client_reference > docs/clients.md`

Prints the matrix of clients from their data files, so that it says what `esker compat` says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from esker.compat.clients import Access, Client, Hazard, Others, Release, clients
from esker.compat.verdicts import Verdict, judged
from esker.core.demands import Contract
from esker.core.features import Feature, Operation, Presence, Status
from esker.delta.demands import contract
from esker.delta.features import FEATURES, Facts
from esker.delta.protocol import minimal, presences

_HEAD = """\
# Clients

Which clients read and write which tables, as far as it is known. `esker compat TABLE` answers the same for one table, and says
what would help; [Which features may I enable?](which-features.md) is the guide. The page is printed from the files below
`esker/compat/clients` by `make docs`.

Each claim has its evidence: *run*, the release was installed and shown tables; *source code*, its own checks were read; or
*documentation*. What no evidence speaks of is unknown, and unknown is not yes.
"""
_MATRIX = """\
## Delta, the newest releases

A table that uses one feature and no other: what does the newest release that something is known of do with it? First reading,
then writing.

| sign | meaning |
|---|---|
| yes | it works; where the evidence is run, the rows were compared |
| part | it works with limits, told below |
| no | it refuses |
| wrong | it does not refuse, and gets it wrong |
| ? | nothing is known |
"""
_SIGNS = {Verdict.YES: "yes", Verdict.LIMITED: "part", Verdict.UNKNOWN: "?", Verdict.REFUSES: "no", Verdict.HARMS: "**wrong**"}
_OTHERS = {
    Others.REFUSED: "refuses all else",
    Others.IGNORED: "**ignores all else**",
    Others.UNKNOWN: "of all else nothing is known",
}
_TITLES = {"delta": "Delta clients", "iceberg": "Iceberg clients", "lance": "Lance clients"}


def reference() -> str:
    """The page, in Markdown."""
    lines = [_HEAD, _MATRIX, *_matrix(), ""]
    for format, title in _TITLES.items():
        lines += [f"## {title}\n", *(line for client in clients(format) for line in _client(client))]
    return "\n".join(lines)


def _matrix() -> Iterator[str]:
    """A row a client, a column a feature that the specification has."""
    shown = [f for f in FEATURES if f.status in (Status.SPEC, Status.ACCEPTED)]
    yield f"| client | releases | {' | '.join(f'[{f.name}](features.md#{f.name.lower()})' for f in shown)} |"
    yield "|---" * (len(shown) + 2) + "|"
    asked = [_using(feature) for feature in shown]
    for client in clients("delta"):
        newest = client.releases[-1]
        cells = (" / ".join(_sign(newest, one, operation) for operation in Operation) for one in asked)
        yield f"| {client.title} | {_text(newest.versions)} | {' | '.join(cells)} |"


def _using(feature: Feature[Facts]) -> Contract:
    """What a table asks for that uses this feature, and whatever it requires, at the lowest protocol."""
    protocol = minimal(f.name for f in FEATURES.closure([feature.name]))
    used = {feature.name, *feature.requires_active}
    found = presences(protocol, Facts())
    return contract(protocol, [replace(p, presence=Presence.IN_USE) if p.name in used else p for p in found])


def _sign(release: Release, asked: Contract, operation: Operation) -> str:
    return _SIGNS[judged(release, asked, operation).verdict]


def _client(client: Client) -> Iterator[str]:
    yield f"### {client.title}\n"
    name = f"`{client.name}` in `--client` and in promises"
    yield f"{client.kind.capitalize()}, {name}{f'; package `{client.package}`' if client.package else ''}.\n"
    for release in reversed(client.releases):
        yield f"- **{_text(release.versions)}**, {release.evidence.value}, {release.date}{_run(release)}"
        yield from (f"  - {line}" for line in _told(release))
    yield ""


def _told(release: Release) -> Iterator[str]:
    for access in release.reads:
        yield f"reads{_path(access.path)}: {_answers(access)}"
    if not release.reads:
        yield "does not read"
    yield f"writes: {_answers(release.writes)}" if release.writes is not None else "does not write"
    yield from (f"**wrong**: {_hazard(hazard)}" for hazard in release.hazards)
    yield from (f"refuses: {_hazard(refusal)}" for refusal in release.refusals)
    if release.notes:
        yield _text(release.notes)
    yield f"source: {_text(release.source)}"


def _answers(access: Access) -> str:
    parts = [_names(access.accepts) or "nothing"]
    others = (("as long as it is not used", access.unused), ("not", access.refuses), ("unknown", access.unknown))
    parts += [f"{how}: {_names(names)}" for how, names in others if names]
    parts += [f"{name} only so far: {limit}" for name, limit in sorted(access.limits.items())]
    return _text("; ".join([*parts, *([access.remark] if access.remark else [])])) + f"; {_OTHERS[access.others]}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names, key=lambda name: (" version " not in name, name.lower())))


def _hazard(hazard: Hazard) -> str:
    about = "whatever it does not know" if hazard.feature == "*" else hazard.feature
    return f"{about}, {hazard.operation}{_path(hazard.path)}: {_text(hazard.effect)}"


def _path(path: str) -> str:
    return f" ({path})" if path else ""


def _run(release: Release) -> str:
    return f": {', '.join(release.run)}" if release.run else ""


def _text(text: str) -> str:
    """Signs of versions and names as they stand, whatever Markdown makes of them."""
    return "".join(f"\\{sign}" if sign in "<>*_|" else sign for sign in text)


if __name__ == "__main__":
    print(reference(), end="")

"""Who is to blame when something cannot be done?

Every error Esker raises is an `EskerError`; its class says where the fault lies. A check gathers all the problems it
finds and raises once, so `problems` has one entry for each.
"""

from collections.abc import Iterable


class EskerError(Exception):
    """The base of everything Esker raises on purpose."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None, problems: Iterable[str] = ()):
        self.what = what
        self.where = where
        self.hint = hint
        self.problems = tuple(problems)
        super().__init__(_message(what, where, hint, self.problems))


class InvalidTable(EskerError):
    """The table breaks its own specification."""


class Unsupported(EskerError):
    """The table or the request is legal, and Esker cannot serve it."""


class InvalidRequest(EskerError):
    """The caller asked for something that makes no sense for this table."""


class NotFound(InvalidRequest):
    """Nothing lies where the caller pointed."""


class Conflict(EskerError):
    """Another writer was first."""


class CommitUnknown(EskerError):
    """The store did not say whether the commit happened; nothing was cleaned up."""


class AlreadyExists(EskerError):
    """`put_if_absent` found the name taken."""


def _message(what: str, where: str | None, hint: str | None, problems: tuple[str, ...]) -> str:
    lines = [f"{where}: {what}" if where else what]
    lines += [f"  - {problem}" for problem in problems]
    if hint:
        lines.append(f"  {hint}")
    return "\n".join(lines)

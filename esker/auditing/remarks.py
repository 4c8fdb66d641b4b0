"""What is there to know about a table that was looked at, and not into?

Nothing here reads. What `check` finds in a log takes reading it; these are the things that protocol and metadata tell.
"""

from collections.abc import Iterator

from esker.auditing.model import Remark
from esker.check.model import Severity
from esker.compat.promises import doubtful
from esker.core.demands import PROMISES
from esker.core.features import Operation, Presence, Status
from esker.core.glance import Glance
from esker.errors import EskerError, InvalidTable, Unsupported

SMALL_FILE = 1 << 20
MANY_FILES = 1_000
"""So many files, small on the average, slow every reader down."""


def remarks(found: Glance) -> tuple[Remark, ...]:
    """All that is worth a remark, the worst first."""
    told = [*_own(found), *_features(found), *_refused(found), *_promises(found), *_files(found)]
    return tuple(sorted(told, key=lambda remark: -remark.severity))


def refused(error: EskerError) -> Remark:
    """That the table could not be looked at, and why."""
    what = "; ".join((error.what, *error.problems))
    severity = Severity.WARNING if isinstance(error, Unsupported) else Severity.ERROR
    word = "breaks its specification" if isinstance(error, InvalidTable) else "cannot be opened"
    return Remark(severity, f"{word}: {what}")


def _own(found: Glance) -> Iterator[Remark]:
    yield from (Remark(Severity.ERROR, what) for what in found.about.findings)


def _features(found: Glance) -> Iterator[Remark]:
    for one in found.features:
        if one.presence is Presence.ABSENT:
            continue
        if one.feature is None:
            yield Remark(Severity.WARNING, f"{one.name} is a feature that Esker does not know")
        elif one.feature.status is Status.RETIRED:
            yield Remark(Severity.NOTICE, f"{one.name} is a retired feature")
        elif one.name != one.feature.name:
            yield Remark(Severity.NOTICE, f"{one.name} is an older name of {one.feature.name}, which fewer clients know")


def _refused(found: Glance) -> Iterator[Remark]:
    for operation, severity in ((Operation.READ, Severity.WARNING), (Operation.WRITE, Severity.NOTICE)):
        if operation in found.refused:
            yield Remark(severity, f"Esker does not {operation.value} it: {found.refused[operation]}")
            return  # who cannot read cannot write


def _promises(found: Glance) -> Iterator[Remark]:
    told = doubtful(found.about.properties.get(PROMISES), found.contract)
    yield from (Remark(Severity.ERROR, f"a promise is broken: {breach}") for breach in told)


def _files(found: Glance) -> Iterator[Remark]:
    files, size = found.files, found.size
    if files is not None and size is not None and files >= MANY_FILES and size < files * SMALL_FILE:
        yield Remark(Severity.NOTICE, f"{files:,} files of {size // files:,} bytes on the average")

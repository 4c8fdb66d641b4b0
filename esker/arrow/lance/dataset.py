"""How does pylance open what Esker means?

The one door through which tables are handed to the library. What it raises becomes an error that says whose fault it is.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import lance

from esker.core.fragments import FragmentScan
from esker.errors import Conflict, EskerError, InvalidRequest, InvalidTable, Unsupported
from esker.storage.paths import url_parts


@contextmanager
def scanned(scan: FragmentScan) -> Iterator[lance.LanceDataset]:
    """The dataset that a scan is of, at its version."""
    with ExitStack() as held, errors(scan.location, InvalidTable):
        if scan.manifest is None:
            yield open_dataset(scan.location, scan.branch, scan.version, dict(scan.storage_options))
            return
        folder = Path(held.enter_context(TemporaryDirectory(prefix="esker-lance-")))
        (folder / "_versions").mkdir()
        (folder / "_versions" / f"{scan.version}.manifest").write_bytes(scan.manifest)
        yield lance.dataset(str(folder), version=scan.version, storage_options=dict(scan.storage_options))


def open_dataset(location: str, branch: str | None, version: int | None, options: dict[str, str]) -> lance.LanceDataset:
    """The dataset at a location, of a branch and a version."""
    dataset = lance.dataset(uri(location), version=version if branch is None else None, storage_options=options or None)
    return dataset if branch is None else dataset.checkout_version((branch, version))


def uri(location: str) -> str:
    """The location as pylance takes it: a path where it is local, since it would decode a URL."""
    scheme, _, path = url_parts(location)
    if scheme == "memory":
        raise Unsupported("pylance sees no tables in memory", where=location, hint="Put the table into a folder.")
    return f"/{path}" if scheme == "file" else location


@contextmanager
def errors(where: str, blamed: type[EskerError] = InvalidRequest) -> Iterator[None]:
    """What the library raises, as an error of ours; `blamed` where it takes its input for invalid."""
    try:
        yield
    except EskerError:
        raise
    except BaseException as error:
        if not _is_its_own(error):
            raise
        text = _said(error)
        for pattern, kind, what in _KINDS:
            if re.search(pattern, text, re.IGNORECASE):
                raise (blamed if kind is InvalidRequest else kind)(f"{what}: {text}", where=where) from error
        raise InvalidTable(f"pylance cannot go on: {text}", where=where) from error


# Told by what the library says: it has few classes of errors.
_KINDS: tuple[tuple[str, type[EskerError], str], ...] = (
    (r"commit conflict|conflicting transaction|concurrent|preempted|retryable", Conflict, "another writer was first"),
    (r"no field named", Unsupported, "pylance cannot find a column by its name"),
    (r"not ?found|no such file", InvalidTable, "a file of the table is missing"),
    (r"not supported|unsupported|not implemented|newer version of lance", Unsupported, "pylance does not do this"),
    (
        r"invalid user input|schema mismatch|contained null|out of range|overflow|cast error|too large to store",
        InvalidRequest, "pylance refuses this",
    ),
)


def _is_its_own(error: BaseException) -> bool:
    """Whether the library raised this. What its compiled part did not expect it raises as a panic, which is no `Exception`."""
    known = (OSError, ValueError, RuntimeError, NotImplementedError, KeyError)
    return isinstance(error, known) or type(error).__name__ == "PanicException"


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:600]

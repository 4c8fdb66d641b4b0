"""Whose fault is it that a job failed?"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from esker.errors import (
    AlreadyExists,
    CommitUnknown,
    Conflict,
    EskerError,
    InvalidRequest,
    InvalidTable,
    NotFound,
    Unsupported,
)

BROKEN = "esker: a row breaks "
"""How the message begins with which Esker's own expressions fail a job."""

# What a Python worker raised that knows whose fault it is, problems and hint included.
_OURS = re.compile(r"^esker\.errors\.(\w+): (.*(?:\n  .*)*)", re.MULTILINE)
_KINDS: Mapping[str, type[EskerError]] = {
    kind.__name__: kind for kind in (InvalidTable, Unsupported, InvalidRequest, NotFound, Conflict, CommitUnknown, AlreadyExists)
}
_CAUSED = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_RAISED = re.compile(r"^(\w[\w.]*(?:Error|Exception): .*)$", re.MULTILINE)
_DATA = re.compile(r"SQLSTATE: 22")  # the class of errors that are in the data


@contextmanager
def job(what: str, where: str | None = None) -> Iterator[None]:
    """A job that does `what`. A row that breaks a rule, or cannot be computed, is the caller's fault.

    An error of ours that a Python worker raised stays what it is.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if found := re.search(rf"{BROKEN}(.*?)(?: SQLSTATE|$)", text, re.MULTILINE):
            raise InvalidRequest(f"a row breaks {found[1]}", where=where, hint="Nothing was changed.") from error
        if told := _OURS.findall(text):
            name, said = told[-1]
            raise _KINDS.get(name, EskerError)(said, hint="Nothing was changed.") from error
        kind = InvalidRequest if _DATA.search(text) else EskerError
        raise kind(f"Spark failed to {what}: {_cause(text)}", where=where, hint="Nothing was changed.") from error


def _cause(text: str) -> str:
    """What Spark says, without plans and stack traces: the last cause that it names or a worker raised, else its first line."""
    causes = _CAUSED.findall(text) or _RAISED.findall(text)
    return str(causes[-1] if causes else text.strip().split("\n")[0]).split(" SQLSTATE")[0]

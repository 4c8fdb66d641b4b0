"""Whose fault is it that a job failed?"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from esker.errors import EskerError, InvalidRequest

BROKEN = "esker: a row breaks "
"""How the message begins with which Esker's own expressions fail a job."""

_DATA = re.compile(r"SQLSTATE: 22")  # the class of errors that are in the data


@contextmanager
def job(what: str, where: str | None = None) -> Iterator[None]:
    """A job that does `what`. A row that breaks a rule, or cannot be computed, is the caller's fault."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if found := re.search(rf"{BROKEN}([^\n]*)", text):
            raise InvalidRequest(f"a row breaks {found[1]}", where=where, hint="Nothing was changed.") from error
        kind = InvalidRequest if _DATA.search(text) else EskerError
        raise kind(f"Spark failed to {what}: {_cause(text)}", where=where, hint="Nothing was changed.") from error


def _cause(text: str) -> str:
    """What Spark says, without plans and stack traces: the last cause that it names, else its first line."""
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    return str(causes[-1] if causes else text.strip().split("\n")[0]).split(" SQLSTATE")[0]

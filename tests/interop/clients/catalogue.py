"""Which tables are there for each format?"""

from tests.interop.clients.delta_tables import delta_cases
from tests.interop.clients.tables import Case

_CASES = {"delta": delta_cases}


def cases(format: str) -> tuple[Case, ...]:
    """The tables of a format."""
    return tuple(_CASES[format]())

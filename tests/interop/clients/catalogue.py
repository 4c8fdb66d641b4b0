"""Which tables are there for each format?"""

from tests.interop.clients.delta_tables import delta_cases
from tests.interop.clients.iceberg_tables import iceberg_cases
from tests.interop.clients.lance_tables import lance_cases
from tests.interop.clients.tables import Case

FORMATS = {"delta": delta_cases, "iceberg": iceberg_cases, "lance": lance_cases}


def cases(format: str) -> tuple[Case, ...]:
    """The tables of a format."""
    return tuple(FORMATS[format]())

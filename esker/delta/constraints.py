"""Which conditions does a table have its rows fulfil?  (PROTOCOL.md, "CHECK Constraints")"""

from collections.abc import Mapping

PREFIX = "delta.constraints."


def constraints(configuration: Mapping[str, str]) -> Mapping[str, str]:
    """The conditions by the names of the constraints. The key is told ignoring case, as by Delta's own writers."""
    found = {key[len(PREFIX) :]: sql for key, sql in configuration.items() if key.lower().startswith(PREFIX)}
    return dict(sorted(found.items()))

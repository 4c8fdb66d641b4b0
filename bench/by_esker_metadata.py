"""What is asked of Esker about a table alone, and not about its files?"""

import esker


def describe(folder: str) -> int:
    """Version, protocol, metadata and schema; the answer is how many columns there are."""
    return len(esker.open(folder).describe().schema.names)

"""Which ranges of bytes may be asked for?"""

from esker.errors import InvalidRequest


def checked_range(path: str, start: int, end: int | None) -> None:
    """Refuses a range that runs backwards or counts from the end; one that runs past the end is legal."""
    if start < 0 or (end is not None and end < start):
        raise InvalidRequest(f"bytes {start} to {end} are not a range", where=path)

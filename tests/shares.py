"""Which tests does one worker run, where `make test` has several?

A worker has a Spark session of its own, and starts it once. The tests of a file stay together, since they may share what was
made for them. A file with most of the tests is shared out in parts, whatever its tests have in common they have by the session.
"""

import re
from zlib import crc32

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

PARTS = 16

# The tests of a file that share what was made for one of their parameters have it in the first group.
SHARED_OUT = {
    "tests/delta/test_corpus.py": re.compile(r"(.*)"),
    "tests/interop/test_matrix.py": re.compile(r"\[(?:arrow-|native-|portable-)?(.*?)-(?:esker|delta-spark)"),
    "tests/interop/test_delta_spark.py": re.compile(r"\[(?:arrow-|native-|portable-)?(.*?)(?:-arrow|-native|-portable)?\]"),
}


def share(nodeid: str) -> str:
    """The tests of one share are run by one worker, one after another."""
    file = nodeid.split("::", 1)[0]
    together = SHARED_OUT[file].search(nodeid) if file in SHARED_OUT else None
    return f"{file} {crc32(together[1].encode()) % PARTS}" if together else file


def turn(item: pytest.Item) -> tuple[bool, bool]:
    """What comes first: the long tests, and those of Spark. A worker that ends early then waits for a small test only."""
    needs_spark = bool(item.get_closest_marker("spark") or item.get_closest_marker("connect"))
    return not item.get_closest_marker("slow"), not needs_spark


class Shares(LoadScopeScheduling):
    """Hands out shares in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return share(nodeid)

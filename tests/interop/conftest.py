"""What do the comparisons with peers share?"""

from collections.abc import Iterator

import pytest

from tests.conftest import NO_JAVA, has_java
from tests.interop.peer import ABSENT, PYTHON, DeltaSpark


@pytest.fixture(scope="session")
def delta_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    """delta-spark, in a process of its own."""
    if not PYTHON.exists():
        pytest.skip(ABSENT)
    if not has_java():
        pytest.skip(NO_JAVA)
    peer = DeltaSpark(tmp_path_factory.mktemp("peer"))
    yield peer
    peer.stop()

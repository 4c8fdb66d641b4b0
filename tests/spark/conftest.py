"""What do the tests of the Spark layer share?"""

from collections.abc import Callable
from typing import Any

import pytest

from esker.core.scan import ScanPlan


@pytest.fixture(params=["native", "portable"])
def relation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def read(spark: Any, relation: str) -> Callable[..., Any]:
    """`read(plan)` by one of the two relations."""
    from esker.spark.read import read as read_by  # the session comes first, which skips the test where there is no Java

    def by_relation(plan: ScanPlan, where: str | None = None) -> Any:
        return read_by(spark, plan, where, relation)  # type: ignore[arg-type]

    return by_relation

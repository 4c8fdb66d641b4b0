"""How does a call have settings of its own in a session that others use?"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Lock

from pyspark.sql import SparkSession

from esker.spark.session import is_connect


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """These settings while the call lasts. Calls may overlap: the last to end restores what the session had."""
    with ExitStack() as held:
        for key, value in values.items():
            _enter(spark, key, value)
            held.callback(_leave, spark, key)
        yield


class _Held:
    """A setting that calls hold, and what the session had before."""

    def __init__(self, before: str | None) -> None:
        self.before = before
        self.calls = 0


_lock = Lock()
_held: dict[object, dict[str, _Held]] = {}


def _enter(spark: SparkSession, key: str, value: str) -> None:
    with _lock:
        ours = _held.setdefault(_identity(spark), {})
        if key not in ours:
            before = spark.conf.get(key, None)
            spark.conf.set(key, value)
            ours[key] = _Held(before)
        ours[key].calls += 1


def _leave(spark: SparkSession, key: str) -> None:
    with _lock:
        identity = _identity(spark)
        ours = _held[identity]
        ours[key].calls -= 1
        if ours[key].calls:
            return
        before = ours.pop(key).before
        if not ours:
            del _held[identity]
        if before is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, before)


def _identity(spark: SparkSession) -> object:
    """What two Python objects have in common that stand for one session of the JVM, as those of two threads may."""
    return spark if is_connect(spark) else spark._jsparkSession

"""Vacuums in the middle of random histories, against a model that remembers every version's files."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from esker.delta.deletion_vectors import z85_encode
from esker.delta.last_vacuum import read_last_vacuum, write_last_vacuum
from esker.delta.vacuum import Mode, delete_files, plan_vacuum
from esker.errors import InvalidRequest
from tests.delta.clocked import DAY, Clocked
from tests.delta.tables import ID, Action, Log, add, metadata, protocol, remove

FEATURES = ("deletionVectors", "changeDataFeed")
NAMES = ["part-{}.parquet", "p=a b/part {}.parquet", "p=x%2Fy/{}.parquet", "deep/er/{}.parquet", "ü#{}?.parquet"]


@dataclass(frozen=True)
class Vector:
    """A deletion vector: the file it is in, and how a log names it."""

    path: str
    descriptor: Action = field(hash=False)


@dataclass(frozen=True)
class Removal:
    version: int
    timestamp: int | None
    files: frozenset[str]
    action: Action = field(hash=False)


class Model:
    """A table, and what it looked like at every version."""

    def __init__(self, retention: timedelta) -> None:
        self.clock = Clocked()
        self.log = Log(self.clock)
        self.retention = retention
        self.live: dict[str, tuple[str, Vector | None]] = {}
        self.times: list[int] = []
        self.states: list[frozenset[str]] = []
        self.changes: list[tuple[int, str]] = []
        self.removals: list[Removal] = []
        self.tombstones: list[Removal] = []
        self.oldest = 0
        self.commit(protocol(*FEATURES), metadata(ID))

    def commit(self, *actions: Action) -> None:
        self.clock.now += 1
        self.log.commit(*actions)
        self.times.append(self.clock.now)
        self.states.append(frozenset(self.files()))

    def files(self) -> set[str]:
        """What the newest version needs."""
        return {path for path, _ in self.live.values()} | {v.path for _, v in self.live.values() if v is not None}

    @property
    def cutoff(self) -> int:
        return self.clock.now - self.retention // timedelta(milliseconds=1)

    # What a history is made of. `pick` chooses among what there is.

    def append(self, pick: int, days: float) -> None:
        path = NAMES[pick % len(NAMES)].format(len(self.states))
        self.clock.put(path, b"data")
        self.clock.pass_days(days)
        uri = quote(path, safe="/=")
        uri = f"{self.log.url}/{uri}" if pick % 3 == 0 else uri
        self.live[uri] = (path, None)
        self.commit(add(uri))

    def remove(self, pick: int, days: float) -> None:
        if self.live:
            uri = sorted(self.live)[pick % len(self.live)]
            self.commit(self.removal(uri, pick, self.live.pop(uri)))

    def delete_rows(self, pick: int, days: float) -> None:
        """Another vector for a live file."""
        if self.live:
            uri = sorted(self.live)[pick % len(self.live)]
            old = self.live[uri]
            new = self.vector(pick)
            self.clock.pass_days(days)
            self.live[uri] = (old[0], new)
            self.commit(self.removal(uri, pick, old), add(uri, dv=new.descriptor, stats={"numRecords": 9}))

    def restore(self, pick: int, days: float) -> None:
        """A file comes back that was removed and is still there."""
        there = self.clock.paths()
        gone = [(r.action["remove"]["path"], path) for r in self.removals for path in r.files if path in there]
        gone = [(uri, path) for uri, path in gone if uri not in self.live and not path.endswith(".bin")]
        if gone:
            uri, path = gone[pick % len(gone)]
            self.live[uri] = (path, None)
            self.commit(add(uri))

    def change(self, pick: int, days: float) -> None:
        path = f"_change_data/p={pick % 2}/{len(self.states)}.parquet"
        self.clock.put(path, b"changes")
        self.clock.pass_days(days)
        self.changes.append((len(self.states), path))
        self.commit({"cdc": {"path": path, "partitionValues": {}, "size": 7, "dataChange": False}})

    def orphan(self, pick: int, days: float) -> None:
        self.clock.put(f"orphans/{pick}-{self.clock.now}", b"lost")

    def checkpoint(self, pick: int, days: float) -> None:
        """One that forgets old tombstones, or one that keeps all."""
        if pick % 2:
            self.tombstones = [t for t in self.tombstones if (t.timestamp or 0) >= self.clock.now - 7 * DAY]
        files = [add(uri, dv=v and v.descriptor, stats={"numRecords": 9}) for uri, (_, v) in self.live.items()]
        names = {_key(action["add"]) for action in files}
        # a file that came back has no tombstone any more
        self.tombstones = [t for t in self.tombstones if _key(t.action["remove"]) not in names]
        buried = [t.action for t in self.tombstones]
        self.log.checkpoint(self.log.version, [protocol(*FEATURES), metadata(ID), *files, *buried])

    def clean_up(self, pick: int, days: float) -> None:
        """The log loses what lies before its newest checkpoint."""
        found = [f.path for f in self.clock.list("_delta_log") if ".checkpoint." in f.path]
        if found:
            self.oldest = int(max(found).split("/")[1][:20])
            for file in self.clock.list("_delta_log"):
                number = file.path.split("/")[1][:20]
                if number.isdigit() and int(number) < self.oldest:
                    self.clock.delete(file.path)

    def wait(self, pick: int, days: float) -> None:
        self.clock.pass_days(1 + days)

    def removal(self, uri: str, pick: int, old: tuple[str, Vector | None]) -> Action:
        now, vector = self.clock.now + 1, old[1]
        timestamp = [now, now, None, None, 1, now - 3 * DAY, now + 4 * DAY][pick % 7]
        body: dict[str, Any] = {} if timestamp is None else {"deletionTimestamp": timestamp}
        action = remove(uri, dv=vector and vector.descriptor)
        del action["remove"]["deletionTimestamp"]
        action["remove"] |= body
        files = frozenset({old[0]} | ({vector.path} if vector else set()))
        found = Removal(len(self.states), timestamp, files, action)
        self.removals.append(found)
        self.tombstones.append(found)
        return action

    def vector(self, pick: int) -> Vector:
        """In a file of its own, or in one that is there."""
        known = sorted({v.path: v for _, v in self.live.values() if v is not None}.values(), key=lambda v: v.path)
        if known and pick % 3 == 0:
            shared = known[pick % len(known)]
            return Vector(shared.path, shared.descriptor | {"offset": shared.descriptor["offset"] + 40 + pick})
        identity, prefix = UUID(int=self.clock.now), "ab" if pick % 2 else ""
        path = f"{prefix}/deletion_vector_{identity}.bin".lstrip("/")
        self.clock.put(path, b"vector")
        kind, text = ("p", f"{self.log.url}/{path}") if pick % 5 == 0 else ("u", prefix + z85_encode(identity.bytes))
        return Vector(
            path, {"storageType": kind, "pathOrInlineDv": text, "offset": 1, "sizeInBytes": 6, "cardinality": 1}
        )

    # What has to hold.

    def vacuum(self, pick: int, days: float) -> None:
        self.clock.now += 1
        mode: Mode = "full" if pick % 2 else "lite"
        done = read_last_vacuum(self.clock)
        before = {file.path: file.modified for file in self.clock.list() if not file.path.startswith("_delta_log/")}
        try:
            plan = plan_vacuum(self.log.snapshot(), self.retention, self.clock.now, mode, allow_unsafe=True)
        except InvalidRequest:
            assert mode == "lite"
            assert self.oldest > (0 if done is None else done + 1)
            return
        delete_files(self.clock, plan)
        if plan.reach is not None:
            write_last_vacuum(self.clock, plan.reach)
        left = self.clock.paths()
        needed = self.needed()
        assert needed <= left
        assert all(modified < self.cutoff for path, modified in before.items() if path not in left)
        may_stay = needed.union(*(r.files for r in self.removals if (r.timestamp or 0) >= self.cutoff))
        old = {path for path in left if before[path] < self.cutoff}
        if mode == "full":
            assert old <= may_stay
        else:
            assert not old & self.expired_since(-1 if done is None else done) - may_stay

    def first(self) -> int:
        """The version that was current at the cutoff."""
        return max((v for v, time in enumerate(self.times) if time < self.cutoff), default=0)

    def needed(self) -> set[str]:
        versions = [v for v in range(len(self.states)) if v >= max(self.first(), self.oldest)]
        found = set(self.states[-1]).union(*(self.states[v] for v in versions))
        found |= {path for v, path in self.changes if self.times[v] >= self.cutoff and v >= self.oldest}
        return found.union(*(t.files for t in self.tombstones if (t.timestamp or 0) >= self.cutoff))

    def expired_since(self, done: int) -> set[str]:
        gone = [r for r in self.removals if self.times[r.version] < self.cutoff and r.version > done]
        return set().union(*(r.files for r in gone if (r.timestamp or 0) < self.cutoff))


def _key(body: Action) -> tuple[str, str]:
    return body["path"], str(body.get("deletionVector"))


STEPS = (
    *(Model.append, Model.append, Model.append, Model.remove, Model.remove, Model.remove, Model.delete_rows),
    *(
        Model.wait,
        Model.wait,
        Model.restore,
        Model.change,
        Model.orphan,
        Model.checkpoint,
        Model.clean_up,
        Model.vacuum,
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0, 1, 2, 4]).map(lambda days: timedelta(days=days)),
    st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 209), st.sampled_from([0, 0, 0.1, 1])),
        min_size=10,
        max_size=24,
    ),
)
def test_no_version_in_the_retention_loses_a_file_and_nothing_older_is_left(
    retention: timedelta, steps: list[Any]
) -> None:
    model = Model(retention)
    for step, pick, days in steps:
        step(model, pick, days)
    for pick in (0, 1):
        model.vacuum(pick, 0)

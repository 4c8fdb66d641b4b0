"""Does maintenance ever delete a file that something retained still needs?  (spec, "Snapshot Retention Policy", "Table Statistics")

Random histories of writes, branches, tags, statistics, rewrites, expiry and the search for orphans. The oracles are simple: a
dictionary of the rows of each snapshot, and a walk over the Avro files by another reader.
"""

import io
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import fastavro
import pytest

from esker.arrow.write import ArrowRows
from esker.core.arrange import Layout
from esker.core.merge import InsertRow, Merge, UpdateRow
from esker.core.protocol_changes import Upgrade
from esker.core.table import VacuumWish
from esker.core.write import WriteOptions
from esker.errors import Conflict, InvalidRequest, NotFound
from esker.iceberg import alter, cleaning, manifest_rewriting, optimize, refs
from esker.iceberg.commit import Change, commit
from esker.iceberg.metadata import BRANCH, MAIN, TAG, PartitionStatisticsFile, StatisticsFile
from esker.iceberg.refs import Retention
from esker.iceberg.table import IcebergTable
from esker.iceberg.updates import SetPartitionStatistics, SetStatistics
from tests.arrow_editor import ArrowEditor, ArrowMerger
from tests.delta.arranging import ArrowArranger
from tests.iceberg.operations import MODES, created, empty, opened, properties, rows, seen

Rows = dict[int, int]
STEPS = 30


class History:
    """A table whose rows are known at each of its snapshots."""

    def __init__(self, version: int, mode: str, seed: int) -> None:
        self.random = Random(f"{version} {mode} {seed}")
        more = {"commit.manifest.min-count-to-merge": str(self.random.choice([2, 4, 100]))}
        self.storage = empty()
        created(self.storage, properties(version, mode, **more))
        self.known: dict[int, Rows] = {-1: {}}
        self.next_id = 1
        self.removed = 0

    def on(self, ref: str) -> IcebergTable:
        table = opened(self.storage)
        return table.in_state(table.state.at_ref(ref)) if ref in table.state.metadata.refs else table

    def branch(self) -> str:
        named = opened(self.storage).state.metadata.refs.items()
        return self.random.choice([MAIN, *(name for name, ref in named if ref.type == BRANCH)])

    def step(self) -> str:
        name = self.random.choice(sorted(ACTS))
        ACTS[name](self)
        return name

    def note(self, table: IcebergTable, after: Rows) -> None:
        self.known[table.version] = after

    def write(self, act: Callable[[IcebergTable], IcebergTable], change: Callable[[Rows], Rows]) -> None:
        table = self.on(self.branch())
        self.note(act(table), change(self.known[table.version]))

    def fresh(self, count: int) -> list[int]:
        first, self.next_id = self.next_id, self.next_id + count
        return list(range(first, first + count))


def append(h: History) -> None:
    ids, part = h.fresh(h.random.randint(1, 5)), h.random.choice("abc")
    h.write(lambda t: t.append(ArrowRows(rows(ids, part)), WriteOptions()), lambda r: {**r, **{i: i for i in ids}})


def delete(h: History) -> None:
    low = h.random.randint(0, h.next_id)
    high = low + h.random.choice([1, 3, 1000])
    where = f"id >= {low} AND id < {high}"
    h.write(lambda t: t.delete(where, ArrowEditor()), lambda r: {k: v for k, v in r.items() if not low <= k < high})


def update(h: History) -> None:
    low = h.random.randint(0, h.next_id)
    h.write(
        lambda t: t.update({"v": "v + 100"}, f"id > {low}", ArrowEditor()),
        lambda r: {k: v + 100 if k > low else v for k, v in r.items()},
    )


def merge(h: History) -> None:
    ids = sorted({h.random.randint(1, h.next_id), *h.fresh(1)})
    wanted = Merge("target.id = source.id", (UpdateRow(None),), (InsertRow(None),))
    source = rows(ids, "a")
    h.write(lambda t: t.merge(wanted, ArrowMerger(source, wanted)), lambda r: {**r, **{i: i for i in ids}})


def overwrite(h: History) -> None:
    ids = h.fresh(2)
    h.write(
        lambda t: t.overwrite(ArrowRows(rows(ids, "b")), WriteOptions(), is_dynamic=False), lambda _: {i: i for i in ids}
    )


def pack(h: History) -> None:
    h.write(lambda t: t.optimize(Layout(), ArrowArranger()), dict)


def purge(h: History) -> None:
    h.write(lambda t: t.purge(None, ArrowArranger()), dict)


def rewrite_manifests(h: History) -> None:
    h.write(lambda t: t.in_state(manifest_rewriting.rewrite_manifests(t.state)), dict)


def drop_dangling(h: History) -> None:
    h.write(lambda t: t.in_state(optimize.remove_dangling_deletes(t.state)), dict)


def make_ref(h: History) -> None:
    table = opened(h.storage)
    known = [s.snapshot_id for s in table.state.metadata.snapshots]
    if known:
        kind = h.random.choice([BRANCH, TAG])
        keep = h.random.choice([None, 1, 2, 3]) if kind == BRANCH else None
        refs.create_ref(table.state, f"r{h.fresh(1)[0]}", kind, h.random.choice(known), Retention(None, None, keep))


def drop_ref(h: History) -> None:
    table = opened(h.storage)
    if others := sorted(set(table.state.metadata.refs) - {MAIN}):
        refs.drop_ref(table.state, h.random.choice(others))


def move(h: History) -> None:
    """Fast-forward, roll back or cherry-pick, where that can be."""
    table, main = opened(h.storage), opened(h.storage).state.metadata.refs.get(MAIN)
    state = table.state
    if main is None:
        return
    picked = h.random.choice(state.metadata.snapshots).snapshot_id
    others = sorted(set(state.metadata.refs) - {MAIN})
    try:
        match h.random.choice(["forward", "back", "pick"]):
            case "forward" if others:
                refs.fast_forward(state, MAIN, h.random.choice(others))
            case "back":
                refs.rollback(state, picked)
            case "pick":
                check_added_by_append(h, state, picked)
    except (InvalidRequest, Conflict):
        return


def check_added_by_append(h: History, state: Any, picked: int) -> None:
    """Pick an append whose rows are not there, so that no id is there twice."""
    snapshot = state.metadata.snapshot(picked)
    before = h.known.get(snapshot.parent_snapshot_id if snapshot.parent_snapshot_id is not None else -1)
    if before is None or snapshot.operation != "append":
        return
    added = {k: v for k, v in h.known[picked].items() if k not in before}
    if not added.keys() & h.known[state.version].keys():
        after = {**h.known[state.version], **added}
        made = refs.cherry_pick(state, picked)
        assert h.known.setdefault(made.version, after) == after


def statistics(h: History) -> None:
    table = opened(h.storage)
    if table.state.metadata.snapshots:
        owner = h.random.choice(table.state.metadata.snapshots).snapshot_id
        names = [f"metadata/{h.fresh(1)[0]}.{ending}" for ending in ("stats", "parquet")]
        for name in names:
            h.storage.put(name, b"PFA1")
        paths = [f"{table.state.metadata.location}/{name}" for name in names]
        both = (
            SetStatistics(StatisticsFile(owner, paths[0], 4, 4)),
            SetPartitionStatistics(PartitionStatisticsFile(owner, paths[1], 4)),
        )
        commit(table.state, lambda base: Change(both))


def partition(h: History) -> None:
    table = opened(h.storage)
    has_bucket = any("bucket" in f.transform for f in table.state.metadata.spec.fields)
    alter.change_partitioning(table.state, *((["p"], ["bucket(2, id)"]) if has_bucket else (["bucket(2, id)"], ["p"])))


def upgrade(h: History) -> None:
    table = opened(h.storage)
    if h.random.random() < 0.2 and table.state.metadata.format_version < 3:
        table.upgrade(Upgrade(table.state.metadata.format_version + 1))


def expire(h: History) -> None:
    _, gone = cleaning.expire(opened(h.storage).state, VacuumWish(timedelta(0)), lambda done, of: None)
    h.removed += len(gone.files)


def remove_orphans(h: History) -> None:
    wish = VacuumWish(timedelta(0), allow_unsafe=True)
    h.removed += len(cleaning.remove_orphans(opened(h.storage).state, wish, lambda done, of: None).files)


ACTS: dict[str, Callable[[History], None]] = {
    act.__name__: act
    for act in (
        append, delete, update, merge, overwrite, pack, purge, rewrite_manifests, drop_dangling, make_ref, drop_ref, move,
        statistics, partition, upgrade, expire, remove_orphans,
    )
}  # fmt: skip


def check_all_there(h: History) -> None:
    """Every file that the metadata names is there, by a walk that shares nothing with Esker's own."""
    metadata = opened(h.storage).state.metadata

    def data(path: str) -> bytes:
        try:
            return h.storage.read(path.removeprefix(f"{metadata.location}/"))
        except NotFound:
            raise AssertionError(f"{path} is gone") from None

    for listed in (*metadata.statistics, *metadata.partition_statistics):
        data(listed.statistics_path)
    for snapshot in metadata.snapshots:
        for manifest in fastavro.reader(io.BytesIO(data(snapshot.manifest_list or ""))):
            for entry in fastavro.reader(io.BytesIO(data(manifest["manifest_path"]))):
                if entry["status"] != 2:
                    data(entry["data_file"]["file_path"])


def check_rows(h: History) -> None:
    table = opened(h.storage)
    for snapshot in table.state.metadata.snapshots:
        assert seen(table.at(snapshot.snapshot_id)) == h.known[snapshot.snapshot_id], snapshot


@pytest.mark.parametrize(("version", "mode"), [(1, MODES[0]), (2, MODES[0]), (2, MODES[1]), (3, MODES[1])])
@pytest.mark.parametrize("seed", range(4))
def test_no_history_loses_a_file_or_a_row_of_a_retained_snapshot(version: int, mode: str, seed: int) -> None:
    history = History(version, mode, seed)
    done = []
    for at in range(STEPS):
        done.append(history.step())
        check_all_there(history)
        if at % 5 == 4 or done[-1] in ("expire", "remove_orphans"):
            check_rows(history)
    table = history.on(MAIN)
    for _ in range(2):  # nothing names the first of them
        table = table.overwrite(ArrowRows(rows(history.fresh(1), "b")), WriteOptions(), is_dynamic=False)
        history.note(table, seen(table))
    expire(history)
    remove_orphans(history)
    check_all_there(history)
    check_rows(history)
    assert history.removed, done

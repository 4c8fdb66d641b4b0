"""Which files are live after any history of adds and removes?  (PROTOCOL.md, "Action Reconciliation", and C8)"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.delta.tables import ID, Action, Log, add, checkpoint_rows, inline, lines, metadata, parquet, protocol, remove

PATHS = ["a", "b", "c%20d"]
VECTORS = [None, inline(0), inline(1, 2), {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 4,
                                           "cardinality": 1}]  # fmt: skip
File = tuple[str, int]  # a path and the number of its vector


def unique(vector: Action | None) -> str | None:
    if vector is None:
        return None
    suffix = f"@{vector['offset']}" if "offset" in vector else ""
    return vector["storageType"] + vector["pathOrInlineDv"] + suffix


def replayed(commits: list[list[Action]]) -> dict[str, Action]:
    """The obvious replay: of the adds of a path the newest counts; a later commit may remove that very pair."""
    live: dict[str, Action] = {}
    for commit in commits:
        for action in commit:
            if body := action.get("remove"):
                known = live.get(body["path"])
                if known is not None and unique(known.get("deletionVector")) == unique(body.get("deletionVector")):
                    del live[body["path"]]
        for action in commit:
            if body := action.get("add"):
                live[body["path"]] = body
    return live


def tombstones(commits: list[list[Action]]) -> list[Action]:
    """The removes that a checkpoint or a compaction of the commits keeps: the newest reference of each logical file."""
    newest: dict[tuple[str, str | None], Action] = {}
    for commit in commits:
        for kind in ("remove", "add"):
            for action in commit:
                if body := action.get(kind):
                    newest[(body["path"], unique(body.get("deletionVector")))] = action
    return [action for action in newest.values() if "remove" in action]


@st.composite
def histories(draw: st.DrawFn) -> list[list[Action]]:
    """Commits as a writer may make them: each path once added, and removed first where it is live under another vector."""
    commits: list[list[Action]] = []
    live: dict[str, int] = {}
    for number in range(draw(st.integers(1, 7))):
        actions: list[Action] = []
        for path in draw(st.lists(st.sampled_from(PATHS), max_size=3, unique=True)):
            vector = draw(st.sampled_from(range(len(VECTORS))))
            what = draw(st.sampled_from(["add", "remove", "remove what is not there"]))
            if what == "add":
                if path in live and live[path] != vector:
                    actions.append(remove(path, dv=VECTORS[live[path]]))
                actions.append(add(path, dv=VECTORS[vector], size=number + 1))
                live[path] = vector
            elif what == "remove" and path in live:
                actions.append(remove(path, dv=VECTORS[live.pop(path)]))
            elif live.get(path) != vector:
                actions.append(remove(path, dv=VECTORS[vector]))
        commits.append(draw(st.permutations(actions)))
    return commits


def state(commits: list[list[Action]]) -> list[Action]:
    return [*({"add": body} for body in replayed(commits).values()), *tombstones(commits)]


@settings(max_examples=150, deadline=None)
@given(histories(), st.data())
def test_replay_gives_what_a_slow_and_obvious_replay_gives(commits: list[list[Action]], data: st.DataObject) -> None:
    """PROTOCOL.md, "Action Reconciliation"; newest text, C8: "unique by path alone: keep only the newest"."""
    log = Log()
    top = [protocol("deletionVectors", "v2Checkpoint"), metadata(ID)]
    log.commit(*top)
    for commit in commits:
        log.commit(*commit)
    last = len(commits)
    match data.draw(st.sampled_from(["none", "classic", "parts", "sidecar", "json"])):
        case "classic":
            at = data.draw(st.integers(0, last))
            log.checkpoint(at, [*top, *state(commits[:at])])
        case "parts":
            at = data.draw(st.integers(0, last))
            actions = [*top, *state(commits[:at])]
            log.checkpoint(at, actions[1:], "checkpoint.0000000001.0000000002.parquet")
            log.checkpoint(at, actions[:1], "checkpoint.0000000002.0000000002.parquet")
        case "sidecar":
            at = data.draw(st.integers(0, last))
            body = parquet(checkpoint_rows(state(commits[:at])))
            log.put("_sidecars/s.parquet", body)
            named: Action = {"sidecar": {"path": "s.parquet", "sizeInBytes": len(body), "modificationTime": 1}}
            log.checkpoint(at, [*top, {"checkpointMetadata": {"version": at}}, named], "checkpoint.aa-bb.parquet")
        case "json":
            at = data.draw(st.integers(0, last))
            log.put(f"{at:020}.checkpoint.aa-bb.json", lines([*top, *state(commits[:at])]))
    if last >= 2 and data.draw(st.booleans()):
        first = data.draw(st.integers(1, last - 1))
        end = data.draw(st.integers(first + 1, last))
        log.put(f"{first:020}.{end:020}.compacted.json", lines(data.draw(st.permutations(compacted(commits[first - 1 : end])))))
    for version in {last, data.draw(st.integers(0, last))}:
        expected = {path: (unique(b.get("deletionVector")), b["size"]) for path, b in replayed(commits[:version]).items()}
        assert found(log, version) == expected


def compacted(commits: list[list[Action]]) -> list[Action]:
    """The newest reference to each logical file; of the adds of a path only the newest."""
    return state(commits)


def found(log: Log, version: int) -> dict[str, tuple[Any, Any]]:
    table = log.snapshot(version).files.table
    assert len(set(table.column("path").to_pylist())) == table.num_rows
    return {row["path"]: (unique(_present(row["deletionVector"])), row["size"]) for row in table.to_pylist()}


def _present(vector: Action | None) -> Action | None:
    return None if vector is None else {k: v for k, v in vector.items() if v is not None}


CASES = [
    ("an add again brings the newest facts", [[add("a", size=1)], [add("a", size=2)]], {"a": 2}),
    ("a remove takes the file out", [[add("a")], [remove("a")]], {}),
    ("a file may come back", [[add("a")], [remove("a")], [add("a", size=3)]], {"a": 3}),
    ("a remove of another vector is of another file", [[add("a", dv=inline(1))], [remove("a")]], {"a": 1}),
    ("remove and add in one commit change the vector", [[add("a")], [add("a", dv=inline(1), size=2), remove("a")]], {"a": 2}),
    ("a vector may go back to an older one",
     [[add("a", dv=inline(1))], [remove("a", dv=inline(1)), add("a", dv=inline(1, 2))],
      [remove("a", dv=inline(1, 2)), add("a", dv=inline(1), size=5)]], {"a": 5}),
    ("an older add under another vector does not come back",
     [[add("a", dv=inline(1))], [add("a", dv=inline(2), size=4)], [remove("a", dv=inline(2))]], {}),
    ("paths are compared as they are written", [[add("a b")], [remove("a%20b")]], {"a b": 1}),
    ("removing what was never there does nothing", [[remove("x")], [add("a")]], {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize("commits, sizes", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_newest_reference_to_a_logical_file_counts(commits: list[list[Action]], sizes: dict[str, int]) -> None:
    """PROTOCOL.md, "Action Reconciliation" """
    log = Log()
    log.commit(protocol("deletionVectors"), metadata(ID))
    for commit in commits:
        log.commit(*commit)
    table = log.snapshot().files.table
    assert dict(zip(table.column("path").to_pylist(), table.column("size").to_pylist(), strict=True)) == sizes


def test_a_compaction_that_strings_commits_together_newest_first_is_read_by_age() -> None:
    log = Log().start()
    log.commit(add("a"), {"txn": {"appId": "x", "version": 1}})
    log.commit(remove("a"), add("b"), {"txn": {"appId": "x", "version": 2}}, metadata(ID, id="new"))
    strung = [remove("a"), add("b"), {"txn": {"appId": "x", "version": 2}}, metadata(ID, id="new"), add("a"),
              {"txn": {"appId": "x", "version": 1}}, metadata(ID, id="old")]  # fmt: skip
    log.put(f"{1:020}.{2:020}.compacted.json", lines(strung))
    assert log.paths() == ["b"]
    assert log.snapshot().txns["x"].version == 2
    assert log.snapshot().metadata.id == "new"


def test_domains_are_reconciled_whether_or_not_anybody_knows_them() -> None:
    """ "Readers who choose to support domain metadata must apply Action Reconciliation to all metadata domains and snapshots must
    include them -- even if the reader does not understand them."  (Reader Requirements for Domain Metadata)"""

    def domain(name: str, said: str, removed: bool = False) -> Action:
        return {"domainMetadata": {"domain": name, "configuration": said, "removed": removed}}

    log = Log().start(ID, domain("delta.fromTheFuture", "1"), domain("acme", "1"), features=["domainMetadata"])
    log.commit(domain("acme", "2"), domain("gone", "3"))
    log.commit(domain("gone", "3", removed=True))
    for _ in range(2):
        found = {name: known.configuration for name, known in log.snapshot().domains.items()}
        assert found == {"delta.fromTheFuture": "1", "acme": "2"}
        log.open().checkpoint()

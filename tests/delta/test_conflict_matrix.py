"""Which operations may follow which, when both began at the same version?

Each row of the matrix is an operation that finds, when it commits, that the operation of the column was first. The letters are
the conflicts that Delta's documents name; a small one counts under `Serializable` only.
"""

from functools import cache
from typing import Any

import pytest

from esker.delta.snapshot import Place, load
from esker.delta.table import DeltaTable
from esker.errors import Conflict
from esker.storage.port import Storage
from esker.testing.faults import Rival
from tests.delta.operations import (
    BY_VECTORS,
    Act,
    append,
    copied,
    delete,
    merge,
    opened,
    overwrite,
    overwrite_where,
    rearrange,
    seen,
    set_property,
    table_with,
    unnamed,
    update,
    upgrade,
    widen,
    write_domain,
)

OPERATIONS: dict[str, Act] = {
    "append": append("a", 41),
    "widen": widen,
    "overwrite": overwrite("a", 51),
    "where_a": overwrite_where("p = 'a'", "a", 52),
    "dynamic_b": overwrite("b", 53, is_dynamic=True),
    "delete_1": delete("id = 1"),
    "delete_2": delete("id = 2"),
    "delete_a2": delete("id >= 5 AND id <= 8"),
    "delete_b": delete("p = 'b'"),
    "update_3": update("id = 3"),
    "insert": merge("a", 41, updates=False),
    "upsert": merge("a", 5, 41, updates=True),
    "property": set_property,
    "protocol": upgrade,
    "optimize": rearrange("a"),
    "txn_1": append("b", 61, transaction=("app", 1)),
    "txn_2": append("b", 62, transaction=("app", 2)),
    "domain": write_domain("esker.test"),
}

CONFLICTS = {
    "A": "added rows that had to be read",  # ConcurrentAppend
    "R": "removed or changed files that were read",  # ConcurrentDeleteRead
    "M": "changed the schema or the properties",  # MetadataChanged
    "P": "changed the protocol",  # ProtocolChanged
    "T": "recorded progress of the same application",  # ConcurrentTransaction
    "W": "wrote the same domain metadata",  # ConcurrentTransaction
}

MATRIX = """
          append widen overwrite where_a dynamic_b delete_1 delete_2 delete_a2 delete_b update_3 insert upsert property protocol optimize txn_1 txn_2 domain
append    .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     .
widen     .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     .
overwrite a      MA    AR        AR      AR        AR       AR       R         R        AR       A      AR     M        P        R        a     a     .
where_a   a      MA    AR        AR      .         AR       AR       R         .        AR       A      AR     M        P        R        .     .     .
dynamic_b .      M     R         .       AR        .        .        .         R        .        .      .      M        P        .        a     a     .
delete_1  .      M     R         R       .         AR       AR       .         .        AR       .      .      M        P        R        .     .     .
delete_2  .      M     R         R       .         AR       AR       .         .        AR       .      .      M        P        R        .     .     .
delete_a2 .      M     R         R       .         .        .        R         .        .        .      AR     M        P        R        .     .     .
delete_b  .      M     R         .       AR        .        .        .         R        .        .      .      M        P        .        a     a     .
update_3  .      M     R         R       .         AR       AR       .         .        AR       .      .      M        P        R        .     .     .
insert    a      M     .         .       .         .        .        .         .        .        A      A      M        P        .        .     .     .
upsert    a      M     R         R       R         .        .        R         R        .        A      AR     M        P        R        .     .     .
property  .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     .
protocol  .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     .
optimize  .      M     R         R       .         R        R        R         .        R        .      R      M        P        R        .     .     .
txn_1     .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     .
txn_2     .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        T     .     .
domain    .      M     .         .       .         .        .        .         .        .        .      .      M        P        .        .     .     W
"""  # fmt: skip


def cells() -> list[Any]:
    """Every pair under `Serializable`, and those in which one adds what the other may have to read under both levels."""
    header, *lines = [line.split() for line in MATRIX.strip().splitlines()]
    assert header == [line[0] for line in lines] == list(OPERATIONS)
    pairs = [(line[0], rival, cell) for line in lines for rival, cell in zip(header, line[1:], strict=True)]
    levels = [(*pair, "Serializable") for pair in pairs] + [(*pair, "WriteSerializable") for pair in pairs if "A" in pair[2].upper()]
    return [pytest.param(*case, id=f"{case[0]}-{case[1]}-{case[3]}") for case in levels]


@pytest.mark.parametrize("ours, rival, cell, isolation", cells())
def test_an_operation_follows_a_rival_or_says_why_it_cannot(ours: str, rival: str, cell: str, isolation: str) -> None:
    storage = start(isolation)
    expected = {c.upper() for c in cell if c.isupper() or (c.islower() and isolation == "Serializable")}
    late = racing(storage, OPERATIONS[rival])
    if not expected:
        done = OPERATIONS[ours](late)
        # Where rows of a blind append were not looked at, the history that makes sense has the append last.
        order = (ours, rival) if cell == "a" else (rival, ours)
        assert seen(done) == seen(opened(storage)) == serially(isolation, *order)
        return
    with pytest.raises(Conflict) as refused:
        OPERATIONS[ours](late)
    assert told(refused.value) == expected
    assert all(f"version {opened(storage).version} (" in problem for problem in refused.value.problems)
    assert seen(opened(storage)) == serially(isolation, rival)
    assert not unnamed(storage)


def start(isolation: str) -> Storage:
    return table_with({**BY_VECTORS, "delta.isolationLevel": isolation, "delta.feature.domainMetadata": "supported"})


def racing(storage: Storage, rival: Act) -> DeltaTable:
    """The table as one sees it who will find, on committing, that a rival was first."""
    late = Rival(storage, lambda: rival(opened(storage)), matching="_delta_log/*.json")
    return DeltaTable(load(Place(late)))


def told(error: Conflict) -> set[str]:
    kinds = {problem: [kind for kind, words in CONFLICTS.items() if words in problem] for problem in error.problems}
    assert all(len(found) == 1 for found in kinds.values()), kinds
    return {found[0] for found in kinds.values()}


@cache
def serially(isolation: str, *names: str) -> list[tuple[Any, ...]]:
    """What the table holds after these operations, one after the other."""
    storage = copied(start(isolation))
    for name in names:
        OPERATIONS[name](opened(storage))
    return seen(opened(storage))

"""What do commits look like, by all kinds of operations on tables with mixes of features?

One history for each mix, told as the actions of its commits, in JSON, with the state that they leave.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson

from esker.arrow.write import ArrowRows
from esker.core import types as t
from esker.core.arrange import Layout
from esker.core.ddl import parse_ddl
from esker.core.protocol_changes import Drop
from esker.core.schema_changes import AddColumn
from esker.core.table import Creation, TableDefinition, VacuumWish
from esker.core.types import Field
from esker.delta.table import DeltaTable, create_delta
from esker.storage.port import Storage
from tests.arrow_editor import ArrowEditor
from tests.delta.arranging import ArrowArranger
from tests.delta.operations import (
    Act,
    append,
    delete,
    empty,
    merge,
    opened,
    overwrite,
    overwrite_where,
    rows,
    update,
    widen,
    write_domain,
)

Body = dict[str, Any]
UNKNOWN = "acme.unknown"
_COLUMNS = "id bigint, v bigint, p string"


def replaced(table: DeltaTable) -> DeltaTable:
    """Another table in the place of this one, with the same properties."""
    given = {k: v for k, v in table.snapshot.metadata.configuration.items() if k in _SETTABLE}
    by = table.snapshot.metadata.partition_columns
    storage = table.snapshot.place.storage
    definition = TableDefinition(parse_ddl(_COLUMNS), by, properties=given)
    return create_delta(storage, Creation(definition, ArrowRows(rows((1, 2, 3), "a")), "replace"), {})


HISTORY: Mapping[str, Act] = {
    "append": append("a", 1, 2, 3, 4),
    "append to a partition": append("b", 11, 12, 13),
    "append under a number": append("a", 5, 6, transaction=("app", 1)),
    "delete": delete("id = 2"),
    "delete more": delete("id = 3 OR id = 12"),
    "update": update("id = 4 OR id = 13"),
    "insert": merge("a", 5, 21, updates=False),
    "upsert": merge("b", 11, 22, updates=True),
    "overwrite where": overwrite_where("id < 5", "a", 1, 2),
    "overwrite partitions": overwrite("b", 31, 32, is_dynamic=True),
    "widen": widen,
    "add a column": lambda table: table.change_columns([AddColumn(Field("late", t.STRING))], ArrowEditor()),
    "set a property": lambda table: table.set_properties({"mine": "1"}),
    "restore": lambda table: table.restore(6, None, False),
    "delete files": delete("p = 'b'"),
    "optimize": lambda table: table.optimize(Layout(), ArrowArranger()),
    "update again": update("id >= 4"),
    "purge": lambda table: table.purge(None, ArrowArranger()),
    "checkpoint": lambda table: table.checkpoint(),
    "vacuum": lambda table: table.vacuum(VacuumWish(), lambda done, of: None)[0],
    "overwrite": overwrite("a", 41, 42, 43),
    "replace": replaced,
    "append again": append("b", 51),
    "take back": lambda table: table.restore(table.version - 3, None, False),
}


@dataclass(frozen=True)
class Mix:
    """Features that a table has together."""

    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ("p",)
    cluster_by: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()


_DOMAINS = {"delta.feature.domainMetadata": "supported"}
_SETTABLE = (
    "delta.enableDeletionVectors", "delta.enableRowTracking", "delta.enableInCommitTimestamps", "delta.enableChangeDataFeed",
    "delta.columnMapping.mode", "delta.enableIcebergCompatV2", "delta.checkpointPolicy", "delta.checkpointInterval",
)  # fmt: skip
MIXES = {
    "plain": Mix(),
    "vectors and feed": Mix({"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true", **_DOMAINS}),
    "feed by copies": Mix({"delta.enableChangeDataFeed": "true"}),
    "row ids and times": Mix(
        {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "3"}
    ),
    "mapped, with vectors and row ids": Mix(
        {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}
    ),
    "convertible": Mix({"delta.columnMapping.mode": "id", "delta.enableIcebergCompatV2": "true"}),
    "clustered": Mix({"delta.columnMapping.mode": "name", "delta.checkpointPolicy": "v2"}, (), ("id", "v")),
    "dropped": Mix({"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}, drops=("deletionVectors", "rowTracking")),
}  # fmt: skip


@dataclass
class State:
    """What the commits up to one leave, by path, by domain and by application."""

    adds: dict[str, Body] = field(default_factory=dict)
    domains: dict[str, Body] = field(default_factory=dict)
    metadata: Body = field(default_factory=dict)
    protocol: Body = field(default_factory=dict)
    time: int | None = None
    known: dict[str, Body] = field(default_factory=dict)
    """The newest `add` of every path that there ever was."""

    def is_on(self, name: str) -> bool:
        return bool(self.metadata.get("configuration", {}).get(name) == "true")

    def supports(self, feature: str) -> bool:
        return feature in (self.protocol.get("writerFeatures") or ())

    @property
    def mark(self) -> int:
        """The highest row id that was given out."""
        domain = self.domains.get("delta.rowTracking")
        return -1 if domain is None else int(orjson.loads(domain["configuration"])["rowIdHighWaterMark"])

    @property
    def fields(self) -> list[Body]:
        return list(orjson.loads(self.metadata["schemaString"])["fields"])


@dataclass
class Commit:
    """A version: its actions, and what was there before and after it."""

    version: int
    actions: list[tuple[str, Body]]
    before: State
    after: State
    storage: Storage

    def of(self, *kinds: str) -> list[Body]:
        return [body for kind, body in self.actions if kind in kinds]


@cache
def history(mix: str) -> tuple[Commit, ...]:
    """The commits of all operations on a table with these features."""
    wanted = MIXES[mix]
    storage = empty()
    definition = TableDefinition(
        parse_ddl(_COLUMNS), wanted.partition_by, properties=dict(wanted.properties), cluster_by=wanted.cluster_by
    )
    table = create_delta(storage, Creation(definition), {})
    if table.snapshot.protocol.writer_features and "domainMetadata" in table.snapshot.protocol.writer_features:
        table = write_domain(UNKNOWN)(table)
    for act in HISTORY.values():
        table = act(table)
    for feature in wanted.drops:
        table, _ = table.drop_features(Drop((feature,)), ArrowArranger())
    return tuple(_commits(storage, opened(storage).version))


def _commits(storage: Storage, last: int) -> Iterator[Commit]:
    before = State()
    for version in range(last + 1):
        lines = storage.read(f"_delta_log/{version:020}.json").splitlines()
        actions = [pair for line in lines for pair in orjson.loads(line).items()]
        after = _after(before, actions)
        yield Commit(version, actions, before, after, storage)
        before = after


def _after(before: State, actions: list[tuple[str, Body]]) -> State:
    after = State(
        dict(before.adds), dict(before.domains), before.metadata, before.protocol, before.time, dict(before.known)
    )
    for body in (body for kind, body in actions if kind == "remove"):
        if (live := after.adds.get(body["path"])) and live.get("deletionVector") == body.get("deletionVector"):
            del after.adds[body["path"]]
    for kind, body in actions:
        match kind:
            case "add":
                after.adds[body["path"]] = after.known[body["path"]] = body
            case "metaData":
                after.metadata = body
            case "protocol":
                after.protocol = body
            case "domainMetadata":
                after.domains |= {body["domain"]: body}
            case "commitInfo":
                after.time = body.get("inCommitTimestamp")
    after.domains = {name: body for name, body in after.domains.items() if not body["removed"]}
    return after

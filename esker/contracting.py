"""What can a user change about what a table asks of its clients?

The part of the handle that is about features and versions of the protocol. Every change can be asked for as a `dry_run`, which
gives a value: the protocol before and after, the properties, the files that are rewritten, the clients gained and lost.
"""

from typing import TYPE_CHECKING, Literal, Self, overload

from esker.compat.change import ChangePlan, change_plan, keeps_working
from esker.core.protocol_changes import Drop, Dropped, Enable, ProtocolChange, Upgrade
from esker.errors import InvalidRequest
from esker.governing import Governing
from esker.spark import row_arranger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Contracting(Governing):
    """What changes the contract between a table and its clients."""

    @overload
    def enable(self, *features: str, dry_run: Literal[False] = False) -> Self: ...

    @overload
    def enable(self, *features: str, dry_run: Literal[True]) -> ChangePlan: ...

    def enable(self, *features: str, dry_run: bool = False) -> "Self | ChangePlan":
        """Enable features: the protocol gets them and what they require, and those that have a switch are turned on.

        The protocol rises by no more than it must. A feature that needs more than a switch, as clustering needs columns, is
        enabled by its own method. To enable row tracking, all files get row ids first, in commits of their own.
        """
        if dry_run:
            return self._foreseen(Enable(features))
        return self._moved(self._table.enable(features))

    @overload
    def upgrade(self, reader: int | None = None, writer: int | None = None, *, dry_run: Literal[False] = False) -> Self: ...

    @overload
    def upgrade(self, reader: int | None = None, writer: int | None = None, *, dry_run: Literal[True]) -> ChangePlan: ...

    def upgrade(
        self, reader: int | None = None, writer: int | None = None, *, dry_run: bool = False
    ) -> "Self | ChangePlan":
        """Have the protocol support all that a reader and a writer version imply. What it has stays; nothing is turned on.

        An Iceberg table has one version, `upgrade(3)`, and never goes back.
        """
        wanted = Upgrade(reader, writer)
        return self._foreseen(wanted) if dry_run else self._moved(self._table.upgrade(wanted))

    @overload
    def drop_feature(
        self, *features: str, truncate_history: bool = False, keep_client: str | None = None,
        dry_run: Literal[False] = False, spark: "SparkSession | None" = None,
    ) -> Dropped: ...  # fmt: skip

    @overload
    def drop_feature(
        self, *features: str, truncate_history: bool = False, keep_client: str | None = None,
        dry_run: Literal[True], spark: "SparkSession | None" = None,
    ) -> ChangePlan: ...  # fmt: skip

    def drop_feature(
        self,
        *features: str,
        truncate_history: bool = False,
        keep_client: str | None = None,
        dry_run: bool = False,
        spark: "SparkSession | None" = None,
    ) -> Dropped | ChangePlan:
        """Take features out of the table, with all that they left behind; Spark rewrites the rows that have to be rewritten.

        Where older versions need a feature, checkpoints are put before the newest ones and protected, which asks
        `checkpointProtection` of writers. With `truncate_history` the older versions are cut off instead: those younger than
        a day have to wait, and what is returned says when to ask again. `keep_client`, as in `deltalake==1.2.0`, chooses the
        way after which this client works.
        """
        wanted = Drop(features, self._truncates(features, truncate_history, keep_client))
        if dry_run:
            return self._foreseen(wanted)
        table, dropped = self._table.drop_features(wanted, row_arranger(spark))
        self._moved(table)
        return dropped

    def _foreseen(self, change: ProtocolChange) -> ChangePlan:
        return change_plan(self._table.foresee(change))

    def _truncates(self, features: tuple[str, ...], is_asked: bool, client: str | None) -> bool:
        """Whether history is truncated: where that is asked for, or is the way that keeps the client."""
        if client is None:
            return is_asked
        problems: list[str] = []
        refusal: InvalidRequest | None = None
        for truncates in (True,) if is_asked else (False, True):
            try:
                reasons = keeps_working(self._table.foresee(Drop(features, truncates)), client)
            except InvalidRequest as error:  # there may be no history to truncate, or nothing to be done without
                refusal = error
                continue
            if not reasons:
                return truncates
            way = "with the history truncated" if truncates else "with checkpoints protected"
            problems += [f"{way}: {reason}" for reason in reasons]
        if refusal is not None and not problems:
            raise refusal
        raise InvalidRequest(f"{client} would not work with the table after that", where=self._table.location, problems=problems)

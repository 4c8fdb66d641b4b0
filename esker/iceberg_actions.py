"""What can a user do with an Iceberg table that other formats do not know?

Branches and tags, partition specs and sort orders that evolve, identifier fields, and the upkeep of metadata. It is the handle's
`iceberg`; each method moves the handle to the state that it made.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from esker.core.table import FormatTable, Vacuumed, VacuumWish
from esker.errors import InvalidRequest
from esker.iceberg import alter, cleaning, manifest_rewriting, optimize, refs
from esker.iceberg.metadata import BRANCH, TAG
from esker.iceberg.refs import Retention
from esker.iceberg.state import TableState
from esker.iceberg.table import IcebergTable

Move = Callable[[FormatTable], object]


class IcebergActions:
    """What is Iceberg's own. Columns are named as in `create`."""

    def __init__(self, table: FormatTable, move: Move) -> None:
        if not isinstance(table, IcebergTable):
            raise InvalidRequest(f"this is a {table.format} table, not an Iceberg table", where=table.location)
        self._table = table
        self._move = move

    def create_branch(
        self,
        name: str,
        *,
        snapshot_id: int | None = None,
        max_ref_age: timedelta | None = None,
        max_snapshot_age: timedelta | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> None:
        """Have a branch begin at a snapshot, by default at this one. `table.at(ref=name)` is a handle that writes to it."""
        retention = Retention(_millis(max_ref_age), _millis(max_snapshot_age), min_snapshots_to_keep)
        self._to(refs.create_ref(self._state, name, BRANCH, snapshot_id, retention))

    def create_tag(self, name: str, *, snapshot_id: int | None = None, max_ref_age: timedelta | None = None) -> None:
        """Name a snapshot, by default this one. It is kept for as long as it has the name."""
        self._to(refs.create_ref(self._state, name, TAG, snapshot_id, Retention(_millis(max_ref_age))))

    def drop_ref(self, name: str) -> None:
        """Take a branch or tag away; its snapshots stay until they expire."""
        self._to(refs.drop_ref(self._state, name))

    def fast_forward(self, branch: str, to: str) -> None:
        """Move a branch to where another branch or tag is, which must be ahead of it."""
        self._to(refs.fast_forward(self._state, branch, to))

    def cherry_pick(self, snapshot_id: int) -> None:
        """Make the changes of a snapshot on this branch."""
        self._to(refs.cherry_pick(self._state, snapshot_id))

    def publish(self, wap_id: str) -> None:
        """Publish the snapshot that was staged under an id."""
        self._to(refs.publish_staged(self._state, wap_id))

    def change_partitioning(self, *, add: Sequence[str] = (), drop: Sequence[str] = ()) -> None:
        """Partition files from now on by other values: `add=["days(ts)"]`, `drop=["city"]`. Files that are there stay."""
        self._to(alter.change_partitioning(self._state, add, drop))

    def sort_by(self, *keys: str) -> None:
        """Have files sorted from now on, as `sort_by("name", "ts DESC NULLS LAST")`; by nothing where there are no keys."""
        self._to(alter.set_sort_order(self._state, keys))

    def set_identifier_fields(self, *names: str) -> None:
        """Say which columns tell rows apart."""
        self._to(alter.set_identifier_fields(self._state, names))

    def expire_snapshots(self, older_than: timedelta | None = None, *, dry_run: bool = False) -> Vacuumed:
        """Let snapshots expire by the table's policy, or by age, and delete the files that only they had."""
        state, done = cleaning.expire(self._state, VacuumWish(older_than, is_dry_run=dry_run), _unheard)
        self._to(state)
        return done

    def remove_orphans(
        self, older_than: timedelta | None = None, *, dry_run: bool = False, allow_unsafe: bool = False
    ) -> Vacuumed:
        """Delete the files in the table's folders that it does not name, if they are older than three days or `older_than`.

        Less than a day needs `allow_unsafe`: writers that have not committed yet may need the files.
        """
        if older_than is not None and older_than < cleaning.LEAST_AGE and not allow_unsafe:
            raise InvalidRequest(
                f"files younger than {cleaning.LEAST_AGE} may be those of writers that have not committed yet",
                where=self._state.location, hint="Pass allow_unsafe=True if nobody else is at the table.",
            )  # fmt: skip
        wish = VacuumWish(older_than, is_dry_run=dry_run, allow_unsafe=allow_unsafe)
        return cleaning.remove_orphans(self._state, wish, _unheard)

    def rewrite_manifests(self) -> None:
        """Write the manifests anew, with the files of a partition together."""
        self._to(manifest_rewriting.rewrite_manifests(self._state))

    def remove_dangling_deletes(self) -> None:
        """Drop the delete files that concern no data file any more."""
        self._to(optimize.remove_dangling_deletes(self._state))

    @property
    def _state(self) -> TableState:
        return self._table.state

    def _to(self, state: TableState) -> None:
        self._table = self._table.in_state(state)
        self._move(self._table)


def _millis(age: timedelta | None) -> int | None:
    return None if age is None else int(age.total_seconds() * 1000)


def _unheard(done: int, of: int) -> None:
    """Nobody listens."""

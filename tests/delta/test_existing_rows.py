"""Are the rows that are there looked at before more is asked of rows?"""

import re
from collections.abc import Sequence
from datetime import UTC, tzinfo

import numpy as np
import pyarrow as pa
import pytest

import esker
from esker.arrow.read import read_batches
from esker.core.arrow_types import to_arrow_schema
from esker.core.binding import bind
from esker.core.bitmap import Bitmap
from esker.core.change import AddressedPlan, Rewrite, RowChange, RowPositions
from esker.core.columns import mask_of
from esker.core.filtering import mask
from esker.core.schema_changes import SetNotNull
from esker.core.sql import parse
from esker.errors import Conflict, InvalidRequest
from tests.delta.handles import created, ids, last, rows, with_rival

_BROKEN = re.compile(r"\(\n(.*)\n\) IS NOT TRUE", re.DOTALL)


class ArrowEditor:
    """Finds rows that break rules, without Spark, and counts the files that it reads."""

    def __init__(self) -> None:
        self.files = 0

    @property
    def zone(self) -> tzinfo:
        return UTC

    def matching(
        self, target: AddressedPlan, conditions: Sequence[str | None], skipped: RowPositions | None = None
    ) -> tuple[RowPositions, ...]:
        self.files += len(target.plan)
        found = pa.Table.from_batches(read_batches(target.plan), to_arrow_schema(target.plan.schema))
        left = np.ones(found.num_rows, bool)
        parts: list[RowPositions] = []
        for condition in conditions:
            rule = _BROKEN.fullmatch(str(condition))
            assert rule is not None
            holds = left & ~mask_of(mask(bind(parse(rule[1]), target.plan.schema), found).fill_null(False))
            hit = found.filter(pa.array(holds)).select([target.file, target.position]).to_pylist()
            files = {row[target.file] for row in hit}
            parts.append({f: Bitmap.of(row[target.position] for row in hit if row[target.file] == f) for f in files})
            left &= ~holds
        return tuple(parts)

    def rewritten(self, rewrite: Rewrite) -> RowChange:
        raise AssertionError("rows are only looked at")


def add_constraint(table: esker.Table, name: str, condition: str, editor: ArrowEditor | None = None) -> None:
    table._moved(table._table.add_constraint(name, condition, editor or ArrowEditor()))


def set_not_null(table: esker.Table, *path: str) -> None:
    table._moved(table._table.change_columns([SetNotNull(path)], ArrowEditor()))


def test_a_constraint_that_all_rows_fulfil_is_asked_of_new_ones():
    table = created("id bigint, n bigint", pa.table({"id": [1, 2], "n": [5, 6]}))
    add_constraint(table, "Small", "n < 9")
    assert table.describe().properties == {"delta.constraints.small": "n < 9"}
    assert table.describe().protocol == "(1, 3)"
    told = last(table)
    assert (told["operation"], told["operationParameters"]) == ("ADD CONSTRAINT", {"name": "Small", "expr": "n < 9"})


@pytest.mark.parametrize("condition, broken", [("id > 1", 1), ("n > 5", 2), ("n IS NULL", 2), ("id < 0", 3)])
def test_a_row_that_breaks_a_constraint_keeps_it_out(condition: str, broken: int):
    """ "When adding a CHECK constraint to a table, a writer must validate the existing data in the table": a row for which the
    condition is NULL breaks it too.  (CHECK Constraints)
    """
    table = created("id bigint, n bigint", pa.table({"id": [1, 2, 3], "n": [5, None, 6]}))
    with pytest.raises(InvalidRequest, match=rf"{broken} rows"):
        add_constraint(table, "c", condition)
    assert esker.open(table.location).version == 1


def test_rows_that_are_deleted_do_not_count():
    table = created(rows=ids(-1)).overwrite(ids(1))
    add_constraint(table, "positive", "id > 0")
    assert "delta.constraints.positive" in table.describe().properties


def test_only_files_in_doubt_are_read():
    table = created(rows=ids(1, 2)).append(ids(3, 4)).append(ids(5, 6))
    editor = ArrowEditor()
    add_constraint(table, "positive", "id > 0", editor)
    assert editor.files == 0
    with pytest.raises(InvalidRequest):
        add_constraint(table, "small", "id < 6", editor)
    assert editor.files == 1


@pytest.mark.parametrize(
    "name, condition, problem",
    [("positive", "id > 1", "there is a constraint"), ("POSITIVE", "id > 1", "there is a constraint"),
     ("other", "nowhere > 1", "not in the schema"), ("other", "id > 1) OR (TRUE", "has no place here"), (" ", "id > 1", "needs a name")],
)  # fmt: skip
def test_what_is_no_new_condition_makes_no_version(name: str, condition: str, problem: str):
    table = created(rows=ids(1), constraints={"positive": "id > 0"})
    with pytest.raises(InvalidRequest, match=problem):
        add_constraint(table, name, condition)
    assert esker.open(table.location).version == 1


def test_rows_that_a_rival_adds_meanwhile_are_looked_at_and_no_others():
    table = created(rows=ids(7, 9))
    editor = ArrowEditor()
    handle = with_rival(table, lambda rival: rival.append(ids(1, 9)))
    with pytest.raises(InvalidRequest, match="1 rows"):
        add_constraint(handle, "c", "id IN (7, 9)", editor)
    assert editor.files == 2
    assert esker.open(table.location).describe().properties == {}

    editor = ArrowEditor()
    handle = with_rival(table, lambda rival: rival.append(ids(7, 9)))
    add_constraint(handle, "c", "id IN (1, 7, 9)", editor)
    assert editor.files == 3
    assert handle.version == 4


def test_a_writer_that_did_not_know_of_the_constraint_conflicts():
    table = created(rows=ids(1))
    with pytest.raises(Conflict, match="changed the"):
        with_rival(table, lambda rival: add_constraint(rival, "c", "id > 0")).append(ids(-1))
    assert rows(table) == [{"id": 1}]


@pytest.mark.parametrize(
    "path, problem", [(("id",), None), (("n",), "1 rows"), (("s", "a"), None), (("s", "b"), "1 rows"), (("s",), "1 rows"), (("t",), "no column t")]
)
def test_a_column_is_made_not_null_where_no_row_lacks_it(path: tuple[str, ...], problem: str | None):
    """Where a struct is null itself, nothing within it is missing."""
    kind = pa.struct([("a", pa.int64()), ("b", pa.int64())])
    found = pa.table({"id": [1, 2], "n": [1, None], "s": pa.array([{"a": 1, "b": None}, None], kind)})
    table = created("id bigint, n bigint, s struct<a bigint, b bigint>", found)
    if problem is None:
        set_not_null(table, *path)
        assert not table.schema.at(path).nullable
        assert last(table)["operation"] == "CHANGE COLUMN"
    else:
        with pytest.raises(InvalidRequest, match=problem):
            set_not_null(table, *path)
        assert esker.open(table.location).version == 1


def test_a_null_that_a_rival_adds_meanwhile_keeps_a_column_from_being_not_null():
    table = created(rows=ids(1))
    nothing = pa.table({"id": pa.array([None], pa.int64())})
    with pytest.raises(InvalidRequest, match="1 rows"):
        set_not_null(with_rival(table, lambda rival: rival.append(nothing)), "id")
    assert esker.open(table.location).schema.at(("id",)).nullable


def test_new_rows_without_a_value_are_refused_once_a_column_is_not_null():
    table = created(rows=ids(1))
    set_not_null(table, "id")
    with pytest.raises(InvalidRequest, match="NOT NULL"):
        table.append(pa.table({"id": pa.array([None], pa.int64())}))


def test_not_null_is_not_set_without_a_look_at_the_rows():
    with pytest.raises(InvalidRequest, match="without a look"):
        created()._table.change_columns([SetNotNull(("id",))], None)

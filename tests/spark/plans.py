"""Scan plans made by hand over Parquet files made by hand."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from esker.arrow.read import read_table
from esker.core.bitmap import Bitmap
from esker.core.predicate import Predicate
from esker.core.scan import FromConstant, FromFile, Mask, Positions, Resolution, ScanColumn, ScanPlan
from esker.core.types import Field, Struct, Type


def stored(name: str, kind: Type, physical: Field | str | None = None) -> ScanColumn:
    """A column of the files, under its own name unless `physical` says otherwise."""
    there = Field(physical, kind) if isinstance(physical, str) else physical or Field(name, kind)
    return ScanColumn(Field(name, kind), FromFile(there))


def constant(name: str, kind: Type) -> ScanColumn:
    return ScanColumn(Field(name, kind), FromConstant(name))


def plan_of(
    folder: Path,
    files: Mapping[str, pa.Table],
    columns: Iterable[ScanColumn],
    *,
    constants: pa.Table | None = None,
    constant_fields: Iterable[Field] = (),
    dead: Mapping[int, Iterable[int]] | None = None,
    resolution: Resolution = Resolution.NAME,
    may_match: Callable[[Predicate], Mask] | None = None,
    may_be_narrower: bool = True,
) -> ScanPlan:
    """Write the files below the folder, and plan to read all of them. `dead` has the dead rows of files by ordinal."""
    paths = [folder / name for name in files]
    for path, table in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    bitmaps = {i: Positions(Bitmap.of(rows)) for i, rows in (dead or {}).items()}
    return ScanPlan(
        location=f"file://{folder}",
        columns=tuple(columns),
        resolution=resolution,
        paths=pa.array([f"file://{path}" for path in paths], pa.string()),
        sizes=pa.array([path.stat().st_size for path in paths], pa.int64()),
        constants=pa.table({}) if constants is None else constants,
        constant_fields=Struct(tuple(constant_fields)),
        has_deletes=np.array([i in bitmaps for i in range(len(paths))], dtype=bool),
        load_deletes=lambda ordinals: {i: bitmaps[i] for i in ordinals},
        may_match=may_match,
        may_be_narrower=may_be_narrower,
    )


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in an order that does not depend on how they were read."""
    columns = [column.to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr)


def assert_same_rows(frame: Any, plan: ScanPlan) -> None:
    """The frame has the plan's columns and the rows that the Arrow executor reads."""
    assert frame.columns == list(plan.schema.names)
    assert rows_of(frame.toArrow()) == rows_of(read_table(plan))

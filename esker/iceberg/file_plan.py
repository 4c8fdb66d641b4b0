"""How are files of a table read, whether they hold data or deletes?"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from esker.core.columns import scalar
from esker.core.scan import FileFormat, Resolution, ScanColumn, ScanPlan
from esker.core.types import Field, Struct
from esker.errors import Unsupported
from esker.iceberg.live_files import Files
from esker.iceberg.name_mapping import PROPERTY as NAME_MAPPING
from esker.iceberg.name_mapping import mapped_ids
from esker.iceberg.state import TableState

Constants: TypeAlias = Mapping[str, tuple[Field, pa.Array]]
RowReader: TypeAlias = Callable[[ScanPlan], pa.Table]
"""Reads the rows of a small plan here and now, such as those of delete files."""


def file_plan(state: TableState, files: Files, columns: Sequence[ScanColumn], constants: Constants) -> ScanPlan:
    """The plan for the rows of some files, with no deletes and no filters."""
    return ScanPlan(
        location=state.location,
        columns=tuple(columns),
        resolution=Resolution.ID,
        paths=state.place.absolutes(files.column("file_path")),
        sizes=files.column("file_size_in_bytes"),
        constants=pa.table({name: values for name, (_, values) in constants.items()}),
        constant_fields=Struct(tuple(field.renamed(name) for name, (field, _) in constants.items())),
        has_deletes=np.zeros(len(files), dtype=bool),
        storage_options=state.place.options,
        formats=_formats(files, state.location),
        mapped_ids=mapped_ids(state.metadata, state.schema),
        may_lack_ids=NAME_MAPPING in state.metadata.properties,
    )


def _formats(files: Files, where: str) -> pa.StringArray | None:
    formats = pc.utf8_lower(files.column("file_format"))
    known = [kind.value for kind in FileFormat]
    if unknown := [name for name in pc.unique(formats).to_pylist() if name not in known]:
        raise Unsupported(f"data files in the format {', '.join(map(str, unknown))}", where=where)
    return None if pc.all(pc.equal(formats, scalar(FileFormat.PARQUET.value, pa.string()))).as_py() else formats

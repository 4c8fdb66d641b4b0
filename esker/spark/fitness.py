"""Which files can Spark's own Parquet reader read right?

Not those of other formats, nor columns of types that it refuses, nor what has to be found by ids in files that have none. These
are left to Python workers.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from esker.arrow.conform import has_ids
from esker.arrow.parquet_files import open_parquet
from esker.core import types as t
from esker.core.columns import Mask
from esker.core.scan import FileFormat, FromConstant, FromFile, Partitioned, Resolution, ScanColumn, ScanPlan, Stored
from esker.core.types import Array, Field, Fixed, Geography, Geometry, Map, Struct, Type
from esker.errors import InvalidTable, NotFound
from esker.storage import open_input, split_url, storage_at

_FOREIGN = (t.TIME, t.UUID, t.TIMESTAMP_NS, t.TIMESTAMP_NTZ_NS)


def by_python(plan: ScanPlan) -> Mask:
    """The files that are left to Python workers."""
    if any(_is_foreign(column, plan) for column in plan.columns):
        return np.ones(len(plan), dtype=bool)
    return ~plan.of_format(FileFormat.PARQUET) | _lacks_ids(plan)


def _is_foreign(column: ScanColumn, plan: ScanPlan) -> bool:
    """Whether Spark's reader does not read the column, or does not know what it has where a file lacks it."""
    if isinstance(column.source, FromConstant) and isinstance(column.field.type, Fixed):
        return True
    match column.source:
        case FromFile(physical) | Partitioned(physical, _, _) | Stored(Field() as physical, _, _):
            return _has_foreign(column.field.type) or _has_default(physical, plan)
    return _has_foreign(column.field.type)


def _has_foreign(kind: Type) -> bool:
    match kind:
        case Struct():
            return any(_has_foreign(f.type) for f in kind)
        case Array():
            return _has_foreign(kind.element)
        case Map():
            return _has_foreign(kind.key) or _has_foreign(kind.value)
        case Geometry() | Geography():
            return True
    return kind in _FOREIGN


def _has_default(field: Field, plan: ScanPlan) -> bool:
    match field.type:
        case Struct() as struct:
            inner = any(_has_default(f, plan) for f in struct)
        case Array(element):
            inner = _has_default(Field("element", element), plan)
        case Map(key, value):
            inner = _has_default(Field("key", key), plan) or _has_default(Field("value", value), plan)
        case _:
            inner = False
    return inner or field.id in plan.defaults


def _lacks_ids(plan: ScanPlan) -> Mask:
    """The Parquet files without ids. Where all files are of one kind, the first tells which."""
    lacking = np.zeros(len(plan), dtype=bool)
    parquet = np.flatnonzero(plan.of_format(FileFormat.PARQUET))
    if plan.resolution is not Resolution.ID or plan.mapped_ids is None or not len(parquet):
        return lacking
    if not plan.may_lack_ids and _has_ids(plan, int(parquet[0])):
        return lacking
    with ThreadPoolExecutor(16) as pool:
        lacking[parquet] = [not found for found in pool.map(lambda at: _has_ids(plan, int(at)), parquet)]
    return lacking


def _has_ids(plan: ScanPlan, ordinal: int) -> bool:
    url = plan.paths[ordinal].as_py()
    root, name = split_url(url)
    try:
        with open_parquet(open_input(storage_at(root, plan.storage_options), name)) as file:
            return has_ids(file.schema_arrow)
    except NotFound as error:
        raise InvalidTable("the data file is missing", where=url) from error
    except (pa.ArrowException, OSError):
        return True  # what Arrow cannot open, Spark may

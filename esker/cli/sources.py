"""How does a file become rows?

By the file's ending: the opposite of `output`, so what was written there is read here as it was. In CSV and JSON the values are
read in the types of the table's columns; where the table has no such column, in the type that the values suggest.
"""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from esker.cli.parsing import arrow_values, text_values
from esker.core.arrow_types import to_arrow
from esker.core.types import Json, Struct
from esker.errors import InvalidRequest, NotFound


def read_files(paths: Sequence[Path], schema: Struct) -> pa.Table:
    """The rows of the files, one after another; `schema` has the columns of the table that they are for."""
    tables = [_read(path, schema) for path in paths]
    try:
        return pa.concat_tables(tables, promote_options="default")
    except pa.ArrowException as error:
        raise InvalidRequest(f"the files have not the same columns: {error}", hint="Write them one by one.") from error


def source_for(path: Path) -> "Callable[[Path, Struct], pa.Table]":
    """What reads the format of the file's ending."""
    if (source := _SOURCES.get(path.suffix.lower())) is None:
        raise InvalidRequest(f"{path}: a file of rows ends in {', '.join(_SOURCES)}")
    return source


def _read(path: Path, schema: Struct) -> pa.Table:
    try:
        return source_for(path)(path, schema)
    except FileNotFoundError as error:
        raise NotFound("there is no such file", where=str(path)) from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise InvalidRequest(f"the file cannot be read: {error}", where=str(path)) from error


def _parquet(path: Path, schema: Struct) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read()


def _csv(path: Path, schema: Struct) -> pa.Table:
    with csv.open_csv(path, parse_options=_TEXTS) as reader:
        header = _once(reader.schema.names)
    known = {name: field.type for name in header if (field := schema.find(name)) is not None}
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(known, pa.string()), null_values=[""],
        strings_can_be_null=True, quoted_strings_can_be_null=False,
    )  # fmt: skip
    texts = csv.read_csv(path, parse_options=_TEXTS, convert_options=options)
    columns = {
        name: _column(path, name, text_values, texts.column(name).to_pylist(), to_arrow(known[name]))
        if name in known
        else _typed(texts.column(name))
        for name in header
    }
    return pa.table(columns)


_TEXTS = csv.ParseOptions(newlines_in_values=True)


def _json(path: Path, schema: Struct) -> pa.Table:
    found = _parsed(path.read_text(encoding="utf-8"))
    return _objects(path, found if isinstance(found, list) else [found], schema)


def _json_lines(path: Path, schema: Struct) -> pa.Table:
    lines = path.read_text(encoding="utf-8").split("\n")
    return _objects(path, [_parsed(line) for line in lines if line.strip()], schema)


_SOURCES = {".parquet": _parquet, ".csv": _csv, ".json": _json, ".jsonl": _json_lines, ".ndjson": _json_lines}


def _objects(path: Path, rows: Sequence[Json], schema: Struct) -> pa.Table:
    if strange := next((row for row in rows if not isinstance(row, dict)), None):
        raise InvalidRequest(f"a row is an object, not {str(strange)[:60]}", where=str(path))
    objects = [row for row in rows if isinstance(row, dict)]
    names = dict.fromkeys(name for row in objects for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in objects]
        field = schema.find(name)
        kind = None if field is None else to_arrow(field.type)
        columns[name] = _column(path, name, arrow_values, values, kind)
    return pa.table(columns)


def _parsed(text: str) -> Json:
    """The value of a JSON text, with fractions as `Decimal`; of two members of one name the last would win unseen."""
    found: Json = json.loads(text, parse_float=Decimal, object_pairs_hook=_object)
    return found


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    _once([name for name, _ in members])
    return dict(members)


def _column(
    path: Path, name: str, parse: Callable[[Sequence[Any], pa.DataType], pa.Array], values: Sequence[Any],
    kind: pa.DataType | None,
) -> pa.Array:  # fmt: skip
    try:
        return _typed(pa.array([_plain(v) for v in values])) if kind is None else parse(values, kind)
    except (pa.ArrowException, ValueError, TypeError, ArithmeticError) as error:
        expected = "" if kind is None else f", which is {kind} in the table"
        raise InvalidRequest(f"the column {name}{expected}: {error}", where=str(path)) from error


def _typed(values: pa.Array) -> pa.Array:
    """A column without any value could have any type."""
    return values.cast(pa.string()) if pa.types.is_null(values.type) else values


def _plain(value: "Json | Decimal") -> object:
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_plain(v) for v in value]
        case dict():
            return {k: _plain(v) for k, v in value.items()}
    return value


def _once(names: Sequence[str]) -> Sequence[str]:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)} is there twice")
    return names

"""How does a folder of Parquet files become a table?  (PROTOCOL.md, "Data Files", "Partition Value Serialization")

In place: the files are named where they lie, and a log is all that is added. Whatever could make the table hold other rows than
the folder does is refused: files that are not Parquet, columns of two types, folders that do not agree, signs of another table
format that knows better which files count.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from esker.core import types as t
from esker.core.types import Field, Struct
from esker.delta import column_names
from esker.delta.actions import Add, Metadata, with_schema
from esker.delta.column_mapping import Mode
from esker.delta.footer_schemas import merged, stored_schema
from esker.delta.hive_partitions import folder_values, inferred, stated
from esker.delta.log import LOG_FOLDER
from esker.delta.partitions import parse_values
from esker.delta.protocol import Protocol
from esker.delta.required_features import NEW_TABLE, required, upgraded
from esker.errors import EskerError, InvalidRequest, InvalidTable, Unsupported
from esker.storage.paths import encoded
from esker.storage.port import FileInfo, Storage
from esker.storage.source import open_input

Statistics: TypeAlias = Callable[[pq.FileMetaData, Struct], str | None]
"""What a footer says of the columns given, as the `stats` of an `add`."""
_Values: TypeAlias = tuple[tuple[str, str | None], ...]
"""The columns and values that the folders of one file state."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What the first commit of the table holds, and what the history says of it."""

    adds: tuple[Add, ...]
    metadata: Metadata
    protocol: Protocol
    metrics: Mapping[str, int] = field(hash=False)


def converting(
    storage: Storage, partitions: Struct | None, statistics: Statistics | None, now: int, infer_types: bool = True
) -> Conversion:
    """The table that the folder's files make. `now` is in milliseconds since the epoch.

    `partitions` are the columns that the folders state. By default they are named as the folders have it, and their types
    inferred from the values as Spark does, or all are strings where `infer_types` is False.
    """
    files = _data_files(storage)
    values = _folder_values(files, storage.url)
    columns = _partition_columns(values, partitions, infer_types, storage.url)
    footers = _footers(storage, files, columns, statistics)
    data = merged((file.path, footer.schema) for file, footer in zip(files, footers, strict=True))
    schema = _schema(data, columns, storage.url)
    adds = tuple(
        Add(encoded(file.path), _texts(own, columns), file.size, file.modified, stats=footer.stats)
        for file, own, footer in zip(files, values, footers, strict=True)
    )
    metadata = with_schema(Metadata(str(uuid4()), "", schema, columns.names, created_time=now), schema)
    return Conversion(adds, metadata, upgraded(NEW_TABLE, required(schema, {})), {"numConvertedFiles": len(adds)})


def _data_files(storage: Storage) -> Sequence[FileInfo]:
    listed = list(storage.list())
    for mark, format_ in _FORMATS.items():
        if found := next((file.path for file in listed if mark.search(f"/{file.path}")), None):
            raise InvalidRequest(
                f"the folder holds a table of {format_} already, by {found}: not all of its files need be part of it",
                where=storage.url,
            )
    seen = [file for file in listed if not _is_hidden(file.path)]
    # What has no bytes has no rows: stores leave such files to stand for folders.
    if odd := [file.path for file in seen if file.size and not _is_parquet(file.path)]:
        raise InvalidRequest(
            "files that are not called *.parquet would not be part of the table",
            where=storage.url, problems=odd, hint="Move them out of the folder.",
        )  # fmt: skip
    files = [file for file in seen if _is_parquet(file.path)]
    if not files:
        raise InvalidRequest("the folder holds no Parquet files", where=storage.url)
    return files


_FORMATS = {
    re.compile(rf"/{LOG_FOLDER}/"): "Delta",
    re.compile(r"/metadata/[^/]+\.metadata\.json$"): "Iceberg",
    re.compile(r"/\.hoodie/"): "Hudi",
    re.compile(r"/_spark_metadata/"): "Spark's streams",
}


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")


def _is_hidden(path: str) -> bool:
    """Names that begin with `_` or `.` are hidden, unless a folder states a column of such a name."""
    *folders, name = path.split("/")
    return name.startswith(_HIDDEN) or any(folder.startswith(_HIDDEN) and "=" not in folder for folder in folders)


_HIDDEN = ("_", ".")


def _folder_values(files: Sequence[FileInfo], where: str) -> Sequence[_Values]:
    values: list[_Values] = []
    problems: list[str] = []
    for file in files:
        try:
            values.append(folder_values(file.path))
        except ValueError as error:
            problems.append(f"{file.path}: {error}")
    if not problems:
        shapes = {tuple(name.lower() for name, _ in own): file.path for file, own in zip(files, values, strict=True)}
        if len(shapes) > 1:
            problems = [f"{path}: its folders state {', '.join(names) or 'nothing'}" for names, path in shapes.items()]
    if problems:
        raise InvalidRequest("the folders do not state the same columns of every file", where=where, problems=problems)
    return values


def _partition_columns(values: Sequence[_Values], given: Struct | None, infer_types: bool, where: str) -> Struct:
    texts = {name: [own[at][1] for own in values] for at, (name, _) in enumerate(values[0])}
    if given is None:
        return Struct(tuple(Field(n, inferred(found) if infer_types else t.STRING) for n, found in texts.items()))
    folded = {name.lower(): found for name, found in texts.items()}
    if sorted(folded) != sorted(name.lower() for name in given.names):
        raise InvalidRequest(
            f"the folders state {', '.join(texts) or 'nothing'}, and the partition columns given are "
            f"{', '.join(given.names) or 'none'}",
            where=where,
        )
    problems = [problem for f in given for problem in _value_problems(f, folded[f.name.lower()], where)]
    if problems:
        raise InvalidRequest("the folders state values that do not fit the columns", where=where, problems=problems)
    return given


def _value_problems(column: Field, texts: Sequence[str | None], where: str) -> Iterator[str]:
    if not column.nullable and None in texts:
        yield f"{column.name} is not nullable, and a folder states no value for it"
    try:
        parse_values(pa.array(texts, pa.string()), column.type, column.name, where)
    except (InvalidTable, Unsupported) as error:
        yield error.what


def _texts(own: _Values, columns: Struct) -> dict[str, str | None]:
    stated_as = {name.lower(): text for name, text in own}
    return {f.name: stated(stated_as[f.name.lower()], f.type) for f in columns}


@dataclass(frozen=True, slots=True)
class _Footer:
    schema: Struct
    stats: str | None


def _footers(
    storage: Storage, files: Sequence[FileInfo], columns: Struct, statistics: Statistics | None
) -> Sequence[_Footer]:
    partitions = {name.lower() for name in columns.names}

    def read(file: FileInfo) -> _Footer | EskerError:
        try:
            with open_input(storage, file.path, file.size) as source:
                footer = pq.read_metadata(source)
            schema = stored_schema(footer)
        except (pa.ArrowException, OSError) as error:
            return InvalidRequest(f"{file.path}: it is no Parquet file: {error}")
        except Unsupported as error:
            return Unsupported(f"{file.path}: {', '.join(error.problems)}")
        if names := list(column_names.problems(schema, Mode.NONE)):
            return Unsupported(f"{file.path}: {', '.join(names)}")
        data = Struct(tuple(f for f in schema if f.name.lower() not in partitions))
        return _Footer(schema, None if statistics is None else statistics(footer, data))

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(read, files))
    problems = [one for one in found if isinstance(one, EskerError)]
    if problems:
        blame = Unsupported if all(isinstance(problem, Unsupported) for problem in problems) else InvalidRequest
        told = [problem.what for problem in problems]
        raise blame("not all files can be part of a table", where=storage.url, problems=told)
    return [one for one in found if isinstance(one, _Footer)]


def _schema(data: Struct, columns: Struct, where: str) -> Struct:
    """The columns of the files, then those of the folders. One that both have is what the folders say, in its place."""
    left = {f.name.lower(): f for f in columns}
    fields = [left.pop(f.name.lower(), f) for f in data]
    schema = Struct((*fields, *left.values()))
    if len(schema) == len(columns):
        raise InvalidRequest("the files have no columns but those that the folders state", where=where)
    if problems := list(column_names.problems(schema, Mode.NONE)):
        raise Unsupported("the folders state columns that a table cannot have", where=where, problems=problems)
    return schema

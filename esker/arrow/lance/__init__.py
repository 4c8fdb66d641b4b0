"""Rows of Lance tables, by Lance's own library. Importing this costs nothing: pylance is loaded when it is first needed."""

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pyarrow as pa

from esker.core.fragments import FragmentScan
from esker.core.predicate import Predicate
from esker.core.write import WriteSpec, WrittenFile
from esker.errors import Unsupported
from esker.lance.library import Library

NEEDED = "rows of Lance tables are read and written by pylance, which is not installed: pip install 'esker[lance]'"


def read_fragments(scan: FragmentScan, where: Predicate | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a scan for which `where` is TRUE: see `esker.arrow.lance.read`."""
    batches: Iterator[pa.RecordBatch] = part("read").read_fragments(scan, where)
    return batches


def part(name: str) -> ModuleType:
    """A module of this package that needs pylance."""
    os.environ.setdefault("LANCE_LOG", "error")  # it warns of what is no fault, and can be told so only before it is loaded
    try:
        return import_module(f"esker.arrow.lance.{name}")
    except ModuleNotFoundError as error:
        if error.name != "lance":
            raise
        raise Unsupported(NEEDED) from error


def write_fragments(rows: Iterable[pa.RecordBatch], spec: WriteSpec) -> tuple[WrittenFile, ...]:
    """Write rows, which have the columns of the spec, as fragments: see `esker.arrow.lance.write`."""
    written: tuple[WrittenFile, ...] = part("write").write_fragments(rows, spec)
    return written


def library() -> Library:
    """What Lance's own library does for a table: see `esker.arrow.lance.library`."""
    return Lazy()


class Lazy:
    """The library, loaded when it is first asked for something."""

    def __getattr__(self, name: str) -> Any:
        return getattr(part("library").PYLANCE, name)

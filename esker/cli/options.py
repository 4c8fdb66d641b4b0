"""What can be asked of every command, and which table does it mean?"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import esker
from esker.cli.output import sink_for
from esker.errors import InvalidRequest


def _writable(path: Path | None) -> Path | None:
    """Refuse a file of an unknown kind before anything is read for it."""
    if path is not None:
        sink_for(path)
    return path


class Engine(StrEnum):
    """Who reads the rows."""

    ARROW = "arrow"
    SPARK = "spark"


Location: TypeAlias = Annotated[str, typer.Argument(metavar="TABLE", help="A path or a URL such as s3://bucket/table.")]
Version: TypeAlias = Annotated[
    int | None, typer.Option("--version", "-v", min=0, metavar="N", help="The version to open, by default the newest.")
]
Timestamp: TypeAlias = Annotated[
    str | None, typer.Option("--timestamp", "-t", metavar="TIME", help="The version that was newest then; ISO 8601.")
]
Ref: TypeAlias = Annotated[
    str | None, typer.Option("--ref", metavar="NAME", help="The branch or tag to open, where the format has them.")
]
Relocate: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--relocate", metavar="OLD=NEW", help="Where files named by OLD are now. May be repeated."),
]
StorageOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--storage-option", metavar="KEY=VALUE", help="A setting of the object store. May be repeated."),
]
Where: TypeAlias = Annotated[
    str | None, typer.Option("--where", "-w", metavar="SQL", help="Only rows for which this is true.")
]
Columns: TypeAlias = Annotated[
    str | None, typer.Option("--columns", "-c", metavar="A,B", help="Only these columns, in this order.")
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", "-n", min=0, metavar="N", help="At most so many rows.")]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Even if it breaks the table's promises.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", callback=_writable, help="Write to this file: .parquet, .csv, .json or .jsonl."
    ),
]
Comment: TypeAlias = Annotated[str | None, typer.Option("--comment", metavar="TEXT", help="What it is for.")]
ReadBy: TypeAlias = Annotated[Engine, typer.Option("--engine", "-e", help="Who reads the rows; Spark needs Java.")]


def opened(
    location: str,
    version: int | None,
    timestamp: str | None,
    relocate: Iterable[str] | None,
    options: Iterable[str] | None,
    ref: str | None = None,
) -> esker.Table:
    """The table that the options mean."""
    return esker.open(
        location, version=version, timestamp=timestamp, ref=ref,
        relocate=pairs(relocate, "--relocate", "OLD=NEW"),
        storage_options=pairs(options, "--storage-option", "KEY=VALUE"),
    )  # fmt: skip


def names(columns: str | None, option: str = "--columns") -> list[str] | None:
    """The names in a list with commas."""
    if columns is None:
        return None
    found = [name.strip() for name in columns.split(",") if name.strip()]
    if not found:
        raise InvalidRequest(f"{option} names no column")
    return found


def pairs(texts: Iterable[str] | None, option: str, form: str) -> dict[str, str]:
    """What texts such as `key=value` say, each key once."""
    found: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{option} {text} is not of the form {form}")
        if key in found:
            raise InvalidRequest(f"{option} says twice what {key} is")
        found[key] = value
    return found

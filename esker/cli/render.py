"""How does what a table tells look to people?"""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text
from rich.tree import Tree

from esker.cli.report import FeatureReport, FileTotals, Inspection, Outcome, VacuumReport
from esker.cli.rows import Rows
from esker.cli.terminal import Screen
from esker.cli.values import bytes_of, cell, json_rows, moment
from esker.core.arrange import OptimizePlan
from esker.core.types import Array, Field, Json, Map, Struct, Type

LONGEST_CELL = 60
MOST_FILES = 20
_PRESENCE_STYLE = {"in use": "bold green", "active": "green", "supported": "yellow", "absent": "dim"}


def inspection(found: Inspection) -> RenderableType:
    """All that `inspect` tells."""
    about = found.description
    facts: dict[str, RenderableType | None] = {
        "format": about.format,
        "location": Text(about.location, overflow="fold"),
        "version": str(about.version),
        "protocol": about.protocol,
        "name": about.name,
        "comment": about.comment,
        "id": about.id,
        "created": moment(about.created),
        "modified": moment(about.modified),
        "partitioned by": ", ".join(about.partition_columns) or None,
        **(_totals(found.files) if found.files else {}),
    }
    parts: list[RenderableType] = [_facts(facts), schema(about.schema, about.partition_columns)]
    if about.properties:
        parts.append(Group(Text("\nproperties", style="bold"), _facts(dict(sorted(about.properties.items())), "  ")))
    if about.findings:
        parts.append(_listed("findings", about.findings, "yellow"))
    if found.differences is not None:
        checked = found.differences or ("the state agrees with the checksum file, if there is one",)
        parts.append(_listed("checksum", checked, "red" if found.differences else "green"))
    return Group(*parts)


def schema(columns: Struct, partition_columns: Iterable[str] = ()) -> RenderableType:
    """The columns as a tree."""
    tree = Tree(Text("\nschema", style="bold"), guide_style="dim")
    partitions = set(partition_columns)
    for field in columns:
        _grow(tree, field, "partition column" if field.name in partitions else "")
    return tree


def features(found: Sequence[FeatureReport], screen: Screen) -> RenderableType:
    """A row per feature; how it is taken out is told below, where there is room for it."""
    was_asked = any(feature.in_history is not None for feature in found)
    grid = columns_of("feature", "presence", *(["in history"] if was_asked else []), "scope", "why", "Esker")
    for feature in found:
        past = {True: "in use", False: "", None: "not known"}[feature.in_history]
        grid.add_row(
            Text(feature.name, style="bold"), Text(feature.presence, style=_PRESENCE_STYLE[feature.presence]),
            *([past] if was_asked else []), feature.scope, feature.why, _support(feature),
        )  # fmt: skip
    if not found:
        return Text("The table requires no feature of its clients.")
    removal = Grid(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for feature in found:
        removal.add_row(Text(feature.name, style="bold"), Text("\n".join(feature.removal)))
    return Group(grid, Text("\nhow to take it out", style="bold"), removal)


def history(table: pa.Table) -> RenderableType:
    """A row per version."""
    grid = columns_of("version", "time", "operation", "parameters", "by", right={"version"})
    for row in json_rows(table):
        parameters = row["operationParameters"]
        told = ", ".join(f"{k}={v}" for k, v in parameters.items()) if isinstance(parameters, Mapping) else ""
        by = " · ".join(str(row[k]) for k in ("userName", "engineInfo") if row.get(k))
        grid.add_row(
            str(row["version"]), Text(_seconds(row["timestamp"]), no_wrap=True), cell(row["operation"] or ""),
            Text(_cut(told)), Text(_cut(by)),
        )  # fmt: skip
    return grid


def files(table: pa.Table, totals: FileTotals) -> RenderableType:
    """A row per file, and what they come to."""
    has_partition, has_time = ("partition" in table.column_names), ("modified" in table.column_names)
    names = ("path", *(["partition"] if has_partition else []), "size", "rows", "deleted", *(["modified"] if has_time else []))
    grid = columns_of(*names, right=_NUMBERS)
    for row in json_rows(table):
        partition = row.get("partition")
        told = " ".join(f"{k}={cell(v)}" for k, v in partition.items()) if isinstance(partition, dict) else ""
        size, deleted = row["size"], row["deleted"]
        grid.add_row(
            Text(str(row["path"]), overflow="fold"), *([Text(told)] if has_partition else []),
            bytes_of(size) if isinstance(size, int) else "", _count(row["records"]),
            "" if deleted == 0 else _count(deleted), *([Text(_seconds(row["modified"]), no_wrap=True)] if has_time else []),
        )  # fmt: skip
    return Group(grid, Text(f"{totals.files:,} files · {bytes_of(totals.bytes)} · {_count(totals.rows)} rows", style="dim"))


def outcome(done: Outcome) -> RenderableType:
    """The version that was made, and those of its metrics that are not nought."""
    if not done.is_changed:
        return Text(f"nothing to do: the table stays at version {done.version}")
    version = f"version {done.version}" if done.version >= 0 else "no version yet"
    made = Text(version, style="bold green").append(f"  {done.operation or 'changed'}", style="bold")
    told = {name: _metric(name, value) for name, value in done.metrics.items() if value not in (0, "")}
    return Group(made, _facts(told, "  "))


def optimize(plan: OptimizePlan, most: int = MOST_FILES) -> RenderableType:
    """What would be rewritten, and into how many files."""
    if not plan.files:
        return Text("there is nothing to gain: no file would be rewritten")
    total = f"{len(plan.files):,} files, {bytes_of(plan.size)}, would become about {plan.pieces:,}"
    return Group(*_paths(plan.files, most), Text(total, style="bold"))


def vacuum(report: VacuumReport, most: int = MOST_FILES) -> RenderableType:
    """The first of the files, and what they come to."""
    paths = report.done.files
    if not paths:
        return Text("no file can go: every one is needed, or too young")
    verb = "would be deleted" if report.done.is_dry_run else "were deleted"
    total = f"{len(paths):,} files, {bytes_of(report.done.size)}, {verb}"
    return Group(*_paths(paths, most), Text(total, style="bold"))


def _paths(paths: Sequence[str], most: int) -> list[Text]:
    shown = [Text(f"  {path}", no_wrap=True, overflow="ellipsis") for path in paths[:most]]
    more = len(paths) - most
    return [*shown, Text(f"  and {more:,} more", style="dim")] if more > 0 else shown


_NUMBERS = {"size", "rows", "deleted"}


def rows(found: Rows, screen: Screen) -> tuple[RenderableType, int]:
    """The rows as a table of as many columns as the screen has room for, and how many rows there were."""
    objects = [row for batch in found.batches for row in json_rows(batch)]
    names = list(found.schema.names)
    texts = {n: [_shown(row[n], kind, screen) for row in objects] for n, kind in zip(names, found.schema.types, strict=True)}
    shown = _fitting(names, texts, screen.width)
    right = {n for n in shown if _is_number(found.schema.field(names.index(n)).type)}
    grid = columns_of(*shown, right=right)
    for i, row in enumerate(objects):
        grid.add_row(*(Text(texts[n][i], style="dim" if row[n] is None else "", no_wrap=True) for n in shown))
    if len(shown) == len(names):
        return grid, len(objects)
    hidden = ", ".join(names[len(shown) :])
    return Group(grid, Text(f"not shown, for lack of room: {hidden}", style="dim")), len(objects)


def _shown(value: Json, kind: pa.DataType, screen: Screen) -> str:
    text = cell(value)
    text = text.replace(".000000", "") if pa.types.is_timestamp(kind) else text
    return _cut(text) if screen.is_bounded else text


def _grow(tree: Tree, field: Field, note: str = "") -> None:
    label = Text(field.name, style="bold").append(f"  {_kind(field.type)}", style="cyan")
    label.append("" if field.nullable else "  not null", style="magenta")
    label.append(f"  {note}" if note else "", style="green")
    if comment := field.metadata.get("comment"):
        label.append(f"  {comment}", style="dim")
    _grow_into(tree.add(label), field.type)


def _grow_into(tree: Tree, kind: Type) -> None:
    match kind:
        case Struct():
            for member in kind:
                _grow(tree, member)
        case Array():
            _grow_element(tree, "element", kind.element)
        case Map():
            _grow_element(tree, "key", kind.key)
            _grow_element(tree, "value", kind.value)


def _grow_element(tree: Tree, name: str, kind: Type) -> None:
    """Only what has parts of its own: the line above says the rest."""
    if isinstance(kind, Struct | Array | Map):
        _grow_into(tree.add(Text(name, style="dim").append(f"  {_kind(kind)}", style="cyan")), kind)


def _kind(kind: Type) -> str:
    match kind:
        case Struct():
            return "struct"
        case Array():
            return f"array of {_kind(kind.element)}"
        case Map():
            return f"map of {_kind(kind.key)} to {_kind(kind.value)}"
    return str(kind)


def _totals(totals: FileTotals) -> dict[str, RenderableType | None]:
    return {
        "files": f"{totals.files:,}, {bytes_of(totals.bytes)}",
        "rows": "not all files say" if totals.rows is None else f"{totals.rows:,}",
        "deleted rows": f"{totals.deleted:,} in {totals.files_with_deletes:,} files"
        if totals.deleted
        else None,
    }


def _support(feature: FeatureReport) -> Text:
    word, style = ("reads and writes", "green") if feature.can_write else ("reads", "yellow")
    if not feature.can_read:
        word, style = "refuses", "bold red"
    is_full = feature.can_read and feature.can_write
    return Text(word, style=style).append(f": {feature.reason}" if feature.reason and not is_full else "", style="default")


def _metric(name: str, value: int | str) -> str:
    if isinstance(value, str):
        return value
    if "Bytes" in name or "size" in name.lower():
        return bytes_of(value)
    return f"{value:,} ms" if name.endswith("TimeMs") else f"{value:,}"


def _facts(facts: Mapping[str, RenderableType | None], indent: str = "") -> Grid:
    grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, value in facts.items():
        if value is not None:
            grid.add_row(f"{indent}{name}", Text(value) if isinstance(value, str) else value)
    return grid


def _listed(title: str, lines: Iterable[str], style: str) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold"), *(Text(f"  {line}", style=style) for line in lines))


def columns_of(*columns: str, right: Iterable[str] = ()) -> Grid:
    """A table with these columns, to which rows are added."""
    grid = Grid(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False, show_edge=False)
    numbers = set(right)
    for name in columns:
        grid.add_column(Text(name), justify="right" if name in numbers else "left")
    return grid


def _fitting(names: Sequence[str], texts: Mapping[str, Sequence[str]], width: int) -> list[str]:
    """The first columns that fit side by side, at least one."""
    shown: list[str] = []
    used = 0
    for name in names:
        used += max(cell_len(text) for text in (name, *texts[name])) + 2
        if shown and used > width:
            break
        shown.append(name)
    return shown


def _cut(text: str) -> str:
    line = text.replace("\n", "⏎").replace("\r", "")
    return line if len(line) <= LONGEST_CELL else f"{line[: LONGEST_CELL - 1]}…"


def _count(value: Json) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def _seconds(value: Json) -> str:
    """The time without what is finer than seconds: people compare these lines by eye."""
    return str(value)[:19] if value else ""


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

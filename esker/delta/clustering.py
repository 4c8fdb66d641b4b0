"""Which columns is a table clustered by?  (PROTOCOL.md, "Clustered Table")

The metadata domain `delta.clustering` names them, physically. The specification's example is a flat list of names; writers put
down a list of paths, which can say a column within a struct. Paths are written, both are read.
"""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from esker.core import types as t
from esker.core.column_paths import parse_path, spelled
from esker.core.predicate import Path
from esker.core.types import Decimal, Struct, Type, leaves
from esker.delta.actions import DomainMetadata
from esker.delta.column_mapping import Mode, physical_path
from esker.delta.protocol import is_supported
from esker.delta.snapshot import Snapshot
from esker.errors import InvalidRequest, InvalidTable

DOMAIN = "delta.clustering"
PROVIDER = "esker"
"""What files that Esker has clustered say in `clusteringProvider`."""

_ORDERED = (*t.INTEGRAL, *t.FRACTIONAL, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)


def clustering_columns(snapshot: Snapshot) -> tuple[Path, ...] | None:
    """The visible paths of the clustering columns, none for a table clustered by nothing; None for one without clustering."""
    if not is_supported(snapshot.protocol, "clustering"):
        return None
    domain = snapshot.domains.get(DOMAIN)
    return () if domain is None else parse_clustering(domain, snapshot.schema, snapshot.mapping, snapshot.location)


def parse_clustering(domain: DomainMetadata, schema: Struct, mapping: Mode, where: str) -> tuple[Path, ...]:
    """The visible paths of the columns that the domain names."""
    visible = {physical_path(schema, path, mapping): path for path, _ in leaves(schema)}
    stored = tuple(_stored_paths(domain, where))
    if missing := [spelled(path) for path in stored if path not in visible]:
        raise InvalidTable(f"the domain {DOMAIN} names columns that are not there: {', '.join(missing)}", where=where)
    return tuple(visible[path] for path in stored)


def clustering_domain(columns: Sequence[str], schema: Struct, mapping: Mode) -> DomainMetadata:
    """The domain of a table that is clustered by these columns, each spelled as in SQL."""
    # "If Column Mapping is enabled, the physical column names should be used."
    stored = [list(physical_path(schema, path, mapping)) for path in resolved(columns, schema)]
    return DomainMetadata(DOMAIN, orjson.dumps({"clusteringColumns": stored}).decode())


def resolved(columns: Sequence[str], schema: Struct) -> tuple[Path, ...]:
    """The columns' paths as the schema spells them. Raises `InvalidRequest` where rows cannot be ordered by one of them."""
    wanted = [parse_path(column) for column in columns]
    own = {_folded(path): path for path, _ in leaves(schema)}
    paths = tuple(own.get(_folded(path), path) for path in wanted)
    if found := [*problems(paths, schema)]:
        raise InvalidRequest("rows cannot be kept together by these columns", problems=found)
    return paths


def problems(paths: Iterable[Path], schema: Struct) -> Iterator[str]:
    """What keeps rows from being kept together by these columns: a file has bounds only of simple ones with an order."""
    kinds: dict[Path, Type] = {path: leaf.type for path, leaf in leaves(schema)}
    seen: set[Path] = set()
    for path in paths:
        kind = kinds.get(path)
        if kind is None:
            yield f"{spelled(path)} is no simple column of the table"
        elif kind not in _ORDERED and not isinstance(kind, Decimal):
            # "Writers must write out [...] per-column statistics for clustering columns"
            yield f"{spelled(path)} is of type {kind}, which has no statistics"
        if path in seen:
            yield f"{spelled(path)} is named twice"
        seen.add(path)


def _stored_paths(domain: DomainMetadata, where: str) -> Iterator[Path]:
    try:
        recorded = orjson.loads(domain.configuration)
    except orjson.JSONDecodeError as error:
        raise InvalidTable(f"the domain {DOMAIN} is not JSON: {error}", where=where) from error
    match recorded:
        case {"clusteringColumns": list(columns)}:
            yield from (_stored_path(column, where) for column in columns)
        case _:
            raise InvalidTable(f"the domain {DOMAIN} has no clusteringColumns", where=where)


def _stored_path(column: object, where: str) -> Path:
    match column:
        case str():
            return (column,)
        case [str(), *_] if all(isinstance(name, str) for name in column):
            return tuple(str(name) for name in column)
    raise InvalidTable(f"the domain {DOMAIN} names a column by {column!r:.80}", where=where)


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)

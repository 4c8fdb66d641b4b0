"""How does a checkpoint keep what is known of a file's values?  (PROTOCOL.md, "Checkpoints", "Per-file Statistics")

Statistics as JSON and as columns of the table's own types, partition values as columns: whichever the table asks for, all
under physical names. What cannot be understood becomes null, which promises nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from esker.core import types as t
from esker.core.columns import booleans, empty, mask_of
from esker.core.types import Decimal, Struct, Type
from esker.delta import column_mapping, properties
from esker.delta.clustering import clustering_columns
from esker.delta.parsed_stats import stats_texts
from esker.delta.partitions import parse_values
from esker.delta.protocol import is_supported
from esker.delta.replay import LiveFiles
from esker.delta.snapshot import Snapshot
from esker.delta.stats import FileStatistics, Path

_WITH_BOUNDS = frozenset({*t.INTEGRAL, *t.FRACTIONAL, t.STRING, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ})


@dataclass(frozen=True)
class CheckpointStats:
    """The columns of `add` that depend on the table's schema and properties."""

    snapshot: Snapshot

    def columns(self, files: LiveFiles) -> dict[str, pa.Array]:
        """Those that the table asks for, by their names in `add`."""
        configuration = self.snapshot.metadata.configuration
        found: dict[str, pa.Array] = {}
        # "This field needs to be written when statistics are available and the table property:
        # `delta.checkpoint.writeStatsAsJson` is set to `true`"
        if properties.checkpoint_stats_as_json(configuration):
            found["stats"] = _texts(files, self._stored)
        if properties.checkpoint_stats_as_struct(configuration):
            # "a required field when the table is partitioned and the table property [...] is set to `true`"
            if self._partitions:
                found["partitionValues_parsed"] = self._partition_values(files)
            found["stats_parsed"] = _struct(FileStatistics(files).recorded(self._leaves), _is_known(files))
        elif "stats" not in found and is_supported(self.snapshot.protocol, "deletionVectors"):
            # Neither form is asked for, and still "For any logical file where `deletionVector` is not `null`, the `numRecords`
            # statistic *must* be present": writers refuse such a file without it.
            has_vector = booleans(mask_of(pc.is_valid(files.table.column("deletionVector"))))
            found["stats"] = pc.if_else(has_vector, _texts(files, self._stored), pa.scalar(None, pa.string()))
        return found

    def types(self) -> dict[str, pa.DataType]:
        """The types of these columns, the same for all files."""
        values = pa.struct([(name, pa.string()) for name in self._partitions])
        fields = [("stats", pa.string()), ("partitionValues", values), ("deletionVector", pa.null())]
        none = LiveFiles(empty(pa.schema(fields)), ())
        return {name: column.type for name, column in self.columns(none).items()}

    @cached_property
    def _stored(self) -> Struct:
        """The schema under physical names."""
        return Struct(tuple(column_mapping.physical(f, self.snapshot.mapping) for f in self.snapshot.schema))

    @cached_property
    def _partitions(self) -> Mapping[str, Type]:
        """The partition columns by physical name; one that is only ever null has no form in Parquet."""
        named = {column_mapping.physical_name(f, self.snapshot.mapping): f.type for f in self.snapshot.partition_fields}
        return {name: kind for name, kind in named.items() if kind != t.VOID}

    @cached_property
    def _leaves(self) -> dict[Path, Type]:
        """The members of the statistics: of the file itself, and of the columns that the table keeps statistics of."""
        snapshot = self.snapshot
        indexed = properties.indexed_columns(snapshot.metadata, clustering_columns(snapshot) or ())
        columns = {column_mapping.physical_path(snapshot.schema, path, snapshot.mapping): path for path in indexed}
        kinds = {stored: field.type for stored, path in columns.items() if (field := snapshot.schema.at(path))}
        bounded = {path: kind for path, kind in kinds.items() if kind in _WITH_BOUNDS or isinstance(kind, Decimal)}
        return {
            ("numRecords",): t.LONG,
            ("tightBounds",): t.BOOLEAN,
            **{("minValues", *path): kind for path, kind in bounded.items()},
            **{("maxValues", *path): kind for path, kind in bounded.items()},
            **{("nullCount", *path): t.LONG for path in kinds},
        }

    def _partition_values(self, files: LiveFiles) -> pa.Array:
        texts, where = files.table.column("partitionValues").combine_chunks(), self.snapshot.location
        kinds = self._partitions
        values = [parse_values(pc.struct_field(texts, name), kind, name, where) for name, kind in kinds.items()]
        return pa.StructArray.from_arrays(values, list(kinds))


def _texts(files: LiveFiles, stored: Struct) -> pa.Array:
    """The statistics as JSON, printed where they are kept as structs."""
    texts, at = files.table.column("stats"), 0
    pieces: list[pa.Array] = []
    for piece in files.parsed:
        length = piece if isinstance(piece, int) else len(piece)
        kept = texts.slice(at, length).combine_chunks() if isinstance(piece, int) else stats_texts(piece, stored)
        pieces.append(kept)
        at += length
    return pa.concat_arrays([pa.nulls(0, pa.string()), *pieces])


def _is_known(files: LiveFiles) -> pa.Array:
    """Whether each file has statistics."""
    known = mask_of(pc.is_valid(files.table.column("stats")))
    at = 0
    for piece in files.parsed:
        length = piece if isinstance(piece, int) else len(piece)
        if not isinstance(piece, int):
            known[at : at + length] |= mask_of(pc.is_valid(piece))
        at += length
    return booleans(known)


def _struct(leaves: Mapping[Path, pa.Array], is_valid: pa.Array) -> pa.Array:
    """A struct of the leaves, nested as their paths say."""
    members: dict[str, dict[Path, pa.Array]] = {}
    for path, values in leaves.items():
        members.setdefault(path[0], {})[path[1:]] = values
    columns = [below[()] if () in below else _struct(below, is_valid) for below in members.values()]
    return pa.StructArray.from_arrays(columns, list(members), mask=pc.invert(is_valid))

"""How do the Delta tables come about that clients are shown?  (PROTOCOL.md, "Actions")"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any

import orjson
import pyarrow as pa

import esker
from esker.core.bitmap import Bitmap
from esker.core.features import Scope
from esker.core.types import Json
from esker.delta.deletion_vectors import z85_encode
from esker.delta.features import FEATURES
from esker.delta.log import LOG_FOLDER
from esker.delta.protocol import supported
from esker.delta.snapshot import Place, Snapshot, load
from esker.storage import open_storage
from esker.testing.builders import Body, DeltaTableBuilder, column, metadata, protocol
from tests.interop.clients.making import Step, rows
from tests.interop.clients.tables import Case

COLUMNS = (column("id", "long"), column("name", "string"))


def by_hand(
    name: str, demanded: Body, columns: Sequence[Body] = COLUMNS, *, given: pa.Table | None = None,
    properties: Mapping[str, str] | None = None, actions: Iterable[Mapping[str, Json]] = (),
    vector: Callable[[DeltaTableBuilder], Body] | None = None, **of_case: Any,
) -> Case:  # fmt: skip
    """A table of one commit, as it stands here."""
    stored = rows(1, 2, 3) if given is None else given

    def build(place: Path) -> None:
        builder = DeltaTableBuilder(place)
        add = builder.write_data(stored)
        if vector is not None:
            stats = {**orjson.loads(str(add["stats"])), "tightBounds": False}
            add |= {"deletionVector": vector(builder), "stats": orjson.dumps(stats).decode()}
        builder.commit(
            _info(), {"protocol": demanded}, {"metaData": metadata(columns, properties=properties)}, *actions, {"add": add}
        )

    return Case(name, name.partition(" ")[0], build, **{"holds": stored, "appended": rows(4), **of_case})


def listing(names: Iterable[str]) -> Body:
    """A protocol that lists these features by name."""
    wanted = sorted(names)
    readers = [name for name in wanted if (known := FEATURES.get(name)) is not None and known.scope is Scope.READ_WRITE]
    return protocol(3 if readers else 1, 7, readers=readers, writers=[name for name in wanted if name not in readers])


def with_required(name: str) -> Iterator[str]:
    """The name, as it is given, and whatever the feature requires."""
    yield name
    yield from (feature.name for feature in FEATURES.closure([name]) if name not in feature.names)


def stated(reader: int, writer: int) -> Step:
    """Have the protocol be a pair of versions."""
    return lambda place: follow(place, {"protocol": protocol(reader, writer)})


def relisted(place: Path) -> None:
    """Have the protocol list by name what its versions imply."""
    follow(place, {"protocol": listing(supported(_snapshot(place).protocol))})


def renamed(old: str, new: str) -> Step:
    """Have the protocol list a feature under another name."""

    def step(place: Path) -> None:
        names = supported(_snapshot(place).protocol)
        follow(place, {"protocol": listing({new if name == old else name for name in names})})

    return step


def turned_on(name: str, properties: Mapping[str, str]) -> Step:
    """List a feature that Esker does not enable, and set its properties."""

    def step(place: Path) -> None:
        now = _snapshot(place)
        said = metadata((), properties={**now.metadata.configuration, **properties}, id=now.metadata.id)
        said["schemaString"] = now.metadata.schema_string
        follow(place, {"protocol": listing({*supported(now.protocol), name})}, {"metaData": said})

    return step


def inline_vector(builder: DeltaTableBuilder) -> Body:
    """A deletion vector of the first row that stands in the log.  (Deletion Vector Descriptor Schema, storage type `i`)"""
    data = Bitmap.of([0]).serialize()
    padded = data + bytes(-len(data) % 4)
    return {"storageType": "i", "pathOrInlineDv": z85_encode(padded), "sizeInBytes": len(data), "cardinality": 1}


def vector_file(builder: DeltaTableBuilder) -> Body:
    """A deletion vector of the first row in a file of its own."""
    return builder.write_deletion_vector([0])


def checkpointed(place: Path) -> None:
    """Have the table rest on a checkpoint: the commits before it are gone, as they are once they are old."""
    table = esker.open(place).checkpoint()
    for version in range(table.version):
        for ending in ("json", "crc"):
            (place / LOG_FOLDER / f"{version:020}.{ending}").unlink(missing_ok=True)


def follow(place: Path, *actions: Mapping[str, Json]) -> None:
    """Commit actions as they stand on top of the table."""
    builder = DeltaTableBuilder(place)
    builder.version = _snapshot(place).version
    builder.commit(_info(), *actions)


def _info() -> Mapping[str, Json]:
    # Where commits state their time it must be later than the one before, and the action be the first; elsewhere it does no harm.
    return {"commitInfo": {"operation": "by hand", "inCommitTimestamp": int(time() * 1000) + 1000}}


def _snapshot(place: Path) -> Snapshot:
    return load(Place(open_storage(place)))

"""Does every operation leave a checksum of its version, and a right one?  (PROTOCOL.md, "Version Checksum File")"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import esker
from esker.delta.log import checksum_path

pytestmark = pytest.mark.spark

KINDS: list[dict[str, Any]] = [
    {},
    {"partition_by": ["p"], "properties": {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}},
    {"properties": {"delta.checkpointInterval": "3", "delta.checkpointPolicy": "v2", "delta.enableInCommitTimestamps": "true"}},
]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": [i % 2 for i in ids]}, pa.schema([("id", pa.int64()), ("p", pa.int32())]))


@pytest.mark.parametrize("options", KINDS, ids=["plain", "vectors", "v2"])
def test_the_checksum_of_every_version_is_confirmed(spark: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    table = esker.create(tmp_path / "t", rows(*range(10)), **options)
    table.append(rows(10, 11), transaction=("app", 1))
    table.delete("id = 3", spark=spark)
    table.update({"id": "id + 100"}, where="id < 3", spark=spark)
    table.merge(rows(4, 50), "target.id = source.id", spark=spark).when_matched_delete().when_not_matched_insert_all().execute()
    table.overwrite(rows(60), where="id > 50", spark=spark)
    table.overwrite(rows(1, 2))
    assert table.verify() == ()
    for version in range(table.version + 1):
        assert (tmp_path / "t" / checksum_path(version)).is_file()
        assert esker.open(tmp_path / "t", version=version).verify() == ()

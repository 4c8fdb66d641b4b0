"""Which properties a table can have, and what they say."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from esker.core import types as t
from esker.core.types import Array, Field, Map, Struct
from esker.delta import properties as p
from esker.delta.actions import Metadata
from esker.delta.column_mapping import Mode
from esker.delta.features import FEATURES
from esker.delta.protocol import Protocol
from esker.errors import InvalidTable

DEFAULTS: list[tuple[Callable[[dict[str, str]], Any], object]] = [
    (p.deletion_vectors_enabled, False), (p.change_data_feed_enabled, False),
    (p.row_tracking_enabled, False), (p.in_commit_timestamps_enabled, False), (p.type_widening_enabled, False),
    (p.checkpoint_interval, 10), (p.checkpoint_policy, p.CheckpointPolicy.CLASSIC), (p.checkpoint_stats_as_json, True),
    (p.checkpoint_stats_as_struct, True), (p.log_retention, timedelta(days=30)), (p.deleted_file_retention, timedelta(weeks=1)),
    (p.truncated_history_retention, timedelta(hours=24)), (p.transaction_retention, None), (p.expired_log_cleanup_enabled, True),
    (p.target_file_size, None), (p.compression_codec, "zstd"),
    (p.column_mapping_mode, Mode.NONE), (p.max_column_id, 0), (p.protected_before_version, 0),
]  # fmt: skip


@pytest.mark.parametrize("getter, expected", DEFAULTS)
def test_what_a_table_does_not_say_has_a_default(getter: Callable[[dict[str, str]], object], expected: object) -> None:
    """catalogue, 7: "Delta property defaults worth knowing" """
    assert getter({}) == expected


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("delta.appendOnly", "TRUE", True), ("delta.appendOnly", "false", False), ("delta.checkpointInterval", "1", 1),
        ("delta.checkpointPolicy", "V2", p.CheckpointPolicy.V2), ("delta.logRetentionDuration", "2 weeks", timedelta(weeks=2)),
        ("delta.isolationLevel", "writeserializable", p.IsolationLevel.WRITE_SERIALIZABLE), ("delta.targetFileSize", "100mb", 100 << 20),
        ("delta.targetFileSize", "1 TB", 1 << 40), ("delta.targetFileSize", "7", 7), ("delta.columnMapping.mode", "ID", Mode.ID),
        ("delta.parquet.compression.codec", "UNCOMPRESSED", "none"), ("delta.parquet.compression.codec", "Snappy", "snappy"),
        ("delta.parquet.format.version", "2.12.0", "2.12.0"), ("delta.dataSkippingNumIndexedCols", "-1", -1),
        ("delta.dataSkippingStatsColumns", "a, b.`c.d`", (("a",), ("b", "c.d"))), ("delta.universalFormat.enabledFormats", "iceberg, Hudi", ("iceberg", "hudi")),
        ("delta.universalFormat.enabledFormats", "", ()), ("delta.autoOptimize.autoCompact", "auto", "auto"),
    ],
)  # fmt: skip
def test_a_text_is_read_by_the_propertys_own_rule(name: str, text: str, expected: object) -> None:
    (known,) = [known for known in p.PROPERTIES if known.name == name]
    assert p.value(known, {name: text}) == expected


@pytest.mark.parametrize(
    "name, text",
    [
        ("delta.appendOnly", "yes"), ("delta.appendOnly", ""), ("delta.checkpointInterval", "0"), ("delta.checkpointInterval", "ten"),
        ("delta.checkpointInterval", "1_0"), ("delta.checkpointInterval", str(2**63)), ("delta.checkpointPolicy", "v3"),
        ("delta.logRetentionDuration", "1 month"), ("delta.isolationLevel", "none"), ("delta.targetFileSize", "0"),
        ("delta.targetFileSize", "10 parsecs"), ("delta.columnMapping.mode", "position"), ("delta.parquet.compression.codec", "rar"),
        ("delta.parquet.format.version", "1.1.0"), ("delta.dataSkippingNumIndexedCols", "-2"), ("delta.dataSkippingStatsColumns", "a,,b"),
        ("delta.universalFormat.enabledFormats", "iceberg,iceberg"), ("delta.universalFormat.enabledFormats", "paper"),
    ],
)  # fmt: skip
def test_a_text_that_makes_no_sense_is_the_tables_fault(name: str, text: str) -> None:
    """ "Writers should abort on other values."  (Table Properties)"""
    (known,) = [known for known in p.PROPERTIES if known.name == name]
    with pytest.raises(InvalidTable, match=name.replace(".", r"\.")):
        p.value(known, {name: text})


def test_the_older_name_of_the_change_data_feed_is_read_too() -> None:
    assert p.change_data_feed_enabled({"delta.enableChangeDataCapture": "true"})
    assert not p.change_data_feed_enabled(
        {"delta.enableChangeDataCapture": "true", "delta.enableChangeDataFeed": "false"}
    )


def test_no_two_properties_share_a_name_and_every_feature_is_known() -> None:
    names = [name.lower() for known in p.PROPERTIES for name in (known.name, *known.aliases)]
    assert len(set(names)) == len(names)
    assert all(name.startswith("delta.") for name in names)
    assert all(known.feature in FEATURES for known in p.PROPERTIES if known.feature)
    assert all(known.meaning for known in p.PROPERTIES)


def test_every_property_that_switches_a_feature_on_is_in_the_registry() -> None:
    """`trigger` in the registry of features names no property that this one lacks."""
    known = {name.lower() for found in p.PROPERTIES for name in (found.name, *found.aliases)}
    named = {f.trigger.split("=")[0].split(" ")[0] for f in FEATURES if f.trigger.startswith("delta.")}
    switches = {name for name in named if not name.startswith(("delta.feature.", "delta.constraints."))}
    assert len(switches) > 10
    assert {name for name in switches if name.lower() not in known} == set()


SCHEMA = Struct(
    (
        Field("p", t.STRING),
        Field("s", Struct((Field("x", t.LONG), Field("y.z", t.LONG)))),
        Field("l", Array(t.LONG)),
        Field("m", Map(t.STRING, t.LONG)),
        Field("last", t.LONG),
    )
)
LEAVES = (("s", "x"), ("s", "y.z"), ("l",), ("m",), ("last",))


@pytest.mark.parametrize(
    "configuration, expected",
    [
        ({}, LEAVES),
        ({"delta.dataSkippingNumIndexedCols": "2"}, LEAVES[:2]),
        ({"delta.dataSkippingNumIndexedCols": "0"}, ()),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, LEAVES),
        ({"delta.dataSkippingStatsColumns": "LAST, s"}, (("s", "x"), ("s", "y.z"), ("last",))),
        (
            {"delta.dataSkippingStatsColumns": "s.`y.z`,nothing", "delta.dataSkippingNumIndexedCols": "0"},
            (("s", "y.z"),),
        ),
        ({"delta.dataSkippingStatsColumns": ""}, ()),
    ],
)
def test_statistics_are_kept_for_listed_columns_or_for_the_first_ones(
    configuration: dict[str, str], expected: object
) -> None:
    """Partition columns have no statistics and do not count."""
    assert p.indexed_columns(Metadata("id", "", SCHEMA, ("P",), configuration)) == expected


def test_by_default_the_first_32_columns_have_statistics() -> None:
    wide = Struct(tuple(Field(f"c{i}", t.LONG) for i in range(40)))
    assert p.indexed_columns(Metadata("id", "", wide)) == tuple((f"c{i}",) for i in range(32))


def test_clustering_columns_have_statistics_in_any_case() -> None:
    """ "Writers must write out [...] per-column statistics for clustering columns"  (Writer Requirements for Clustered Table)"""
    metadata = Metadata("id", "", SCHEMA, (), {"delta.dataSkippingNumIndexedCols": "0"})
    assert p.indexed_columns(metadata, [("last",), ("s", "X")]) == (("s", "x"), ("last",))


def listing(*features: str) -> Protocol:
    return Protocol(3, 7, frozenset(features), frozenset(features))


@pytest.mark.parametrize(
    "protocol, configuration, expected",
    [
        (Protocol(1, 2), {}, False),
        (Protocol(1, 2), {"delta.writePartitionColumnsToParquet": "true"}, True),
        (Protocol(1, 2), {"delta.enableIcebergCompatV1": "true"}, False),
        (listing("icebergCompatV1"), {"delta.enableIcebergCompatV1": "true"}, True),
        (listing("icebergCompatV2"), {"delta.enableIcebergCompatV2": "true", "delta.writePartitionColumnsToParquet": "false"}, True),
        (listing("icebergCompatV3"), {"delta.enableIcebergCompatV3": "true"}, True),
        (listing("icebergCompatV2"), {}, False),
        (listing("materializePartitionColumns"), {"delta.writePartitionColumnsToParquet": "false"}, True),
    ],
)  # fmt: skip
def test_files_hold_partition_columns_where_a_feature_asks_for_it(
    protocol: Protocol, configuration: dict[str, str], expected: bool
) -> None:
    """ "Require that partition column values be materialized"  (Writer Requirements for IcebergCompatV1, V2)"""
    assert p.stores_partitions(protocol, configuration) == expected

"""Do Arrow rows keep what is inside their columns when files have other names for it?"""

import pyarrow as pa
import pytest

import esker

ROWS = [
    {"id": 1, "s": {"a": 1, "b": {"c": "x"}}, "l": [{"q": 1}, None], "n": [[{"r": 2}]], "m": [("k", 3)]},
    {"id": 2, "s": None, "l": None, "n": [None, []], "m": None},
    {"id": 3, "s": {"a": None, "b": None}, "l": [], "n": None, "m": []},
]
KIND = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])),
        ("l", pa.list_(pa.struct([("q", pa.int64())]))),
        ("n", pa.list_(pa.list_(pa.struct([("r", pa.int64())])))),
        ("m", pa.map_(pa.string(), pa.int64())),
    ]
)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@pytest.mark.parametrize("start", [0, 1])
def test_members_of_structs_keep_their_values_under_physical_names(mode: str, start: int):
    """ "Use the physical column names when writing to storage": the values go with their columns, not with the names."""
    table = esker.create(f"memory://mapped-rows-{mode}-{start}/t", KIND, properties={"delta.columnMapping.mode": mode})
    table.append(pa.Table.from_pylist(ROWS, KIND).slice(start))
    assert table.to_arrow().to_pylist() == ROWS[start:]

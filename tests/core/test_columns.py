"""Do values get into Arrow as pyarrow itself would put them there, and without pandas?"""

import subprocess
import sys

import pyarrow as pa
import pytest

import esker
from esker.core.columns import array, scalar


@pytest.mark.parametrize("values, kind", [
    ([], pa.string()), (["a", None, "", "ä\0"], pa.string()), ([None], pa.string()), ([], pa.int32()), ([1, None, -(2**63)], pa.int64()),
    ([127, None, -128], pa.int8()), ([1.5, None], pa.float64()), ([True, None], pa.bool_()), ([b"x", None], pa.binary()),
])  # fmt: skip
def test_an_array_is_what_pyarrow_makes_of_the_values(values, kind):
    found = array(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind))
    assert [scalar(value, kind) for value in values] == list(found)


@pytest.mark.parametrize("value, kind", [(128, pa.int8()), (2**31, pa.int32()), (2**63, pa.int64())])
def test_a_number_that_does_not_fit_is_refused(value, kind):
    with pytest.raises((pa.ArrowInvalid, OverflowError)):
        array([value], kind)


@pytest.mark.parametrize("reading", ["files()", "to_arrow(where=\"id = 1 AND word > 'A' OR id IN (2, 3)\")"])
def test_reading_does_not_load_pandas(tmp_path, reading):
    rows = pa.table({"id": [1, 2], "word": ["a", "b"], "day": [3, 4]})
    esker.create(tmp_path / "table", rows, partition_by=["word", "day"])
    script = f"import sys, esker\nesker.open({str(tmp_path / 'table')!r}).{reading}\nsys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

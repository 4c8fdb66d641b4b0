"""What is asked of deltalake where pyarrow reads for it?"""

import pyarrow.dataset as ds
from deltalake import DeltaTable

from bench.questions import WANTED_ROW


def filtered(folder: str) -> str:
    dataset = DeltaTable(folder).to_pyarrow_dataset()
    return str(dataset.to_table(filter=ds.field("id") == WANTED_ROW).to_pylist())

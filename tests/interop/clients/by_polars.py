"""What does Polars make of a Delta table?  Run by a Python that has it, with deltalake."""

import polars
from answering import answer

answer(
    {
        "scan_delta": lambda place: polars.scan_delta(place).collect().to_dicts(),
        "read_delta(use_pyarrow=True)": lambda place: polars.read_delta(place, use_pyarrow=True).to_dicts(),
    },
    {"write_delta": lambda place, rows: polars.read_parquet(rows).write_delta(place, mode="append")},
)

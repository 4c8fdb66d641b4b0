"""What does Daft make of a Delta table?  Run by a Python that has it, with deltalake."""

import daft
from answering import answer


def append(place, rows):
    daft.read_parquet(rows).write_deltalake(place, mode="append")


answer({"read_deltalake": lambda place: daft.read_deltalake(place).to_arrow().to_pylist()}, {"write_deltalake": append})

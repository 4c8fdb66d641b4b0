"""What does pylance make of a table?  Run by a Python that has it."""

import lance
import pyarrow.parquet as pq
from answering import answer


def append(place, rows):
    lance.write_dataset(pq.read_table(rows), place, mode="append")


answer({"dataset": lambda place: lance.dataset(place).to_table().to_pylist()}, {"write_dataset": append})

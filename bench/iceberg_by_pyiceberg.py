"""What is asked of PyIceberg?"""

from tempfile import TemporaryDirectory

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo
from pyiceberg.table import StaticTable

from bench.data import small_rows
from bench.questions import COMMITS, WANTED_ROW, Answer


def planned(folder: str) -> Answer:
    return _summed(folder, AlwaysTrue())


def filtered(folder: str) -> Answer:
    return _summed(folder, EqualTo("id", WANTED_ROW))


def committed(folder: str) -> Answer:
    """A new table, and commits of a few rows one after another, in a catalog that SQLite keeps."""
    rows = small_rows(0)
    with TemporaryDirectory(dir=folder) as place:
        catalog = SqlCatalog("bench", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
        catalog.create_namespace("n")
        table = catalog.create_table("n.t", rows.schema)
        for _ in range(COMMITS):
            table.append(rows)
        return [table.scan(selected_fields=("id",)).to_arrow().num_rows]


def _summed(folder: str, where: BooleanExpression) -> Answer:
    """How many files are to be read, and how many bytes."""
    table = StaticTable.from_metadata(f"{folder}/target/metadata/v1.metadata.json")
    sizes = [task.file.file_size_in_bytes for task in table.scan(row_filter=where).plan_files()]
    return [len(sizes), sum(sizes)]

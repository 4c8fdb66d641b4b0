"""What is asked of deltalake?"""

from deltalake import DeltaTable, QueryBuilder

from bench.questions import WANTED_ROW


def list_files(folder: str) -> int:
    """All live files as an Arrow table: path, size, time, rows, partition, statistics."""
    return int(DeltaTable(folder).get_add_actions().num_rows)


def uris(folder: str) -> int:
    """The locations of all live files, as a list."""
    return len(DeltaTable(folder).file_uris())


def describe(folder: str) -> int:
    table = DeltaTable(folder)
    assert table.metadata().id
    return len(table.schema().fields)


def filtered(folder: str) -> str:
    query = QueryBuilder().register("t", DeltaTable(folder))
    return str([
        {name: batch[name][i].as_py() for name in batch.schema.names}
        for batch in query.execute(f"SELECT * FROM t WHERE id = {WANTED_ROW}").read_all().to_batches()
        for i in range(batch.num_rows)
    ])  # fmt: skip

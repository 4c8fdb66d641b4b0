"""What does DuckDB make of a Delta table?  Run by a Python that has it; its extension is fetched when it is first used."""

import duckdb
from answering import answer

connection = duckdb.connect()
connection.execute("INSTALL delta")
connection.execute("LOAD delta")


def read(place):
    found = connection.execute("SELECT * FROM delta_scan(?)", [place])
    names = [described[0] for described in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def append(place, rows):
    connection.execute(f"ATTACH '{place}' AS t (TYPE delta)")
    try:
        connection.execute(f"INSERT INTO t SELECT * FROM '{rows}'")
    finally:
        connection.execute("DETACH t")


answer({"delta_scan": read}, {"insert": append})

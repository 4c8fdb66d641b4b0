"""What does this release of pylance make of tables? Run by another environment's Python, which has nothing of Esker.

Reads a list of jobs as JSON on standard input: a table, and what to do with it. Prints an outcome for each: the number of rows, or what was
raised.
"""

import json
import sys

import lance
import pyarrow as pa


def outcome(path: str, operation: str) -> dict[str, object]:
    try:
        if operation == "append":
            lance.write_dataset(pa.table({"id": pa.array([77], pa.int64()), "name": ["w"]}), path, mode="append")
        elif operation == "delete":
            lance.dataset(path).delete("id = 1")
        return {"rows": lance.dataset(path).to_table().num_rows}
    except BaseException as error:  # a panic in the compiled part is no Exception
        return {"error": str(error)[:300]}


if __name__ == "__main__":
    print(json.dumps([outcome(*job) for job in json.load(sys.stdin)]))

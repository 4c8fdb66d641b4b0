"""How does a client answer, in a process of its own?

Run by the client's own Python: nothing here imports Esker. It says that it is ready, once it is. Each line of input then names a table, an operation
and a file of rows; each line of output has, for every way that the client has, the rows that it read or the error that it raised.
"""

import json
import os
import sys


def answer(reads, appends):
    """Answer requests until there are no more.

    `reads` gives for each way, by name, a function from a table's folder to rows; `appends` takes the folder and a Parquet file.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the client prints is no answer
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["operation"] == "read":
            found = {way: _done(read, asked["table"]) for way, read in reads.items()}
        else:
            found = {way: _done(append, asked["table"], asked["rows"]) for way, append in appends.items()}
        print(json.dumps(found, default=str), file=answers, flush=True)


def _done(function, *arguments):
    try:
        return {"rows": function(*arguments)}
    except BaseException as error:  # a panic of a client in Rust is no Exception
        return {"error": f"{type(error).__name__}: {error}"[:500]}

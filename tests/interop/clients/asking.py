"""What does a release of a client do with the tables?

Each table is copied for each release, since an append changes it; to the place where it was made, since tables may name their files
in full. What was appended is judged by what the table then holds, and by
the rules of the specification: a client that appends the right rows and breaks a rule has got it wrong.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from shutil import copytree, rmtree
from threading import Thread
from typing import Any

import pyarrow.parquet as pq

import esker
from esker.check.model import Severity
from esker.core.features import Operation
from tests.interop.clients.cells import Outcome, Seen
from tests.interop.clients.environments import Environment
from tests.interop.clients.tables import BAD_ROWS, ROWS, Case

PATIENCE = 120
"""Seconds for an answer; a client that takes longer hangs."""
Ways = Mapping[str, Outcome]
Row = Mapping[str, Any]


def build(cases: Iterable[Case], folder: Path) -> None:
    """Have the tables made at the place where clients see them, and kept in a folder of their name, with the rows to append."""
    for case in cases:
        kept = folder / case.name
        rmtree(_place(folder), ignore_errors=True)
        _place(folder).mkdir(parents=True)
        case.build(_place(folder))
        copytree(_place(folder), kept / "table")
        for name, given in ((ROWS, case.appended), (BAD_ROWS, case.forbidden)):
            if given is not None:
                pq.write_table(given, kept / name)


def _place(folder: Path) -> Path:
    """Where the tables that are kept in a folder are shown."""
    return folder.with_name("shown") / "table"


class Asked:
    """A running client; it is started again where it broke down."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        self._environment, self._folder = environment, folder
        self._process: subprocess.Popen[str] | None = None

    def problem(self) -> str | None:
        """Why the client cannot be run, where it cannot."""
        self._process = self._started()
        if self._process is not None:
            return None
        said = (self._folder / "said.txt").read_text().strip().splitlines()
        return said[-1] if said else "it says nothing"

    def outcomes(self, case: Case, source: Path) -> Iterator[tuple[Operation, Ways]]:
        """What the client does with a table, reading first."""
        place = self._copied(case, source)
        yield Operation.READ, {way: _read(said, case) for way, said in self._ask("read", place).items()}
        if case.appended is not None:
            yield Operation.WRITE, dict(self._appended(case, source, place))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _appended(self, case: Case, source: Path, place: Path) -> Iterator[tuple[str, Outcome]]:
        known = _broken(place)
        for way, said in self._ask("append", place, source / case.name / ROWS).items():
            outcome = Outcome(Seen.REFUSED, said["error"]) if "error" in said else _after(said["rows"] or place, case, known)
            if outcome.seen is Seen.WORKED and case.forbidden is not None:
                fresh = self._copied(case, source)
                if "rows" in self._ask("append", fresh, source / case.name / BAD_ROWS)[way]:
                    outcome = Outcome(Seen.WRONG, "rows that the table forbids are accepted")
            yield way, outcome

    def _copied(self, case: Case, source: Path) -> Path:
        place = _place(source)
        rmtree(place, ignore_errors=True)
        return Path(copytree(source / case.name / "table", place))

    def _ask(self, operation: str, place: Path, rows: Path | None = None) -> Mapping[str, Any]:
        process = self._process = self._process or self._started()
        if process is None or process.stdin is None:
            return {"the process": {"error": "it does not start any more"}}
        question = {"operation": operation, "table": str(place), "rows": str(rows)}
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            answer = _line(process)
        except (BrokenPipeError, Empty):
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        code = process.poll()
        self.stop()
        return {"the process": {"error": "it hangs" if code is None else f"the process ended with {code}"}}

    def _started(self) -> "subprocess.Popen[str] | None":
        # what steers Esker's own Python and Spark is not for the client
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
        self._folder.mkdir(exist_ok=True)
        with (self._folder / "said.txt").open("a") as log:
            process = subprocess.Popen(
                [str(self._environment.python), str(self._environment.script)], cwd=self._folder,
                env={**kept, "SPARK_LOCAL_IP": "127.0.0.1", "DAFT_ANALYTICS_ENABLED": "0", "DO_NOT_TRACK": "true"},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        if _line(process):
            return process
        process.communicate()
        return None


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    answers: Queue[str] = Queue()
    out = process.stdout
    Thread(target=lambda: answers.put(out.readline()), daemon=True).start()
    return answers.get(timeout=PATIENCE)


def _read(said: Mapping[str, Any], case: Case) -> Outcome:
    if "error" in said:
        return Outcome(Seen.REFUSED, said["error"])
    return _compared(said["rows"], case.holds.to_pylist(), case.holds.column_names)


def _after(place: Path | str, case: Case, known: set[str]) -> Outcome:
    """What the table is once the client has appended to it and said that it did, or named the metadata file that it made."""
    assert case.appended is not None
    table = esker.open(place)
    try:
        found = table.to_arrow()
    except esker.Unsupported:
        return Outcome(Seen.WORKED, "Esker does not read such tables")
    except esker.EskerError as error:
        return Outcome(Seen.WRONG, f"the table cannot be read any more: {error}"[:300])
    expected = [*case.holds.to_pylist(), *case.appended.to_pylist()]
    outcome = _compared(found.to_pylist(), expected, case.holds.column_names)
    if outcome.seen is Seen.WORKED and (broken := _broken(place) - known):
        return Outcome(Seen.WRONG, "; ".join(sorted(broken)))
    return outcome


def _broken(place: Path | str) -> set[str]:
    """The rules that the table breaks."""
    return {finding.rule for finding in esker.check_table(place, deep=True) if finding.severity is Severity.ERROR}


def _compared(found: Iterable[Row], expected: Iterable[Row], columns: Sequence[str]) -> Outcome:
    counted, wanted = (Counter(_text(row, columns) for row in rows) for rows in (found, expected))
    if counted == wanted:
        return Outcome(Seen.WORKED)
    extra, missing = sorted((counted - wanted).elements()), sorted((wanted - counted).elements())
    return Outcome(Seen.WRONG, f"too many: {extra}, missing: {missing}"[:300])


def _text(row: Row, columns: Iterable[str]) -> str:
    return json.dumps([row.get(name, "no such column") for name in columns], default=str)

"""Does a file say what it should not: a path of somebody's machine, or that it is unfinished?"""

import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT

# An example may speak of the home of `someone`.
MACHINE_PATH = re.compile(r"(?:(?<=file://)|(?<![\w./:*-]))/(?:home|opt|root|tmp|Users|work)/(?!someone\b)\w")
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E)\b")


def test_no_file_names_a_path_of_a_machine():
    assert not _lines_with(MACHINE_PATH)


def test_no_file_says_that_it_is_unfinished():
    assert not _lines_with(UNFINISHED)


@pytest.mark.parametrize("line", ["/{}/ann/lake", "'/{}/ann'", "file:///{}/ann/lake", "(/{}/ann)"])
@pytest.mark.parametrize("folder", ["home", "root", "Users"])
def test_a_path_of_a_machine_is_found(line, folder):
    assert MACHINE_PATH.search(line.format(folder))


@pytest.mark.parametrize("line", ["s3://bucket/{}/ann", "lake/{}/ann", "#!/usr/bin/env bash", "/{}/someone/lake"])
def test_a_path_of_no_machine_is_let_be(line):
    assert not MACHINE_PATH.search(line.format("home"))


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for name in _files():
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # not text
        found += [f"{name}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def _files() -> list[str]:
    """The files that git tracks, or would if they were added, and that are there."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("which files are tracked is known in a git checkout only")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({name for name in said.stdout.split("\0") if name and (ROOT / name).is_file()})

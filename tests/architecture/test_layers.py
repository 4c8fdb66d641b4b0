"""Do imports point down?  The contracts are in pyproject.toml, under `tool.importlinter`."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT

CONTRACTS = [
    contract["id"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

# A package that keeps every contract, and for each contract modules that break it alone.
KEPT = {
    "esker/__init__.py": "import esker.table",
    "esker/errors.py": "",
    "esker/core/types.py": "import esker.errors",
    "esker/storage/store.py": "import os, obstore, esker.core.types",
    "esker/delta/log.py": "import esker.storage.store",
    "esker/iceberg/metadata.py": "import esker.core.types",
    "esker/lance/manifest.py": "import esker.core.types",
    "esker/catalogs/client.py": "import pyiceberg, esker.iceberg.metadata",
    "esker/arrow/scan.py": "import esker.delta.log",
    "esker/arrow/lance/read.py": "import lance, esker.lance.manifest",
    "esker/spark/scan.py": "import pyspark, esker.arrow.scan",
    "esker/table.py": "import esker.spark.scan, esker.iceberg.metadata",
    "esker/cli/main.py": "import esker",
    "esker/testing/table.py": "import esker",
}
BREAKS = [
    ("layers", {"esker/core/types.py": "import esker.storage.store"}),
    ("layers", {"esker/core/types.py": "def late():\n    import esker.storage.store"}),
    ("layers", {"esker/errors.py": "import esker.core.types"}),
    ("layers", {"esker/iceberg/metadata.py": "import esker.delta.log"}),
    ("layers", {"esker/delta/log.py": "import esker.arrow.scan"}),
    ("layers", {"esker/arrow/scan.py": "import esker.spark.scan"}),
    ("layers", {"esker/testing/table.py": "import esker.cli.main"}),
    ("layers", {"esker/elsewhere.py": ""}),
    ("face", {"esker/delta/log.py": "import esker"}),
    ("spark", {"esker/table.py": "import pyspark, esker.spark.scan"}),
    ("spark", {"esker/iceberg/metadata.py": "from pyspark.sql import functions"}),
    ("obstore", {"esker/iceberg/metadata.py": "import obstore.store"}),
    ("pyiceberg", {"esker/iceberg/metadata.py": "import pyiceberg.catalog"}),
    ("pylance", {"esker/lance/manifest.py": "import lance"}),
    ("without-spark", {"esker/delta/log.py": "import py4j.java_gateway"}),
    ("without-spark", {"esker/storage/store.py": "import obstore, esker.core.types, pyspark"}),
    ("decide", {"esker/core/types.py": "import pathlib"}),
    ("decide", {"esker/delta/log.py": "from obstore.store import LocalStore"}),
]


def test_the_package_keeps_every_contract():
    checked = lint(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_package_that_keeps_the_contracts_passes(tmp_path):
    checked = lint(package(tmp_path, KEPT))
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("contract, modules", BREAKS)
def test_an_import_against_the_arrows_is_found(tmp_path, contract, modules):
    checked = lint(package(tmp_path, {**KEPT, **modules}), contract)
    assert checked.returncode != 0
    assert "BROKEN" in checked.stdout, checked.stdout + checked.stderr


def test_every_contract_is_shown_to_fail():
    assert {contract for contract, _ in BREAKS} == set(CONTRACTS)


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    options = [word for contract in contracts for word in ("--contract", contract)]
    return subprocess.run(
        [*command, "--no-cache", "--no-logo", *options], cwd=folder, capture_output=True, text=True, check=False
    )


def package(folder: Path, modules: Mapping[str, str]) -> Path:
    """A package named esker in `folder`, under the contracts of this one."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return folder

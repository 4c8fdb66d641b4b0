"""Do the documents say what the commands do?"""

import pytest
import typer

from esker.cli.client_reference import reference as client_reference
from esker.cli.failures import EXIT_CODES
from esker.cli.feature_reference import reference as feature_reference
from esker.cli.main import app
from esker.cli.property_reference import reference as property_reference
from esker.cli.rule_reference import reference as rule_reference
from tests.conftest import ROOT

COMMANDS = typer.main.get_command(app).commands
MANUAL = ROOT / "docs" / "cli.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_in_the_manual(name):
    manual = MANUAL.read_text()
    assert f"esker {name}" in manual
    _, _, section = manual.partition(f"## esker {name}\n")
    section = section.partition("\n## ")[0] + manual.partition("## Options of all commands")[2].partition("\n## ")[0]
    options = [option for parameter in COMMANDS[name].params for option in parameter.opts if option.startswith("--")]
    assert not [option for option in options if f"`{option}" not in section]


def test_every_exit_code_is_in_the_manual():
    manual = MANUAL.read_text()
    assert not [kind for kind, code in EXIT_CODES.items() if f"| {code} | `{kind.__name__}`" not in manual]


def test_the_reference_of_properties_is_what_the_registry_prints():
    assert (ROOT / "docs" / "properties.md").read_text() == property_reference(), "run make docs"


def test_the_reference_of_features_is_what_the_registry_prints():
    assert (ROOT / "docs" / "features.md").read_text() == feature_reference(), "run make docs"


def test_the_matrix_of_clients_is_what_their_data_prints():
    assert (ROOT / "docs" / "clients.md").read_text() == client_reference(), "run make docs"


def test_the_reference_of_rules_is_what_the_rules_print():
    assert (ROOT / "docs" / "checking.md").read_text() == rule_reference(), "run make docs"

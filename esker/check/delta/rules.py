"""Which rules does a Delta table have to keep?"""

from collections.abc import Iterator

from esker.check.delta import (
    action_rules,
    checkpoint_rules,
    commit_rules,
    data_rules,
    evolution_rules,
    file_rules,
    log_rules,
    metadata_rules,
    protocol_rules,
)
from esker.check.delta.evidence import Evidence
from esker.check.model import Finding, Rule, findings
from esker.delta.snapshot import Place

RULES: tuple[Rule[Evidence], ...] = (
    *log_rules.RULES,
    *commit_rules.RULES,
    *protocol_rules.RULES,
    *metadata_rules.RULES,
    *evolution_rules.RULES,
    *action_rules.RULES,
    *file_rules.RULES,
    *checkpoint_rules.RULES,
    *data_rules.RULES,
)


def check_delta(place: Place, version: int | None = None, *, deep: bool = False) -> Iterator[Finding]:
    """Every rule that the table breaks; `deep` reads its data files too."""
    return findings(RULES, Evidence(place, version), deep=deep)

"""Which rules does a Lance table have to keep?"""

from collections.abc import Iterator

from esker.check.lance import flag_rules, fragment_rules, reference_rules, schema_rules, version_rules
from esker.check.lance.evidence import Evidence
from esker.check.model import Finding, Rule, findings
from esker.lance.place import Place

RULES: tuple[Rule[Evidence], ...] = (
    *version_rules.RULES,
    *flag_rules.RULES,
    *schema_rules.RULES,
    *fragment_rules.RULES,
    *reference_rules.RULES,
)


def check_lance(place: Place, version: int | None = None, *, deep: bool = False) -> Iterator[Finding]:
    """Every rule that the table breaks; `deep` reads its data files too, which needs pylance."""
    return findings(RULES, Evidence(place, version), deep=deep)

"""Which rules does an Iceberg table have to keep?"""

from collections.abc import Iterator

from esker.check.iceberg import file_rules, manifest_rules, metadata_rules, schema_rules, snapshot_rules
from esker.check.iceberg.evidence import Evidence
from esker.check.model import Finding, Rule, findings
from esker.iceberg.place import Place

RULES: tuple[Rule[Evidence], ...] = (
    *metadata_rules.RULES,
    *schema_rules.RULES,
    *snapshot_rules.RULES,
    *manifest_rules.RULES,
    *file_rules.RULES,
)


def check_iceberg(
    place: Place, path: str | None = None, snapshot_id: int | None = None, *, deep: bool = False
) -> Iterator[Finding]:
    """Every rule that the table breaks; `path` is its metadata file where it is not the folder's newest."""
    return findings(RULES, Evidence(place, path, snapshot_id), deep=deep)

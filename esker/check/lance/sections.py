"""Where do the rules stand?"""

from esker.core.features import Section


def table_format(anchor: str) -> Section:
    """A section of the description of the table format."""
    return Section("lance-table-format.md", anchor)


FLAGS = Section("lance-format-versioning.md", "#feature-flags")

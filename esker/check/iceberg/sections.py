"""Where do the rules stand?"""

from esker.core.features import Section


def spec(anchor: str) -> Section:
    """A section of Iceberg's table specification."""
    return Section("spec.md", anchor)


def puffin(anchor: str) -> Section:
    """A section of the specification of Puffin files."""
    return Section("puffin-spec.md", anchor)

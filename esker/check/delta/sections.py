"""Where do the rules stand?"""

from esker.core.features import Section


def protocol(anchor: str) -> Section:
    """A section of PROTOCOL.md."""
    return Section("PROTOCOL.md", anchor)

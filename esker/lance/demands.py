"""What does a Lance table demand of any client?  (lance-format-versioning.md; "Data storage format version", "Manifest names")

A client checks the word of flags that is for it, bit by bit. Which versions of data files and which names of manifests it knows
is not said by a flag, and shows when it comes to them.
"""

from collections.abc import Iterator

from esker.core.demands import Contract, Demand
from esker.core.features import Operation, Presence
from esker.lance.file_versions import file_versions
from esker.lance.flags import STICKY, bits, flag_name, presences
from esker.lance.manifest import Manifest
from esker.lance.versions import Naming

_READ, _WRITE = frozenset({Operation.READ}), frozenset({Operation.WRITE})
V2_NAMES = "V2 manifest names"
NO_LATEST = "no _latest.manifest"


def contract(manifest: Manifest, naming: Naming, has_latest: bool) -> Contract:
    """The contract of a table with this manifest. `has_latest` tells of the file that the oldest clients look for."""
    found = {presence.name: presence.presence for presence in presences(manifest) if presence.presence > Presence.ABSENT}
    layout = ({V2_NAMES: Presence.IN_USE} if naming is Naming.V2 else {}) | ({} if has_latest else {NO_LATEST: Presence.IN_USE})
    return Contract("lance", tuple(_demands(manifest, naming, found)), {**found, **layout})


def _demands(manifest: Manifest, naming: Naming, found: dict[str, Presence]) -> Iterator[Demand]:
    for bit in bits(manifest.reader_flags):
        name = flag_name(bit, manifest.writer)
        yield Demand(f"reader flag {bit}", _READ, found.get(name, Presence.SUPPORTED), name)
    for bit in bits(manifest.writer_flags):
        name = flag_name(bit, manifest.writer)
        yield Demand(f"writer flag {bit}", _WRITE, found.get(name, Presence.SUPPORTED), name)
    for bit in STICKY:
        if (manifest.reader_flags ^ manifest.writer_flags) & bit:
            yield Demand(f"flag {bit} in one word", _READ, Presence.SUPPORTED, flag_name(bit))
    for version in file_versions(manifest):
        yield Demand(f"data file version {version}", _READ | _WRITE, Presence.IN_USE)
    if naming is Naming.V2:
        yield Demand(V2_NAMES, _READ | _WRITE, Presence.IN_USE)

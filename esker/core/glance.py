"""What does a table tell at a glance?

What an audit of many tables asks of each: its own description and its contract with clients, without the list of its files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from esker.core.demands import Contract
from esker.core.features import FeaturePresence, Operation
from esker.core.table import Description


@dataclass(frozen=True, slots=True)
class Glance:
    """A table at a glance. `files` and `size` (in bytes) are None where they could not be told cheaply.

    `refused` is what Esker would not do with the table, and why.
    """

    about: Description
    features: tuple[FeaturePresence[Any], ...]
    contract: Contract
    refused: Mapping[Operation, str] = field(default_factory=dict, hash=False)
    files: int | None = None
    size: int | None = None

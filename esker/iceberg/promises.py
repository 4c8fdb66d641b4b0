"""Does a change of an Iceberg table keep what the table is promised?  (`core.promises` says what that means)"""

from esker.core.demands import PROMISES, Contract
from esker.core.promises import Promising, as_used, check_kept
from esker.iceberg.demands import contract
from esker.iceberg.facts import facts
from esker.iceberg.features import Facts, presences
from esker.iceberg.state import TableState


def check_promises(after: TableState, before: TableState | None = None) -> None:
    """Raise `InvalidRequest`, with every promise that the table keeps before a change and would not keep after it.

    Where there was no table before, every promise that it would not keep.
    """
    judge, text = after.place.judge, after.metadata.properties.get(PROMISES)
    if judge is None or not text:
        return
    if before is None:
        check_kept(judge, None, Promising(text, _contract(facts(after))), after.location)
        return
    held = before.metadata.properties.get(PROMISES)
    # What the manifests list is looked up only where something else may decide.
    if held == text and not _brings_deletes(before, after) and _as_stated(before) == _as_stated(after):
        return
    check_kept(
        judge, Promising(held, _contract(facts(before))), Promising(text, _contract(facts(after))), after.location
    )


def _brings_deletes(before: TableState, after: TableState) -> bool:
    if before.snapshot == after.snapshot:
        return False
    known = {manifest.manifest_path for manifest in before.manifests}
    return any(manifest.is_deletes and manifest.manifest_path not in known for manifest in after.manifests)


def _as_stated(state: TableState) -> Contract:
    """What the metadata alone asks for."""
    return _contract(Facts(state.metadata))


def _contract(known: Facts) -> Contract:
    return contract(known.metadata.format_version, as_used(presences(known)))

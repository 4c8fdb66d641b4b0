"""Each flag bit, set by hand, against opening, reading, appending and deleting. (lance-format-versioning.md, "Feature Flags")"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import esker
from esker.core.features import Operation, Presence
from esker.core.write import WriteOptions
from esker.errors import EskerError, InvalidTable, Unsupported
from esker.lance.flags import FLAGS, NAMES, STICKY, bits, flag_name
from esker.lance.manifest import WriterVersion
from esker.rows import row_source
from tests.lance.tables import ROWS, bent, editor, flagged, made, rows

SUPPORTED = 1 | 2 | 4 | 8 | 16 | 32
BITS = [1 << place for place in (*range(18), 31, 32, 63)]


# Bits of which the installed pylance knows more than the description: that they are in both words, or agree with content.
KNOWN_TO_PYLANCE = (16384, 32768, 65536)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """A table whose rows have no stable ids, and one whose rows have."""
    path = tmp_path_factory.mktemp("lance")
    made(path / "t")
    made(path / "s", features=["STABLE_ROW_IDS"])
    return {False: path / "t", True: path / "s"}


@pytest.fixture
def copied(bases: dict[bool, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(bases[False], tmp_path / "t"))


def _refused(act: Callable[[], object]) -> str | None:
    """What the refusal says; None where there is none."""
    try:
        act()
    except (Unsupported, InvalidTable) as error:
        return str(error)
    return None


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("words", ["reader", "writer", "both"])
def test_an_unknown_bit_is_refused_by_number_where_its_word_is_checked_and_a_known_one_is_not(
    bases: dict[bool, Path], tmp_path: Path, bit: int, words: str
) -> None:
    """ "Readers should check the `reader_feature_flags` ... Writers should check `writer_feature_flags`. If either sees a flag
    they don't know, they should return an "unsupported" error on any read or write operation." """
    copied = Path(shutil.copytree(bases[bit == 2], tmp_path / "t"))
    reader, writer = bit if words != "writer" else 0, bit if words != "reader" else 0
    table = esker.open(flagged(copied, reader, writer))  # opening never refuses
    assert table.describe().protocol.startswith(f"reader flags {reader}, writer flags {writer}")
    files = sorted(file for file in copied.rglob("*") if file.is_file())
    is_known = bool(bit & SUPPORTED)
    read = _refused(table.to_arrow)
    if words == "writer" and bit in (*STICKY, *KNOWN_TO_PYLANCE):
        assert read is not None  # half of a flag that has to be whole
    else:
        assert (read is None) == (is_known or not reader)
    if not is_known:
        append = _refused(lambda: table._table.append(row_source(ROWS), WriteOptions()))
        delete = _refused(lambda: table._table.delete("id = 1", editor()))
        for said in (*([read] if reader else []), append, delete):
            assert said is not None
            assert (flag_name(bit) if bit in NAMES else f"flag {bit}") in said
        assert files == sorted(file for file in copied.rglob("*") if file.is_file())  # before any file is written


def test_a_table_with_every_supported_flag_is_read_and_written(copied: Path) -> None:
    table = esker.open(flagged(copied, 4 | 8 | 32, 4 | 8 | 32))
    moved = table._table.append(row_source(ROWS), WriteOptions()).delete("id = 1", editor())
    assert len(rows(moved)) == 18
    # "Flags are recomputed on every commit from the manifest content"
    assert moved.snapshot.manifest.reader_flags == 1


@pytest.mark.parametrize("bit", [256, 1024])
def test_a_sticky_flag_in_one_word_is_told(copied: Path, bit: int) -> None:
    """ "A half-set sticky flag (only one word) is corruption." """
    found = esker.open(flagged(copied, bit, 0)).check()
    assert any(finding.rule == "flags.sticky" for finding in found)


@pytest.mark.parametrize("version, prerelease, name", [
    ("11.0.0", "beta.4", "MEM_WAL_INDEX_CATCHUP"), ("11.0.0", "beta.17", "MEM_WAL_INDEX_CATCHUP"),
    ("11.0.0", "beta.3", "COVERED_INDEX_METADATA"), ("11.0.0", "beta.18", "COVERED_INDEX_METADATA"),
    ("11.0.0", None, "COVERED_INDEX_METADATA"), ("12.0.0", "beta.5", "COVERED_INDEX_METADATA"),
])
def test_bit_128_means_what_its_writer_meant(version: str, prerelease: str | None, name: str) -> None:
    """ "in 11.0 betas 4-17 this bit meant MEM_WAL_INDEX_CATCHUP" """
    assert flag_name(128, WriterVersion("lance", version, prerelease)) == name


def test_bit_128_of_an_early_beta_is_refused_by_its_older_name(copied: Path) -> None:
    def beta(message: object) -> None:
        message.reader_feature_flags = 128  # type: ignore[attr-defined]
        message.writer_version.version, message.writer_version.prerelease = "11.0.0", "beta.9"  # type: ignore[attr-defined]

    with pytest.raises(Unsupported, match="MEM_WAL_INDEX_CATCHUP"):
        esker.open(bent(copied, beta)).to_arrow()


def test_bits_count_from_the_lowest() -> None:
    assert list(bits(0b10011 | 1 << 63)) == [1, 2, 16, 1 << 63]


def test_supported_flags_are_those_that_the_sheet_recommends() -> None:
    able = {bit for bit, name in NAMES.items() if FLAGS.named([name])[0].support.allows(Operation.WRITE)}
    assert sum(able) == SUPPORTED


@pytest.mark.parametrize("version, operation, is_refused", [
    ("0.1", Operation.READ, False), ("0.1", Operation.WRITE, True), ("2.2", Operation.WRITE, False), ("2.3", Operation.READ, True),
    ("9.0", Operation.READ, True),
])
def test_versions_of_data_files_are_gated(copied: Path, version: str, operation: Operation, is_refused: bool) -> None:
    """Section 7: 0.1 is read only, what is not known is refused."""

    def stated(message: object) -> None:
        message.data_format.version = version  # type: ignore[attr-defined]
        for fragment in message.fragments:  # type: ignore[attr-defined]
            for file in fragment.files:
                file.file_major_version, file.file_minor_version = map(int, version.split("."))

    table = esker.open(bent(copied, stated))._table
    assert (_refused(lambda: table.snapshot.gate(operation)) is not None) == is_refused  # type: ignore[attr-defined]


def _dropped(table: esker.Table, name: str) -> esker.Table:
    plan = table.drop_feature(name, dry_run=True)
    before = table.version
    assert esker.open(table.location).version == before
    assert plan.foresight.steps
    done = table.drop_feature(name)
    assert done.features == (name,)
    assert done.is_done
    return table


def _present(table: esker.Table) -> set[str]:
    return {found.name for found in table.features() if found.presence > Presence.ABSENT}


def test_deletion_files_are_dropped_by_rewriting_their_fragments(tmp_path: Path) -> None:
    """Recipe L1."""
    table = made(tmp_path / "t")
    table._table = table._table.delete("id < 3", editor())
    assert _present(table) == {"DELETION_FILES"}
    assert not _present(_dropped(table, "DELETION_FILES"))
    assert [row["id"] for row in rows(table._table)] == [3, 4, 5, 6, 7, 8, 9]


def test_the_configuration_is_dropped_by_deleting_its_keys(tmp_path: Path) -> None:
    """Recipe L2."""
    table = made(tmp_path / "t", properties={"team": "sea"})
    assert _present(table) == {"TABLE_CONFIG"}
    assert not _present(_dropped(table, "TABLE_CONFIG"))


@pytest.mark.parametrize("bit, name", [(4, "USE_V2_FORMAT_DEPRECATED"), (32, "DISABLE_TRANSACTION_FILE")])
def test_what_any_commit_clears_is_dropped_by_one_that_says_nothing_new(copied: Path, bit: int, name: str) -> None:
    """Recipe L4; and the deprecated flag."""
    table = esker.open(flagged(copied, 0, bit))
    assert _present(table) == {name}
    assert not _present(_dropped(table, name))
    assert table.version == 2
    assert rows(table._table) == ROWS.to_pylist()


def test_a_flag_that_stays_or_is_not_set_is_not_dropped(tmp_path: Path) -> None:
    table = made(tmp_path / "t", features=["STABLE_ROW_IDS"])
    for name, said in (("STABLE_ROW_IDS", "stays"), ("TABLE_CONFIG", "not set")):
        with pytest.raises(EskerError, match=said):
            table.drop_feature(name)
    assert table.version == 1
    clone = table.clone(tmp_path / "c")
    with pytest.raises(EskerError, match="BASE_PATHS: no commit of Lance's library does this: copy the files"):
        clone.drop_feature("BASE_PATHS", dry_run=True)


def test_rows_of_an_arrow_table_can_be_appended(copied: Path) -> None:
    assert esker.open(copied).append(pa.table({"id": [77]})).to_arrow().num_rows == 11

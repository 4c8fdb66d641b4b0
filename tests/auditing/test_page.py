"""Does the page of an audit work in a real browser, alone, and whatever tables are called?"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esker.auditing.clients import judgement, standings
from esker.auditing.forms import page_data
from esker.auditing.model import Audit, AuditedTable, Remark
from esker.auditing.page import page
from esker.auditing.run import feature_totals
from esker.check.model import Severity
from esker.core.demands import Contract, Demand
from esker.core.features import Operation, Presence
from tests.auditing.browser import BROWSER, DRIVER, MISSING, Browser, browser

HOSTILE = [
    "</script><script>window.hurt = 1</script>", "<img src=x onerror='window.hurt = 1'>", "\"><svg onload=window.hurt=1>",
    "{style}{script}{data}", "<!--<script>", "javascript:window.hurt=1", "&lt;b&gt;", "a\u2028b\u2029c", "${window.hurt = 1}",
]  # fmt: skip
MANY = 10_000
AT = datetime(2026, 1, 31, tzinfo=UTC)
VERSIONS = (
    Demand("reader version 3", frozenset({Operation.READ}), Presence.SUPPORTED),
    Demand("writer version 7", frozenset({Operation.WRITE}), Presence.SUPPORTED),
)


def contract(**features: Presence) -> Contract:
    both = frozenset({Operation.READ, Operation.WRITE})
    return Contract("delta", (*VERSIONS, *(Demand(name, both, presence) for name, presence in features.items())), features)


PLAIN = contract()
MAPPED = contract(columnMapping=Presence.IN_USE, deletionVectors=Presence.ACTIVE)
UNHEARD = contract(**{HOSTILE[0]: Presence.SUPPORTED})


def made(tables: list[AuditedTable]) -> Audit:
    counted = {one: sum(table.contract == one for table in tables) for one in (PLAIN, MAPPED, UNHEARD)}
    judgements = {one: judgement(one) for one in counted}
    return Audit("s3://bucket/lake", AT, tuple(tables), feature_totals(tables), standings(counted, judgements), (), 12, judgements)


def ordinary(number: int) -> AuditedTable:
    own = MAPPED if number % 10 == 0 else PLAIN
    return AuditedTable(
        f"area{number % 7}/table-{number:05}", f"s3://bucket/lake/area{number % 7}/table-{number:05}", "delta", None, number, "(3, 7, [], [])", own,
        number % 40, number, number * 1000 if number % 2 else None, datetime(2026, 1, 1 + number % 30, tzinfo=UTC),
        (Remark(Severity.WARNING, "something odd"),) if number % 100 == 0 else (),
    )  # fmt: skip


def hostile(name: str) -> AuditedTable:
    return AuditedTable(name, name, "delta", name, 1, name, UNHEARD, 1, 1, 1, AT, (Remark(Severity.ERROR, name),))


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not DRIVER or not BROWSER:
        pytest.skip(MISSING)
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "audit.html"
    file.write_text(page(page_data(made([ordinary(number) for number in range(MANY)]), "0.0")), encoding="utf-8")
    return file


@pytest.fixture
def shown(chrome: Browser, large: Path) -> Browser:
    chrome.resize(1400, 900)
    chrome.prefer("light")
    chrome.open(large)
    return chrome


def count(shown: Browser) -> str:
    return shown.texts("#count")[0]


def firsts(shown: Browser) -> list[str]:
    return shown.texts("#rows .open")


def test_a_page_names_nothing_that_lies_elsewhere() -> None:
    text = page(page_data(made([]), "0.0"))
    assert "default-src 'none'" in text
    assert not re.findall(r"""\b(?:src|href)\s*=\s*["'](?!#)|url\(|@import|\bfetch\(|XMLHttpRequest|import\(""", text)
    assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_hostile_names_cannot_end_the_data() -> None:
    text = page(page_data(made([hostile(name) for name in HOSTILE]), "0.0"))
    assert text.count("</script>") == 2
    assert text.count("<script") == 2
    assert "<img" not in text


def test_the_id_of_a_snapshot_is_shown_to_its_last_digit(chrome: Browser, tmp_path: Path) -> None:
    table = replace(ordinary(1), format="iceberg", version=5219827700912178347)
    file = tmp_path / "snapshot.html"
    file.write_text(page(page_data(made([table, ordinary(2)]), "0.0")), encoding="utf-8")
    chrome.open(file)
    assert {"5219827700912178347", "2"} <= set(chrome.texts("#rows td"))


def test_hostile_names_are_shown_and_do_nothing(chrome: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(page(page_data(made([hostile(name) for name in HOSTILE]), "0.0")), encoding="utf-8")
    chrome.messages()
    chrome.open(file)
    chrome.run("document.querySelectorAll('.open').forEach(button => button.click())")
    assert sorted(firsts(chrome)) == sorted(HOSTILE)
    assert set(HOSTILE) <= {text.strip() for text in chrome.texts("#rows .given")}
    assert HOSTILE[0] in chrome.texts("#features .label")
    assert chrome.run("return window.hurt") is None
    assert chrome.run("return document.querySelectorAll('img, script[src], link, iframe').length") == 0
    assert chrome.messages() == []


def test_a_page_of_many_tables_is_quick_and_quiet(shown: Browser) -> None:
    assert count(shown) == f"{MANY:,} tables"
    assert len(firsts(shown)) == 100
    assert shown.messages() == []
    took = shown.run("const t = performance.now(); document.querySelector('[data-sort=bytes]').click(); return performance.now() - t")
    assert took < 3000
    assert shown.run("return performance.getEntriesByType('resource').length") == 0


def test_tables_are_searched_by_any_of_their_words(shown: Browser) -> None:
    shown.type("#text", "area3 table-00010")
    shown.run(PAUSE)
    assert firsts(shown) == ["area3/table-00010"]
    shown.click("#filters [type=reset]")
    shown.run(PAUSE)
    assert count(shown) == f"{MANY:,} tables"


def test_tables_are_sorted_by_a_column_both_ways_with_the_unknown_last(shown: Browser) -> None:
    sizes = "return [...document.querySelectorAll('#rows td[data-label=Files]')].map(cell => cell.textContent)"
    shown.click("[data-sort=files]")
    assert shown.run(sizes)[:2] == ["9,999", "9,998"]
    assert shown.run("return document.querySelector('[aria-sort]').textContent") == "Files"
    shown.click("[data-sort=files]")
    assert shown.run(sizes)[:2] == ["0", "1"]
    shown.type("#text", "table-0001")
    shown.run(PAUSE)
    for turn in ("down", "up"):
        shown.click("[data-sort=bytes]")
        told = shown.texts("#rows td[data-label=Size]")
        assert (all(told[:5]), any(told[5:])) == (True, False), turn


PAUSE = "return new Promise(done => setTimeout(done, 300))"


def test_tables_are_picked_by_feature_client_and_finding(shown: Browser) -> None:
    shown.choose("#feature", "columnMapping")
    assert count(shown) == f"1,000 of {MANY:,} tables"
    shown.choose("#feature", "")
    shown.choose("#severity", "2")
    assert count(shown) == f"100 of {MANY:,} tables"
    shown.choose("#severity", "")
    label = shown.texts("#clients .label")[0]
    shown.click("#clients li:first-child button")
    told = int(shown.texts("#clients .number")[0].split()[0].replace(",", ""))
    assert count(shown) == f"{told:,} of {MANY:,} tables" or told == MANY
    assert shown.run("return document.querySelector('#clients [aria-pressed=true] .label').textContent") == label


def test_a_row_tells_more_when_it_is_asked(shown: Browser) -> None:
    shown.click("#rows .open")
    assert shown.run("return document.querySelector('#rows .open').getAttribute('aria-expanded')") == "true"
    told = shown.texts("#rows .about")[0]
    assert "columnMapping: in use" in told
    assert "s3://bucket/lake/area0/table-00000" in told
    shown.click("#rows .open")
    assert shown.texts("#rows .about") == []


def test_the_page_is_light_or_dark_as_preferred_and_as_chosen(shown: Browser) -> None:
    theme = "return document.documentElement.dataset.theme"
    paper = "return getComputedStyle(document.body).backgroundColor"
    assert shown.run(theme) == "light"
    light = shown.run(paper)
    shown.prefer("dark")
    assert shown.run(theme) == "dark"
    assert shown.run(paper) != light
    shown.click("#theme")
    assert (shown.run(theme), shown.run(paper)) == ("light", light)
    shown.click("#theme")
    assert shown.run(theme) == "dark"
    shown.click("#theme")
    shown.prefer("light")
    assert shown.run(theme) == "light"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_they_stand_on(shown: Browser, scheme: str) -> None:
    """WCAG 2.1, 1.4.3: a contrast of 4.5 at least."""
    shown.prefer(scheme)
    assert shown.run(CONTRASTS) == []


CONTRASTS = """
const shade = text => text.match(/[\\d.]+/g).slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c) && c !== 'transparent') return c; } return 'rgb(255,255,255)'; };
const poor = new Set();
for (const e of document.querySelectorAll('h1, h2, p, dt, dd, label, .label, .number, .chip, .open span, td, #theme, .more, thead button')) {
  if (!e.textContent.trim() || !e.getClientRects().length) continue;
  const [a, b] = [shade(getComputedStyle(e).color), shade(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.add(`${e.tagName}.${e.className} ${getComputedStyle(e).color} on ${behind(e)}`);
}
return [...poor];
"""


@pytest.mark.parametrize("width", [360, 760, 1400])
def test_nothing_is_cut_off_at_any_width(shown: Browser, width: int) -> None:
    shown.resize(width, 800)
    assert shown.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_controls_have_names_and_the_keyboard_reaches_them(shown: Browser) -> None:
    nameless = "return [...document.querySelectorAll('button, input, select')].filter(e => !e.hidden && !(e.textContent.trim() || e.ariaLabel || (e.labels && e.labels.length))).map(e => e.outerHTML)"
    assert shown.run(nameless) == []
    assert shown.run("return [...document.querySelectorAll('button, input, select, a')].filter(e => e.tabIndex < 0).length") == 0
    assert shown.run("return document.querySelectorAll('h1').length") == 1
    assert shown.run("return document.documentElement.lang") == "en"

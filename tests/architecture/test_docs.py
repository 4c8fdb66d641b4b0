"""Do the documents' links lead somewhere?"""

import re
from functools import cache

import pytest

from tests.conftest import ROOT

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
PLACE = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(document):
    links = [link for link in LINK.findall(document.read_text()) if not ELSEWHERE.match(link)]
    broken = [link for link in links if not (document.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_heading_of_ours_finds_it(document):
    places = [place for place in PLACE.findall(document.read_text()) if not ELSEWHERE.match(place[0])]
    broken = [place for place in places if place[1] not in headings(document.parent / place[0] if place[0] else document)]
    assert not broken


@cache
def headings(document):
    """The names by which links find the headings of a document."""
    lines = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}

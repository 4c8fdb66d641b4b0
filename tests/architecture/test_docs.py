"""Do the documents' links lead somewhere?"""

import re

import pytest

from tests.conftest import ROOT

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
ELSEWHERE = re.compile(r"[a-z]+:")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(document):
    links = [link for link in LINK.findall(document.read_text()) if not ELSEWHERE.match(link)]
    broken = [link for link in links if not (document.parent / link).exists()]
    assert not broken

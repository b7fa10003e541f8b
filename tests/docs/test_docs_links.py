"""Pages that messages, docstrings and other pages send a reader to are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("file", sorted((ROOT / "src").rglob("*.py")), ids=lambda f: f.name)
def test_every_page_that_the_code_names_exists(file):
    for page in re.findall(r"docs/[\w/.-]+\.md", file.read_text(encoding="utf-8")):
        assert (ROOT / page).is_file(), f"{file.relative_to(ROOT)} sends a reader to {page}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_of_a_page_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
    for named in re.findall(r"`(docs/[\w/.-]+\.md)`", text):
        assert (ROOT / named).is_file(), f"{page.relative_to(ROOT)} names {named}"

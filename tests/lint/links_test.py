"""Every link in README and docs leads somewhere: its file exists, and so does the heading that it names."""

import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def anchors(document):
    """The names that code hosts and the site give headings: both drop punctuation and put a dash for a space."""
    headings = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M), re.M)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower())) for heading in headings}


def broken(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(document.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: os.path.relpath(path, ROOT))
def test_links_lead_somewhere(document):
    assert not list(broken(document))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: os.path.relpath(path, ROOT))
def test_headings_have_one_name_on_a_code_host_and_on_the_site(document):
    """The site puts one dash where a host puts several."""
    assert not [name for name in anchors(document) if "--" in name]


def named_files(text):
    """Paths in the repository that a page names, such as `tests/e2e/pages.py`."""
    folders = "apps|bench|cmake|docs|examples|packaging|proto|python|scripts|src|tests|web"
    return re.findall(rf"(?<![\w/.$-])((?:{folders})/[\w./-]*\w)(?![\w/*{{-])", text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: os.path.relpath(path, ROOT))
def test_files_that_are_named_exist(document):
    missing = [name for name in named_files(re.sub(r"\]\([^)]*\)", "", document.read_text())) if not (ROOT / name).exists()]
    assert not missing


def test_a_wrong_file_name_is_noticed():
    assert named_files("`python/tests/naval_test.py`, in tests/e2e; build/docs; a/tests/x") == ["python/tests/naval_test.py", "tests/e2e"]


def test_a_broken_link_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One: two\n[good](#one-two) [bad](#two) [lost](lost.md) `[code](x.md)`\n")
    assert list(broken(page)) == ["#two: no such heading", "lost.md: no such file"]

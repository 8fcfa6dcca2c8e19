"""The site of docs/: it is made without a network, has every page and a search, and loads nothing from elsewhere."""

import html
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("docs", str(ROOT / "scripts/docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(script, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    script.site(folder)
    return folder


def known_options():
    """Of each command, by docs/use/options.md, which e2e.readme holds equal to the program."""
    parts = re.findall(r"^## polykern (.+?)\n(.*?)(?=^## |\Z)", (DOCS / "use/options.md").read_text(), re.M | re.S)
    return {command: set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text)) for command, text in parts}


def shown_commands(text):
    """In `code`, indented lines and fences; a line that ends with a backslash continues."""
    text = re.sub(r"\\\n\s*", " ", text)
    text = re.sub(r"^```\w*\n(.*?)^```", lambda fence: re.sub("^", "    ", fence[1], flags=re.M), text, flags=re.S | re.M)
    lines = re.findall(r"^    (?:sudo |\$ )?((?:polykern(?:-agent)?|scripts/run) [a-z-].*)$", text, re.M)
    spans = re.findall(r"`(polykern [^`]+)`", re.sub(r"\s*\n\s*", " ", re.sub(r"^    .*$", "", text, flags=re.M)))
    return [re.sub(r"\s#\s.*", "", line) for line in lines + [span for span in spans if not re.fullmatch(r"polykern( [a-z]+)+( \d)?", span)]]


def unknown(text, options):
    """Commands and options in a page's text that the program does not have."""
    for line in shown_commands(text):
        line = re.sub(r"^polykern-agent", "polykern join", re.sub(r"^scripts/run", "polykern", line))
        words = re.split(r" (?:\||&&|;) ", re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", line))[0].split()[1:]
        command = next((name for name in (" ".join(words[:2]), words[0]) if name in options), None)
        if command:
            yield from (f"{line}: {word}" for word in words if re.match(r"--?[a-zA-Z]", word) and word.split("=")[0] not in options[command])
        elif not words[0].startswith("-"):
            yield line


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - {DOCS / "use/options.md"})], ids=lambda path: path.name)
def test_every_command_that_is_shown_exists_with_its_options(page):
    assert not list(unknown(page.read_text(), known_options()))


def test_a_wrong_option_is_noticed():
    page = "`polykern run --clients 3 --nonsense 4`, and\n\n    polykern pki isue x\n    polykern fly\n    scripts/run run -M 5 --fast\n"
    assert list(unknown(page, known_options())) == [
        "polykern pki isue x", "polykern fly", "polykern run -M 5 --fast: --fast", "polykern run --clients 3 --nonsense 4: --nonsense"]


def test_every_page_is_in_the_index(script):
    named = [page for part in script.navigation() for pages in part.values() for page in ([pages] if isinstance(pages, str) else pages)]
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_page_is_on_the_site_and_found_by_its_search(site):
    found = {entry["location"].split("#")[0] for entry in json.loads((site / "search/search_index.json").read_text())["docs"]}
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS).with_suffix(".html"))
        assert (site / name).exists() and name in found, name


def test_the_site_loads_nothing_from_elsewhere(site):
    for file in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)", file.read_text())
        assert not loaded, f"{file.name}: {loaded}"
    for file in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import) *[\"']?((?:https?:)?//[^\"')]+)", file.read_text()), file.name


def test_the_sites_links_lead_somewhere(site):
    for file in set(site.rglob("*.html")) - {site / "404.html"}:  # which any address may show
        for target, anchor in re.findall(r"<a [^>]*href=\"([^\":#]*)(?:#([^\"]*))?\"", file.read_text()):
            to = file.parent / target if target else file
            assert to.exists(), f"{file.name}: {target}"
            if anchor and to.suffix == ".html":
                assert f'id="{anchor}"' in to.read_text(), f"{file.name}: {target}#{anchor}"


@pytest.mark.parametrize("source", sorted((DOCS / "pictures").glob("*.dot")), ids=lambda path: path.name)
def test_a_picture_says_what_its_source_says(source):
    """Which fonts a machine has changes where words stand, not which words."""
    picture = re.sub(r"\s+", " ", html.unescape(source.with_suffix(".svg").read_text()))
    for label in re.findall(r'label="([^"]*)"', source.read_text()):
        for line in label.split("\\n"):
            assert f">{re.sub(' +', ' ', line.strip())}<" in picture.replace("> ", ">"), line


def test_pictures_are_small():
    assert not [file.name for file in (DOCS / "pictures").iterdir() if os.path.getsize(file) > 150_000]

"""The pages of docs/use/examples tell the truth: their commands print what they show."""

import os
import pathlib

import pytest
from pages import ROOT, Runner, blocks_of

PAGES = sorted((ROOT / "docs/use/examples").glob("*.md"))
DATA = os.environ.get("POLYKERN_DATA")


def run(page, folder, short):
    blocks = blocks_of(page)
    missing = {block.needs for block in blocks if block.needs and not (DATA and pathlib.Path(DATA, block.needs).exists())}
    if missing:
        pytest.skip(f"POLYKERN_DATA has no {', '.join(missing)}")
    reader = Runner(folder, DATA)
    try:
        for block in blocks:
            reader.run(block, short)
    finally:
        reader.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_examples_commands_work(page, tmp_path):
    run(page, tmp_path, short=True)


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- long" in page.read_text()], ids=lambda page: page.stem)
def test_an_example_prints_what_its_page_shows(page, tmp_path):
    run(page, tmp_path, short=False)


def test_every_example_has_its_picture_and_its_place_in_the_index():
    index = (ROOT / "docs/use/examples.md").read_text()
    assert len(PAGES) == 4
    for page in PAGES:
        assert f"](examples/{page.name})" in index
        assert f"]({page.stem}.png)" in page.read_text() and page.with_suffix(".png").exists()

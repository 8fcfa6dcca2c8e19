"""docs/start/tutorial.md tells the truth: every file, command and output of it, in its order."""

from pages import ROOT, Runner, alike, blocks_of, check

import pytest

PAGE = ROOT / "docs/start/tutorial.md"


def test_a_reader_gets_what_the_tutorial_shows(tmp_path):
    blocks = blocks_of(PAGE)
    assert sum(block.console for block in blocks) >= 10
    reader = Runner(tmp_path)
    try:
        for block in blocks:
            reader.run(block)
        assert not reader.terminals, "the tutorial leaves something running"
    finally:
        reader.close()


def test_every_block_of_commands_is_run():
    text = PAGE.read_text()
    assert "\n    polykern" not in text and "```sh" not in text and "```bash" not in text
    assert text.count("```console\n") == sum(block.console for block in blocks_of(PAGE))


@pytest.mark.parametrize("shown, printed, percent, same", [
    ("step 500", "step 500", None, True),
    ("step 500", "step 501", None, False),
    ("2026-11-18 20:34:01 UTC left", "2027-01-01 00:00:00 UTC left", None, True),
    ("off by 4.8 hours", "off by 5.0 hours", 10, True),
    ("off by 4.8 hours", "off by 5.8 hours", 10, False),
    ("off by 4.8 hours", "off by 4.8 days", 10, False),
    ("pof-gram     -  100   3.25 +- 0.00  0.928     17.43", "pof-gram     -  100   3.25 +- 0.00  0.928      9.10", None, True),
    ("pof-gram     -  100   3.25 +- 0.00  0.928     17.43", "pof-gram     -  100   3.26 +- 0.00  0.928     17.43", None, False),
])
def test_what_differs_is_noticed(shown, printed, percent, same):
    assert alike(shown, printed, percent) == same


def test_lines_may_be_left_out_where_the_page_says_so_and_nowhere_else():
    check(["a", "...", "d"], ["a", "b", "c", "d"])
    check(["b", "a"], ["a", "b"], any_order=True)
    for shown in (["a", "d"], ["a", "...", "c"], ["...", "e"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]):
        with pytest.raises(AssertionError):
            check(shown, ["a", "b", "c", "d"])

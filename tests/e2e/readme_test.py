"""README and the first pages tell the truth: their programs are the examples, their table is what the program prints."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def block_after(mark, page):
    text = (ROOT / page).read_text()
    return re.search(re.escape(mark) + r".*?```\w*\n(.*?)```", text, re.S).group(1)


def without_timing(text):
    return [re.sub(r"\s+[\d.]+$", "", line) if re.match(r"[a-z-]+ +[\d-]+ ", line) else line
            for line in text.strip().splitlines()]


def test_the_program_is_the_example():
    assert block_after("<!-- examples/quickstart.cc -->", "docs/use/cpp.md") == (ROOT / "examples/quickstart.cc").read_text()


def test_the_example_gives_the_programs_numbers(polykern, tmp_path):
    polykern(*"run -a pof-mkl -M 25 -r 1 --clients 40 --steps 500 --seed 0 --out out".split())
    curve = json.loads((tmp_path / "out/result.json").read_text())["runs"][0]["curves"]["mse"]
    out = subprocess.run([os.environ["POLYKERN_QUICKSTART"]], stdout=subprocess.PIPE, text=True, timeout=60).stdout
    assert out == f"squared error at the first step {curve[0]:.6g}, at the last {curve[-1]:.6g}\n"


def test_the_python_program_is_the_example():
    example = (ROOT / "examples/python/quickstart.py").read_text()
    assert example.split('"""\n\n', 1)[1] == block_after("<!-- examples/python/quickstart.py -->", "README.md")


@pytest.mark.long
def test_the_table_is_what_the_program_prints(polykern):
    shown = block_after("<!-- the output of: polykern run -->", "docs/start/first-run.md")
    assert without_timing(polykern("run", timeout=280).out) == without_timing(shown)


def test_every_source_that_documents_name_exists():
    """`net/wire`, with or without an ending, is below src/polykern."""
    folders = "|".join(path.name for path in (ROOT / "src/polykern").iterdir() if path.is_dir())
    missing = []
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(rf"(?<![\w/.-])((?:{folders})/[a-z0-9_/]+)(?:\.(?:h|cc))?(?![\w./])", document.read_text()):
            place = ROOT / "src/polykern" / name.rstrip("/")
            if not place.is_dir() and not list(place.parent.glob(place.name + ".*")):
                missing.append(f"{document.name}: {name}")
    assert not missing, "\n".join(missing)


def test_the_options_page_is_what_the_program_says():
    page = subprocess.run([ROOT / "scripts/docs", "--options", "--print", os.environ["POLYKERN"]], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert page == (ROOT / "docs/use/options.md").read_text(), "scripts/docs --options makes it anew"

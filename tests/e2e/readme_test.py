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


def claims():
    """README's `polykern run ..` in its claims, as lists of words."""
    text = re.sub(r"\s*\n\s*", " ", (ROOT / "README.md").read_text().split("## Two commands")[0])
    return [command.split()[1:] for command in re.findall(r"`(polykern run [^`]+)`", text)]


@pytest.mark.parametrize("words", claims(), ids=" ".join)
def test_the_commands_of_claims_run(polykern, words):
    """With few clients and steps, without data sets and a GPU."""
    words = " ".join(words)
    for long, short in [(r"--clients \d+", "--clients 4"), (r"--steps \d+", "--steps 40"), ("--device gpu", ""), ("--data naval", ""), ("-r 1", "")]:
        words = re.sub(long, short, words)
    more = [f"--{name} {value}" for name, value in (("clients", 4), ("steps", 40)) if f"--{name}" not in words]
    done = polykern(*words.split(), *" ".join(more).split(), "-r", "1", "--no-report")
    assert done.code == 0 and done.err == "", done.err
    for name in re.search("-a (\\S+)", words)[1].split(","):
        assert re.search(rf"^{name} ", done.out, re.M), done.out


def row_of(page, head):
    """The numbers of a table's row, without their spread."""
    row = re.search(rf"^\| {re.escape(head)} \|(.*)\|$", (ROOT / page).read_text(), re.M)[1]
    return [re.sub(r" \+- .*", "", cell.strip().strip("*")) for cell in row.split("|")]


def test_what_privacy_costs_is_what_was_measured():
    measured = "docs/understand/noise.md"
    assert row_of("README.md", "`-a pof-gram --epsilon 1`") == row_of(measured, "epsilon = 1")
    assert row_of("README.md", "`-a pof-gram --epsilon 8`") == row_of(measured, "epsilon = 8")
    assert row_of("README.md", "`-a pof-mkl -M 1`, not private") == row_of(measured, "pof-mkl, not private, M = 1")
    assert row_of("README.md", "`-a pof-gram`, no noise") == row_of("docs/understand/pof-gram.md", "the same, `--experts federated`")[:3]
    text = (ROOT / "README.md").read_text()
    private, alone = row_of(measured, "pof-gram"), row_of(measured, "local-rls")
    assert "pof-gram has {}, {} and {} at epsilon = 1".format(*private) in text
    assert "`-a local-rls`: {}, {}, {})".format(*alone) in text


@pytest.mark.long
@pytest.mark.skipif("POLYKERN_DATA" not in os.environ, reason="needs naval in POLYKERN_DATA")
def test_the_claim_about_noise_is_what_the_program_prints(polykern):
    (words,) = [words for words in claims() if "--epsilon" in words]
    out = polykern(*words, timeout=900, env={"POLYKERN_DATA": os.environ["POLYKERN_DATA"]}).out
    (gram,), (mkl,) = (re.findall(rf"^{name} .*? ([\d.]+ \+- [\d.]+)", out, re.M) for name in ("pof-gram", "pof-mkl"))
    measured = (ROOT / "docs/understand/noise.md").read_text()
    assert f"| epsilon = 1 | {gram} |" in measured and f"| pof-mkl, not private, M = 1 | {mkl} |" in measured


def test_the_commands_about_reports_work(polykern, tmp_path):
    """Of docs/use/report.md, but for the paper's tables."""
    small = ["-a", "local", "-r", "1", "--clients", "2", "--steps", "3"]
    lines = re.findall(r"^    polykern (.*?) *#", (ROOT / "docs/use/report.md").read_text(), re.M)
    assert polykern("run", *small, "--out", "A").code == 0
    ran = [line.split() for line in lines if "reproduce" not in line]
    for words in ran:
        done = polykern(*(word.replace("DIR", "B") for word in words), *(small if words[0] == "run" else []))
        assert done.code == 0, done.err
    assert [words[0] for words in ran] == ["run", "report", "report"]
    assert (tmp_path / "B/report.html").exists() and (tmp_path / "both.html").exists()


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

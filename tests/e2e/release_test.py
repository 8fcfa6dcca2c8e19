"""One version everywhere, and results of the first one are still shown."""

import json
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    return re.search(r"^project\(polykern VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def test_the_program_and_its_results_say_the_version(polykern, tmp_path):
    assert polykern("--version").out == f"polykern {version()}\n"
    assert polykern("run", "-a", "local", "-r", "1", "--clients", "2", "--steps", "3", "--no-report", "--out", "out").code == 0
    assert json.loads((tmp_path / "out/result.json").read_text())["polykern"] == version()


def test_changes_and_citation_are_of_this_version():
    assert re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version()
    assert f"\nversion: {version()}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_result_of_0_1_0_is_shown_beside_one_of_this_version(polykern, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(ROOT / "tests/report/result_19f2aeb.json", old / "result.json")
    assert json.loads((old / "result.json").read_text())["polykern"] == "0.1.0"
    polykern("run", "-a", "local", "-r", "1", "--clients", "2", "--steps", "3", "--no-report", "--out", "new")
    done = polykern("report", "old", "new", "--out", "both.html")
    assert done.code == 0, done.err
    assert (tmp_path / "both.html").stat().st_size > 50_000

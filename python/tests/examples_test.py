"""Examples, docstrings and the code of docs/use/python.md run as they stand."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["POLYKERN_ROOT"])
MODULES = ["polykern", "polykern._core", "polykern._algorithms", "polykern._data", "polykern._network", "polykern._regressor",
           "polykern._result", "polykern._simulation"]
RUN = []  # the examples that a test has run


def run(name, *arguments):
    RUN.append(name)
    done = subprocess.run([sys.executable, ROOT / "examples/python" / name, *arguments], capture_output=True, text=True,
                          timeout=250)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name == "polykern._regressor":
        pytest.importorskip("sklearn")
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried > 0 and failed == 0


def test_docs():
    failed, tried = doctest.testfile(str(ROOT / "docs/use/python.md"), module_relative=False,
                                     optionflags=doctest.ELLIPSIS)
    assert tried > 20 and failed == 0


def test_quickstart():
    out = run("quickstart.py")
    assert "1000 numbers up" in out and "squared error at the first step 0." in out


def test_compare_algorithms(tmp_path):
    pytest.importorskip("matplotlib")
    lines = run("compare_algorithms.py", str(tmp_path / "errors.png")).splitlines()
    assert len(lines) == 13 and lines[1].startswith("pof-newton")
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_own_stream():
    ways = [int(line.split(": ")[1].split(" W")[0]) for line in run("own_stream.py").splitlines()]
    assert len(ways) == 3 and max(ways) < 200, ways


def test_late_labels():
    first, fifth, ninth, waiting = run("late_labels.py").splitlines()
    errors = [float(line.split(": ")[1].split(" kWh")[0]) for line in (first, fifth, ninth)]
    assert errors[1] < 20 and errors[2] < 20 and errors[0] > errors[2]
    assert 3 <= int(waiting.split()[0]) < 18  # of 1 to 6 hours, one a building at least


def test_data_frames():
    pytest.importorskip("pandas")
    lines = run("data_frames.py").splitlines()
    assert [line.split(":")[0] for line in lines[1:4]] == ["north", "south", "west"]
    assert all(float(line.split(": ")[1].split()[0]) < 3 for line in lines[1:4])  # their noise is 1
    assert 85 <= int(lines[4].split()[0]) <= 95


def test_no_example_was_left_out():
    assert set(RUN) == {path.name for path in (ROOT / "examples/python").glob("*.py")}
    cells = {path.name: path.read_text().count("\n# %% ") for path in (ROOT / "examples/python").glob("*.py")}
    assert all(count >= 3 for name, count in cells.items() if name != "quickstart.py"), cells  # README shows that one whole

"""Examples, docstrings and the code of docs/python.md run as they stand."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["POLYKERN_ROOT"])
MODULES = ["polykern", "polykern._core", "polykern._algorithms", "polykern._data", "polykern._network", "polykern._regressor",
           "polykern._simulation"]


def run(name, *arguments):
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
    failed, tried = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False,
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

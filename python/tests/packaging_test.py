"""What pip, type checkers and the script for virtual environments rely on."""

import ast
import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

import polykern as pk

ROOT = pathlib.Path(os.environ["POLYKERN_ROOT"])
tomllib = pytest.importorskip("tomllib")


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"] and "version" not in project["project"]
    where = project["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(where["regex"], (ROOT / where["input"]).read_text())
    assert found["value"] == pk.__version__


def test_what_pip_is_told_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    build = project["tool"]["scikit-build"]
    assert (ROOT / project["project"]["readme"]).exists()
    for package in build["wheel"]["packages"]:
        assert (ROOT / package / "__init__.py").exists() and (ROOT / package / "py.typed").exists()
    cmake = (ROOT / "python/CMakeLists.txt").read_text()
    for component in build["install"]["components"]:
        assert f"COMPONENT {component} " in cmake
    for override in build["overrides"]:
        for target in override["build"]["targets"]:
            assert f"add_custom_target({target} " in cmake
    options = "".join((ROOT / file).read_text() for file in ("CMakeLists.txt", "web/CMakeLists.txt", "python/CMakeLists.txt"))
    for option in build["cmake"]["define"]:
        assert option == "BUILD_TESTING" or option in options


@pytest.mark.parametrize("name", ["polykern._core", "polykern_net._agent", "polykern_net._server"])
def test_the_stubs_name_exactly_what_the_module_has(name):
    module = importlib.import_module(name)
    tree = ast.parse((ROOT / f"python/{name.replace('.', '/')}.pyi").read_text())

    def names(body):
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                yield node.name
            elif isinstance(node, ast.AnnAssign):
                yield node.target.id

    assert set(names(tree.body)) == {n for n in vars(module) if not n.startswith("__")} | {"__version__"}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {n for n in vars(getattr(module, node.name)) if not n.startswith("_") or n in ("__call__", "__float__")}
            assert set(names(node.body)) - {"__init__"} == own, node.name


def test_everything_promised_is_there_and_documented():
    for name in pk.__all__:
        assert getattr(pk, name) is not None, name
    undocumented = [name for name in pk.__all__ if type(getattr(pk, name)) is type and not getattr(pk, name).__doc__]
    assert undocumented == []
    assert {cls._name for cls in pk.Algorithm.__subclasses__()} == set(pk.algorithm_names())
    with pytest.raises(AttributeError):
        pk.nothing


def test_importing_it_does_not_load_scikit_learn_or_matplotlib():
    code = "import sys, polykern; assert not {'sklearn', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_it_loads_nothing_of_the_network():
    code = "import sys, polykern; assert not [name for name in sys.modules if name.startswith('polykern_net')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def mypy(*arguments, tmp_path):
    environment = {**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(pk.__file__))}
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.environ.get("MYPY_CACHE", tmp_path),
                           *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path, env=environment)


def test_the_package_and_the_examples_pass_mypy_strict(tmp_path):
    pytest.importorskip("mypy")
    for checked in (["-p", "polykern", "-p", "polykern_net"], sorted((ROOT / "examples/python").glob("*.py"))):
        done = mypy(*checked, tmp_path=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    mistakes = ["pk.load('synthetic', stepz=3)", "pk.load('synthetic', scaling='long')", "pk.Agent(nam='a')", "result.mze",
                "result.fingerprint + 1", "pk.OnlineRegressor(kernels='many')", "pk.simulate(X, X)", "pk.PofMkl(8)",
                "pk.PofGram(bank)", "pk.PofMkl(bank, learning_rate='fast')", "pk.PofMkl(bank, ridge=1)"]
    lines = ["import numpy as np, polykern as pk", "X = np.zeros((2, 3, 4))", "bank = pk.KernelBank.rbf(4, 2, [1])",
             "result = pk.simulate(X, X[:, :, 0], pk.PofMkl(bank, learning_rate=0.1, kernels_per_upload=1))", *mistakes]
    (tmp_path / "visitor.py").write_text("\n".join(lines) + "\n")
    found = set(map(int, re.findall(r"^visitor.py:(\d+): error", mypy("visitor.py", tmp_path=tmp_path).stdout, re.MULTILINE)))
    assert found == set(range(5, 5 + len(mistakes)))


def test_the_regressor_needs_no_scikit_learn():
    code = ("import sys; sys.modules['sklearn'] = None; import copy, pickle, numpy as np, polykern as pk; "
            "model = pk.OnlineRegressor(kernels=3).set_params(features=20); X = np.random.default_rng(0).normal(size=(300, 2)); "
            "model.fit(X, X[:, 0]); assert model.score(X, X[:, 0]) > 0.9 and model.get_params()['features'] == 20; "
            "assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all(); assert 'kernels=3' in repr(model)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_ends_well_with_open_agents_and_servers():
    code = ("import polykern as pk; server = pk.Server('pof-mkl', dimension=2, target_range='none', kernels=3, features=3); "
            "agent = pk.Agent(server.address, name='a'); agent.predict([1, 2])")
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


def test_a_virtual_environment_finds_it(tmp_path):
    # What scripts/setup-python does after its build.
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env/bin/python"
    packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], check=True,
                              capture_output=True, text=True).stdout.strip()
    pathlib.Path(packages, "polykern.pth").write_text(os.path.dirname(os.path.dirname(pk.__file__)) + "\n")
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    out = subprocess.run([python, "-c", "import polykern; print(polykern.__version__)"], env=clean, check=True,
                         capture_output=True, text=True).stdout
    assert out.strip() == pk.__version__

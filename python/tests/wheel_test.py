"""The wheels, as who has no compiler, no sudo and no network installs them: in a virtual environment with Debian's NumPy.

Of this build, or, if POLYKERN_WHEELS names a folder, those of POLYKERN_WHEEL_VERSION there (scripts/package wheel).
"""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
NEEDS_NET = ("ImportError: agents, servers, exported models and certificates need polykern-net: pip install polykern_net-*.whl, "
             "from where polykern's wheel came")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The two wheels: polykern's, and polykern-net's."""
    folder, version = os.environ.get("POLYKERN_WHEELS"), os.environ.get("POLYKERN_WHEEL_VERSION", "0+test")
    if not folder:
        folder = tmp_path_factory.mktemp("wheels")
        modules = os.environ["PYTHONPATH"].split(":")[0]
        subprocess.run([sys.executable, ROOT / "packaging/wheel/make_wheels.py", modules, version, folder], check=True)
    folder = pathlib.Path(folder).resolve()  # pip works in the environment
    (one,) = folder.glob(f"polykern-{version}-{TAG}-{TAG}-*.whl")
    (net,) = folder.glob(f"polykern_net-{version}-{TAG}-{TAG}-*.whl")
    return one, net


def environment(folder, *arguments):
    subprocess.run(["/usr/bin/python3", "-m", "venv", *arguments, folder], check=True)
    return folder


def run(env, *command):
    """Nothing but the environment's own programs can be found: no compiler."""
    return subprocess.run([env / "bin" / command[0], *command[1:]], capture_output=True, text=True, cwd=env, timeout=120,
                          env={"PATH": str(env / "bin"), "HOME": str(env), "PYTHONDONTWRITEBYTECODE": "1"})


def python(env, code):
    done = run(env, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_line(env, code):
    done = run(env, "python", "-c", code)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def install(env, *wheels):
    done = run(env, "python", "-m", "pip", "install", "--no-index", "--quiet", *map(str, wheels))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def env(wheels, tmp_path_factory):
    """With polykern alone."""
    pytest.importorskip("numpy")
    env = environment(tmp_path_factory.mktemp("env"), "--system-site-packages")
    install(env, wheels[0])
    return env


def test_it_simulates_and_predicts(env):
    out = python(env, "import numpy as np, polykern as pk; assert pk.__file__.startswith(__import__('sys').prefix); "
                      "fleet = pk.load('synthetic', clients=10, steps=200); "
                      "result = pk.simulate(fleet.X, fleet.Y, pk.PofGram(dimension=8)); print(result.r2 > 0.5); "
                      "X = np.random.default_rng(0).normal(size=(500, 2)); y = np.sin(X[:, 0]) + X[:, 1]; "
                      "model = pk.OnlineRegressor().fit(X[:400], y[:400]); print(np.abs(model.predict(X[400:]) - y[400:]).max() < 0.3)")
    assert out == "True\nTrue\n"


def test_the_network_is_a_wheel_of_its_own(env, wheels, tmp_path):
    for call in ("Agent('127.0.0.1:1', name='a')", "Server(dimension=1, target_range=(0, 1))", "load_model('wind.model')",
                 "init_authority('pki')"):
        assert last_line(env, f"import polykern as pk; pk.{call}") == NEEDS_NET
    python(env, "from polykern import *")
    whole = environment(tmp_path / "whole", "--system-site-packages")
    install(whole, *wheels)
    out = python(whole, "import hashlib, ssl, polykern as pk\n"  # Python has an OpenSSL of its own, and may use both
                        "pk.init_authority('pki'); mill = pk.issue_certificate('pki', 'mill'); print(mill)\n"
                        "with pk.Server(dimension=2, target_range=(0, 1), certificates='pki') as server:\n"
                        "    with pk.Agent(server.address, mill) as agent:\n"
                        "        for n in range(20): prediction = agent.predict([0.1, 0.2]); agent.learn(0.3)\n"
                        "        print(abs(prediction - 0.3) < 0.1, agent.status()['learnt'])\n"
                        "ssl.create_default_context(); print(hashlib.new('sha256', b'').hexdigest()[:8])")
    assert out == "pki/clients/mill\nTrue 20\ne3b0c442\n"
    mixed = "import polykern_net._agent as net; net.__version__ = '9'; import polykern as pk; pk.Agent(name='a')"
    assert last_line(whole, mixed).endswith("but polykern-net 9: install both of the same version")
    removed = run(whole, "python", "-m", "pip", "uninstall", "--yes", "--quiet", "polykern", "polykern-net")
    assert removed.returncode == 0, removed.stderr
    assert list((whole / "lib").rglob("polykern*")) == []


def test_without_numpy_one_line_says_what_to_do(wheels, tmp_path):
    env = environment(tmp_path / "env")
    done = run(env, "python", "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", str(wheels[0]))
    assert done.returncode == 0, done.stderr
    assert last_line(env, "import polykern") == (
        "ImportError: polykern needs NumPy: apt install python3-numpy (which a virtual environment sees if it was made with "
        "--system-site-packages), or pip install numpy")


def test_another_python_is_told_which_one_it_must_be(env, wheels, tmp_path):
    """Also where it lacks NumPy: that would be got in vain."""
    other = tmp_path / wheels[0].name.replace(TAG, "cp39")
    other.write_bytes(wheels[0].read_bytes())
    refused = run(env, "python", "-m", "pip", "install", "--no-index", "--quiet", str(other))
    assert refused.returncode == 1
    assert refused.stderr.strip() == f"ERROR: {other.name} is not a supported wheel on this platform."
    # Put on the path of another Python, as by PYTHONPATH.
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(tmp_path)
    (module,) = (tmp_path / "polykern").glob("_core*.so")
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    words = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules['numpy'] = None; import polykern"
    module.rename(module.with_name(module.name.replace(f"-{TAG[2:]}-", "-39-")))
    assert last_line(env, words) == (f"ImportError: this polykern is built for Python 3.9, and this is Python {this}: use python3.9, "
                                     f"or a wheel whose name has {TAG}")
    (tmp_path / "polykern" / module.name.replace(f"-{TAG[2:]}-", "-39-")).unlink()
    assert last_line(env, words) == "ImportError: polykern is not compiled here: install its wheel, or run scripts/setup-python"


def test_a_library_that_is_missing_is_named(env):
    words = ("from polykern import _modules; import sys, types; sys.modules['polykern_net'] = types.ModuleType('polykern_net'); "
             "print(_modules._why('polykern_net', '_server', ImportError('libpq.so.5: cannot open shared object file: No such "
             "file or directory')))")
    assert python(env, words) == "polykern_net needs libpq.so.5, which is not installed; on Debian 12: apt install libpq5 libsqlite3-0\n"
    assert python(env, words.replace("libpq.so.5", "libssl.so.3")).endswith("not installed; on Debian 12: apt install libssl3\n")
    assert python(env, words.replace("libpq.so.5", "libodd.so.9")) == "polykern_net needs libodd.so.9, which is not installed; install it\n"


@pytest.mark.skipif("POLYKERN_WHEELS" not in os.environ, reason="of those that scripts/package made")
def test_polykerns_wheel_brings_all_that_it_needs(wheels, tmp_path):
    assert "-manylinux_" in wheels[0].name and "-linux_" in wheels[1].name
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path)
    for module in ("polykern/_core", "polykern_net/_agent"):
        (path,) = tmp_path.glob(f"{module}.*.so")
        libraries = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        outside = {line.split()[0] for line in libraries.splitlines() if str(tmp_path) not in line}
        outside = {name.rsplit("/", 1)[-1].split(".so")[0] for name in outside}
        assert outside <= {"linux-vdso", "libc", "libm", "libstdc++", "libgcc_s", "libz", "ld-linux-x86-64"}, module

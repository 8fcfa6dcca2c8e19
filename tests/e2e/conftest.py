"""Runs the real program. POLYKERN names it; ctest sets that."""

import os
import subprocess

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "long: run by scripts/test-long, not by scripts/test")


class Outcome:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr


@pytest.fixture
def polykern(tmp_path):
    """polykern("run", "--clients", "4") runs in an empty folder and gives code, out, err."""

    def run(*arguments, env=None, timeout=120, stdout=subprocess.PIPE, **options):
        environment = {k: v for k, v in os.environ.items() if k != "POLYKERN_DATA"}
        environment.update(env or {})
        return Outcome(
            subprocess.run(
                [os.environ["POLYKERN"], *map(str, arguments)],
                cwd=tmp_path, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True,
                timeout=timeout, **options,
            )
        )

    return run


@pytest.fixture
def federation(tmp_path):
    """federation("pof-mkl", steps=40) makes one; what still runs of it is killed in the end."""
    from federation import Federation  # needs more of the environment than other tests

    made = []

    def make(*arguments, **options):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Federation(folder, *arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def trial(federation):
    """A server on the loopback without certificates, and one agent after the other."""
    from federation import Trial

    return Trial(federation)


@pytest.fixture(scope="session")
def v1(tmp_path_factory):
    from raw_client import messages

    return messages(tmp_path_factory.mktemp("proto"))


@pytest.fixture
def raw(v1):
    """raw(federation, "station-0") connects a client that sends what it likes."""
    from raw_client import Raw

    made = []

    def connect(f, *arguments, **options):
        made.append(Raw(v1, f, *arguments, **options))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture
def left_behind(tmp_path):
    """left_behind("pof-mkl"): a federation that an older program left, not yet started, and what it must come to."""
    from upgrade import Federation, copy

    made = []

    def make(name):
        expected = copy(name, tmp_path / name)
        made.append(Federation(tmp_path / name, os.environ["POLYKERN"]))
        return made[-1], expected

    yield make
    for one in made:
        one.close()

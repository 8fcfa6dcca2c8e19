"""What the tests of the Python package share. ctest sets PYTHONPATH, POLYKERN and POLYKERN_ROOT."""

import os

import numpy as np
import pytest

import polykern as pk

# Of algorithms that have kernels of their own.
OWN_BANDWIDTHS = {"ofskl": [10], "fed-poe": [0.1, 1, 10]}


@pytest.fixture
def bank():
    return pk.KernelBank.rbf(dimension=3, features=4, bandwidths=[0.1, 1, 10, 100, 1000], seed=7)


@pytest.fixture
def samples():
    """X (60, 7, 3) and Y (60, 7), labels in [0, 1]."""
    chance = np.random.default_rng(5)
    X = chance.normal(size=(60, 7, 3)) / 2
    return X, 0.5 + 0.4 * np.sin(2 * X.sum(axis=2))


@pytest.fixture
def data_dir():
    folder = os.environ.get("POLYKERN_DATA")
    if not folder:
        pytest.skip("POLYKERN_DATA does not name the folder of the real data")
    return folder

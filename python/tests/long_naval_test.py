"""OnlineRegressor against scikit-learn's random features and SGD, on real data as one stream."""

import time

import numpy as np
import pytest

import polykern as pk

pytest.importorskip("sklearn")
from sklearn.kernel_approximation import RBFSampler  # noqa: E402
from sklearn.linear_model import SGDRegressor  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402


def prequential_sgd(X, y, gamma, rate):
    """scikit-learn's, with everything that can be done in one call done in one."""
    start = time.process_time()
    Z = RBFSampler(gamma=gamma, n_components=100, random_state=0).fit_transform(X)
    model = SGDRegressor(learning_rate="constant", eta0=rate, random_state=0)
    predictions = np.zeros(len(y))
    for i in range(len(y)):
        if i > 0:
            predictions[i] = model.predict(Z[i:i + 1])[0]
        model.partial_fit(Z[i:i + 1], y[i:i + 1])
    return ((predictions - y) ** 2).mean(), time.process_time() - start


def test_on_naval_it_beats_random_features_with_sgd(data_dir):
    data = pk.load("naval", data_dir)
    X = StandardScaler().fit_transform(np.asarray(data.x, dtype=float))  # SGD is given what a stream does not know
    y = np.asarray(data.y)
    part = slice(0, 1500)  # tuned on the first eighth, which says enough
    grid = [(gamma, rate) for gamma in (0.01, 0.03, 0.1, 0.3) for rate in (0.1, 0.3, 1.0)]
    best = min(grid, key=lambda g: prequential_sgd(X[part], y[part], *g)[0])
    mse, seconds = prequential_sgd(X, y, *best)
    start = time.process_time()
    predictions = pk.OnlineRegressor().predict_then_learn(data.x, data.y)
    own_seconds = time.process_time() - start
    own = ((predictions - y) ** 2).mean()
    print(f"Naval: SGD {best} {mse:.3e} in {seconds:.2f} s; OnlineRegressor {own:.3e} in {own_seconds:.2f} s")
    assert own < mse / 3
    assert own_seconds < seconds

"""The low-level calls against POF-MKL written down in NumPy, and `simulate` against both and the program."""

import json
import os
import subprocess

import numpy as np
import pytest
from conftest import OWN_BANDWIDTHS

import polykern as pk


class SlowPofMkl:
    """POF-MKL (docs/understand/algorithm.md), step by step, in double."""

    def __init__(self, rho, clients, M, eta, eta_k, xi, lam):
        self.rho = np.asarray(rho, dtype=float)
        self.N, self.D, _ = rho.shape
        self.M, self.eta, self.eta_k, self.xi, self.lam = M, eta, eta_k, xi, lam
        self.theta = np.zeros((self.N, 2 * self.D))
        self.log_w = np.zeros((clients, self.N))

    def weights(self, k):
        w = np.exp(self.log_w[k] - self.log_w[k].max())
        return w / w.sum()

    def predict(self, k, x):
        angle = self.rho @ np.asarray(x, dtype=float)  # (N, D)
        z = np.concatenate([np.sin(angle), np.cos(angle)], axis=1) / np.sqrt(self.D)
        f = (self.theta * z).sum(axis=1)
        return self.weights(k) @ f, f, z

    def choose(self, k, uniform):
        w = self.weights(k)
        # With xi = 1 the bins are the kernels in index order.
        order = np.arange(self.N) if self.xi == 1 else np.lexsort((np.arange(self.N), -self.log_w[k]))
        bins = [order[i:i + self.M] for i in range(0, self.N, self.M)]
        q = np.array([(1 - self.xi) * w[bin].sum() + self.xi / len(bins) for bin in bins])
        drawn = min(int(np.searchsorted(np.cumsum(q), uniform, side="right")), len(bins) - 1)
        return bins[drawn], q[drawn]

    def learn(self, k, f, z, y, uniform):
        bin, q = self.choose(k, uniform)  # before the weights change
        self.log_w[k] -= self.eta_k * ((f - y) ** 2 + self.lam * (self.theta ** 2).sum(axis=1))
        gradient = 2 * (f - y)[bin, None] * z[bin] + 2 * self.lam * self.theta[bin]
        return bin, self.eta / q * gradient, q

    def aggregate(self, sent):
        total = np.zeros_like(self.theta)
        for bin, steps in sent:
            total[bin] += steps
        self.theta = self.theta - total / len(sent)


def close(fast, slow, tolerance=1e-5, size=1e-3):
    """Relative to the largest number, or to the size of what it is a difference of."""
    fast, slow = np.asarray(fast, dtype=float), np.asarray(slow, dtype=float)
    assert fast.shape == slow.shape
    assert np.abs(fast - slow).max() <= tolerance * max(np.abs(slow).max(), size)


@pytest.mark.parametrize("N, D, M, xi", [(5, 8, 1, 1.0), (5, 8, 2, 1.0), (7, 6, 3, 0.3), (12, 10, 5, 0.5), (6, 4, 6, 1.0),
                                         (51, 20, 25, 0.2)])
def test_the_halves_agree_with_numpy(N, D, M, xi):
    chance = np.random.default_rng(N * 100 + M)
    d, clients, steps = 4, 3, 300
    rho = chance.normal(size=(N, D, d)).astype(np.float32)
    settings = dict(eta=0.1 if M > 1 else 0.03, eta_k=0.2, xi=xi, lam=1e-3)
    slow = SlowPofMkl(rho, clients, M, **settings)
    algorithm = pk.PofMkl(pk.KernelBank.from_vectors(rho), kernels_per_upload=M, learning_rate=settings["eta"],
                          weight_rate=0.2, exploration=xi, regularization=1e-3)
    server, fleet = algorithm.server(), [algorithm.client(k) for k in range(clients)]
    for t in range(steps):
        model = server.broadcast()
        updates, sent = [], []
        for k, client in enumerate(fleet):
            x = chance.uniform(-1, 1, size=d).astype(np.float32)
            y = float(0.5 + 0.3 * np.sin(3 * x[0] + k) + 0.1 * x[1])
            # Away from the edges of the bins: on an edge the last bit decides.
            for uniform in chance.uniform(size=50):
                around = {tuple(slow.choose(k, u)[0]) for u in (max(0, uniform - 1e-4), uniform, uniform + 1e-4)}
                if len(around) == 1:
                    break
            client.receive(model)
            p = client.predict(x)
            value, f, z = slow.predict(k, x)
            close([p.value], [value])
            close(p.per_kernel, f)
            u = client.learn(y, uniform=uniform)
            bin, steps_sent, q = slow.learn(k, f, z, y, uniform)
            assert list(u.kernels) == list(bin), (t, k)
            assert abs(u.probability - q) < 1e-6
            assert u.client == k and u.step == t
            close(u.steps, steps_sent, size=2 * settings["eta"] / q * y)  # of f - y, both about y
            close(client.weights, slow.weights(k))
            updates.append(u)
            sent.append((bin, steps_sent))
        server.aggregate(updates)
        slow.aggregate(sent)
        close(server.theta, slow.theta)
    assert np.abs(slow.theta).max() > 0.01


@pytest.mark.parametrize("M, xi", [(1, 1.0), (2, 0.4), (5, 1.0)])
def test_simulate_agrees_with_numpy_for_fixed_draws(M, xi, samples):
    X, Y = samples
    T, K, d = X.shape
    chance = np.random.default_rng(3)
    rho = chance.normal(size=(5, 6, d))
    uniforms = chance.uniform(size=(T, K))
    algorithm = pk.PofMkl(pk.KernelBank.from_vectors(rho), kernels_per_upload=M, learning_rate=0.05, weight_rate=0.3,
                          exploration=xi, regularization=0)
    result = pk.simulate(X, Y, algorithm, uniforms=uniforms)
    slow = SlowPofMkl(rho.astype(np.float32), K, M, 0.05, 0.3, xi, 0)
    predictions = np.zeros((T, K))
    own, kernels = np.zeros(K), np.zeros((K, 5))
    for t in range(T):
        sent = []
        for k in range(K):
            predictions[t, k], f, z = slow.predict(k, X[t, k].astype(np.float32))
            own[k] += (predictions[t, k] - Y[t, k]) ** 2
            kernels[k] += (f - Y[t, k]) ** 2
            sent.append(slow.learn(k, f, z, Y[t, k], uniforms[t, k])[:2])
        slow.aggregate(sent)
    close(result.predictions, predictions)
    close([result.mse], [((predictions - Y) ** 2).mean()])
    close(result.regret, own - kernels.min(axis=1), 1e-4)


@pytest.mark.parametrize("name", pk.algorithm_names())
def test_simulate_and_the_halves_give_the_same_bits(name, samples):
    X, Y = samples
    bank = pk.KernelBank.rbf(dimension=3, features=4, bandwidths=OWN_BANDWIDTHS.get(name, [0.1, 1, 10, 100]), seed=2)
    # The same seed for both, which draw from it; a T for both.
    algorithm = pk.make_algorithm(name, 3 if name in ("pof-gram", "perfedavg") else bank, horizon=60, seed=9)
    result = pk.simulate(X, Y, algorithm, seed=9)
    server, clients = algorithm.server(), [algorithm.client(k) for k in range(7)]
    for t in range(60):
        for client in clients:
            client.receive(server.broadcast())
        values = [client.predict(X[t, k]).value for k, client in enumerate(clients)]
        assert values == list(result.predictions[t]), t
        server.aggregate([client.learn(Y[t, k]) for k, client in enumerate(clients)])
    assert result.uplink_numbers <= algorithm.uplink_numbers


def test_a_server_that_knows_how_many_clients_there_are_has_the_simulators_bits():
    data = pk.load("synthetic", clients=40, steps=20, seed=3)  # so many that there is a turn in the first step
    algorithm = pk.PofGram(8, horizon=20, seed=3)
    result = pk.simulate(data.X, data.Y, algorithm, seed=3)
    server, clients = algorithm.server(clients=40), [algorithm.client(k) for k in range(40)]
    for t in range(20):
        for client in clients:
            client.receive(server.broadcast())
        assert [client.predict(data.X[t, k]).value for k, client in enumerate(clients)] == list(result.predictions[t]), t
        server.aggregate([client.learn(data.Y[t, k]) for k, client in enumerate(clients)])


def run_program(tmp_path, *arguments):
    subprocess.run([os.environ["POLYKERN"], "run", "--repetitions", "1", "--out", str(tmp_path), *map(str, arguments)],
                   check=True, stdout=subprocess.DEVNULL)
    return json.loads((tmp_path / "result.json").read_text())["runs"]


ROWS = {
    "pof-mkl": (51, 20, dict(kernels_per_upload=25)), "pof-newton": (51, 20, dict(kernels_per_upload=25)),
    "pof-adagrad": (51, 20, dict(kernels_per_upload=25)), "ofskl": (1, 100, {}), "ofmkl-avg": (51, 9, {}),
    "vm-kofl": (51, 9, {}), "em-kofl": (51, 100, {}), "fomd-oms": (51, 100, {}), "fed-poe": (3, 100, {}),
    "perfedavg": (0, 0, {}), "local": (51, 100, {}), "local-rls": (51, 17, {}), "pof-gram": (0, 0, {}),
}


@pytest.mark.parametrize("name", pk.algorithm_names())
def test_simulate_gives_the_bits_of_the_program(name, tmp_path):
    kernels, features, settings = ROWS[name]
    more = ["-M", settings["kernels_per_upload"]] if settings else []
    expected = run_program(tmp_path, "--algorithm", name, "--clients", 20, "--steps", 40, "--seed", 4, *more)[0]
    data = pk.load("synthetic", clients=20, steps=40, seed=4)
    if name in ("pof-gram", "perfedavg"):
        algorithm = pk.make_algorithm(name, 8)
    else:
        sigmas = OWN_BANDWIDTHS.get(name, pk.paper_bandwidths())
        algorithm = pk.make_algorithm(name, pk.KernelBank.rbf(8, features, sigmas, seed=4), **settings)
        assert len(sigmas) == kernels
    result = pk.simulate(data.X, data.Y, algorithm, seed=4)
    assert result.fingerprint == expected["fingerprint"]
    assert result.mse == expected["mse"]
    ours = result.to_dict()["runs"][0]
    if expected["client_scores"] is not None:
        expected["client_scores"].pop("sites")  # arrays have none
    for field in expected:
        if field not in ("seconds", "microseconds_per_sample", "client_weights", "options"):
            assert ours[field] == expected[field], field


def test_simulate_gives_the_bits_of_the_program_on_real_data(tmp_path, data_dir):
    expected = run_program(tmp_path, "--data", "naval", "--data-dir", data_dir, "--algorithm", "pof-mkl", "-M", 1, "--seed",
                           2)[0]
    data = pk.load("naval", data_dir, seed=2)
    bank = pk.KernelBank.rbf(15, 100, pk.paper_bandwidths(), seed=2)
    assert pk.simulate(data.X, data.Y, pk.PofMkl(bank), seed=2).fingerprint == expected["fingerprint"]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_memory_layouts_do_not_change_a_bit(threads):
    chance = np.random.default_rng(8)
    X = chance.normal(size=(30, 150, 3)).astype(np.float32)
    Y = chance.uniform(size=(30, 150)).astype(np.float32)
    algorithm = pk.PofMkl(pk.KernelBank.rbf(3, 5, [1, 10]))
    expected = pk.simulate(X, Y, algorithm, threads=1).fingerprint
    wide = np.zeros((60, 151, 7))
    wide[::2, 1:, ::3] = X
    doubled = np.zeros((30, 300))
    doubled[:, ::-2] = Y
    unaligned = np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(X.shape)
    for x in (X, X.astype(float), np.asfortranarray(X), wide[::2, 1:, ::3], X[::-1].copy()[::-1], X.tolist(),
              X.astype(">f4"), unaligned):
        for y in (Y, Y.astype(float), np.asfortranarray(Y), doubled[:, ::-2]):
            assert pk.simulate(x, y, algorithm, threads=threads).fingerprint == expected

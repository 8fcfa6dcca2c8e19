"""What users see of the package: kernels, messages, results, data."""

import dataclasses
import inspect
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import OWN_BANDWIDTHS

import polykern as pk


@pytest.mark.parametrize("kind", ["gaussian", "laplacian", "matern12", "matern32", "matern52", "cauchy", "rational-quadratic"])
def test_the_features_of_every_kernel_approach_it(kind):
    kernel = pk.Kernel(kind, length=1.5, shape=2.0)
    bank = pk.KernelBank([kernel], dimension=3, features=20_000, seed=1)
    points = np.array([[0, 0, 0], [0.5, 0, 0], [0.3, -0.7, 0.2], [1, 1, -1]])
    z = bank.transform(points)[:, 0]
    assert z.shape == (4, 40_000)
    exact = [[kernel(a, b) for b in points] for a in points]
    # The mean of 20,000 cosines has a deviation of at most 0.007.
    assert np.abs(z @ z.T - exact).max() < 0.03
    assert np.allclose(np.linalg.norm(z, axis=1), 1, atol=1e-5)


def test_banks(bank):
    assert (bank.kernels, bank.features, bank.dimension) == (5, 4, 3)
    rho = bank.frequencies
    assert rho.shape == (5, 4, 3) and rho.dtype == np.float32
    assert (pk.KernelBank.from_vectors(rho).frequencies == rho).all()
    assert (pk.KernelBank.from_vectors(np.asfortranarray(rho.astype(float))).frequencies == rho).all()
    for one in (bank, pk.KernelBank.from_vectors(rho), pk.KernelBank.dictionary("matern52", 3, 4, 6, seed=3),
                pk.KernelBank.rbf(3, 4, [1, 2], draw="shared")):
        again = pickle.loads(pickle.dumps(one))
        assert (again.frequencies == one.frequencies).all() and repr(again) == repr(one)
    # rho ~ N(0, I / sigma), so bandwidths are squared lengths.
    wide = pk.KernelBank.rbf(2, 50_000, [0.25, 4])
    assert np.allclose(wide.frequencies.std(axis=(1, 2)), [2, 0.5], rtol=0.02)
    assert np.allclose(pk.paper_bandwidths(), 10 ** ((2 * np.arange(1, 52) - 52) / 25), rtol=1e-6)
    assert pk.dictionary("mixed", 4)[1].kind == "matern32"
    assert len(pk.dictionary()) == 51 and "cauchy" in pk.dictionary_names()
    assert pk.Kernel("cauchy", 2) == pickle.loads(pickle.dumps(pk.Kernel("cauchy", 2)))


@pytest.mark.parametrize("name", pk.algorithm_names())
def test_everything_can_be_pickled_in_the_middle(name, samples):
    X, Y = samples
    bank = pk.KernelBank.rbf(3, 4, OWN_BANDWIDTHS.get(name, [0.1, 1, 10, 100]), seed=2)
    over = 3 if name in ("pof-gram", "perfedavg") else bank
    algorithm = pickle.loads(pickle.dumps(pk.make_algorithm(name, over, horizon=60, seed=5)))
    assert algorithm.name == name and type(algorithm).__name__ in repr(algorithm)
    server, clients = algorithm.server(), [algorithm.client(k) for k in range(7)]
    values = []
    for t in range(60):
        if t == 25:
            server, clients = pickle.loads(pickle.dumps((server, clients)))
        model = pickle.loads(pickle.dumps(server.broadcast()))
        for client in clients:
            client.receive(model)
        values.append([client.predict(X[t, k]).value for k, client in enumerate(clients)])
        server.aggregate(pickle.loads(pickle.dumps([client.learn(Y[t, k]) for k, client in enumerate(clients)])))
    assert (np.array(values) == pk.simulate(X, Y, algorithm, seed=5).predictions).all()


def test_the_parts_of_a_round(bank):
    algorithm = pk.PofMkl(bank, kernels_per_upload=2, learning_rate=0.1, weight_rate=0.1)
    assert algorithm.kernels_per_upload == 2 and algorithm.uplink_numbers == 16
    assert algorithm.settings["learning_rate"] == 0.1 and algorithm.bank.kernels == 5
    server, client = algorithm.server(), algorithm.client(3)
    assert client.id == 3 and client.learnt == 0 and server.step == 0
    assert (client.weights == 0.2).all()
    client.receive(server.broadcast())
    assert float(client.predict(np.array([1, 2, 3]))) == 0.0
    update = client.learn(np.float32(0.5))
    assert update.client == 3 and update.numbers == 16 and update.losses.shape == (0,)
    server.aggregate([update])
    assert server.step == 1 and np.count_nonzero(server.theta.any(axis=1)) == 2
    server.aggregate([])
    assert server.step == 2 and server.broadcast().weights is None
    server = pk.VmKofl(bank, horizon=5).server()
    assert np.allclose(server.broadcast().weights, 0.2)
    assert pk.PofNewton(bank).client(0).weights.shape == (5,)
    assert pk.OfmklAvg(bank).client(0).weights is None
    assert pk.PofMkl(bank, schedule="anytime", loss="logistic").client(0).weights.shape == (5,)


def test_options_come_from_the_declarations(bank):
    parameters = inspect.signature(pk.PofNewton).parameters
    assert list(parameters)[0] == "bank" and parameters["ridge"].default == 1e-4 and "learning_rate" not in parameters
    assert "ridge: ridge of the regressions" in pk.PofNewton.__doc__
    assert "kernels" not in parameters  # the bank's
    assert pk.PofNewton(bank, forgetting="auto").client(0).weights.shape == (5,)
    for wrong in (0, "fast"):
        with pytest.raises(ValueError, match="forgetting: '.*' is neither auto nor a number above 0"):
            pk.PofNewton(bank, forgetting=wrong)
    with pytest.raises(TypeError, match="PofNewton: got an unexpected keyword argument 'learning_rate'"):
        pk.PofNewton(bank, learning_rate=0.1)
    with pytest.raises(TypeError, match="make_algorithm"):
        pk.Algorithm(bank)

    class Mine(pk.PofMkl):
        pass

    assert Mine(bank, kernels_per_upload=2).uplink_numbers == 16
    done = subprocess.run([sys.executable, "-OO", "-c", "import polykern"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_experts_by_their_former_name(bank):
    alone = pk.PofNewton(bank, experts="federated")
    assert pk.PofNewton(bank, local_experts=False).client().weights.shape == alone.client().weights.shape
    with pytest.raises(TypeError, match="give one of them"):
        pk.PofNewton(bank, local_experts=False, experts="federated")
    with pytest.raises(TypeError, match="local_experts"):
        pk.PofMkl(bank, local_experts=False)
    with pytest.raises(TypeError, match="True or False"):
        pk.PofNewton(bank, local_experts="no")


def test_results(bank, samples, tmp_path):
    X, Y = samples
    result = pk.simulate(X, Y, pk.PofMkl(bank, kernels_per_upload=2), seed=3)
    assert result.mse == pytest.approx(((result.predictions - Y) ** 2).mean(), rel=1e-12)
    assert result.step_mse.shape == result.step_regret.shape == (60,)
    assert result.regret_bound > 0 and result.uplink_numbers == 16 and result.divergence is None
    assert result.step_regret[-1] == pytest.approx(result.regret.mean())
    as_dict = result.to_dict()
    assert as_dict == json.loads(result.to_json())
    assert as_dict["polykern"] == pk.__version__ and as_dict["runs"][0]["fingerprint"] == result.fingerprint
    assert "<table>" in result._repr_html_() and "pof-mkl" in repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert (again.predictions == result.predictions).all() and again.to_json() == result.to_json()
    assert np.isnan(pk.simulate(X, Y, pk.PerFedAvg(3)).regret).all()


def test_a_result_has_what_result_json_has_as_declared(bank, samples):
    X, Y = samples
    declared = {field.name: field.type for field in dataclasses.fields(pk.Result)}
    for algorithm, settings in [(pk.PofMkl(bank), {}), (pk.PerFedAvg(3), {}), (pk.PofGram(3, epsilon=1), {"coverage": 0.9})]:
        result = pk.simulate(X, Y, algorithm, **settings)
        (run,) = result.to_dict()["runs"]
        plain = {name for name, value in run.items() if not isinstance(value, (dict, list))}
        assert plain - {"client_scores", "client_weights", "client_regret", "client_coverage"} <= set(declared)
        for name in plain & set(declared) - {"seconds"}:
            assert getattr(result, name) == pytest.approx(run[name], nan_ok=True), name
            kind = type(getattr(result, name)).__name__
            assert declared[name] in (kind, f"Optional[{kind}]") or (kind == "NoneType" and "Optional" in declared[name]), name
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.mse = 0


def test_a_result_as_a_data_frame(bank, samples, monkeypatch):
    pandas = pytest.importorskip("pandas")
    X, Y = samples
    there = np.random.default_rng(1).uniform(size=Y.shape) < 0.7
    result = pk.simulate(X, Y, pk.PofMkl(bank), present=there, coverage=0.9)
    frame = result.to_frame()
    assert list(frame.columns) == ["prediction", "low", "high"] and frame.index.names == ["step", "client"]
    assert len(frame) == there.sum()
    for (t, k), row in frame.iterrows():
        assert row["prediction"] == result.predictions[t, k]
        assert np.array_equal(row[["low", "high"]], result.intervals[t, k], equal_nan=True)
    steps = result.to_frame("steps")
    assert (steps["mse"].dropna() == result.step_mse[~np.isnan(result.step_mse)]).all() and len(steps) == 60
    assert steps["regret"].iloc[-1] == result.step_regret[-1]
    assert (result.to_frame("clients")["regret"] == result.regret).all()
    without = pk.simulate(X, Y, pk.PerFedAvg(3))
    assert list(without.to_frame().columns) == ["prediction"] and without.to_frame("steps")["regret"].isna().all()
    assert isinstance(frame, pandas.DataFrame)
    with pytest.raises(ValueError, match="it must be predictions, steps or clients"):
        result.to_frame("rows")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="^to_frame needs pandas: apt install python3-pandas, or pip install pandas$"):
        result.to_frame()


def test_plots(bank, samples, monkeypatch):
    X, Y = samples
    result = pk.simulate(X, Y, pk.PofMkl(bank))
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = result.plot()
    assert len(axes[0].lines) == len(axes[1].lines) == 1
    assert pk.simulate(X, Y, pk.PerFedAvg(3)).plot(axes) is axes
    assert len(axes[0].lines) == 2 and len(axes[1].lines) == 1
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot needs matplotlib"):
        result.plot()


def test_clients_that_are_not_always_there(bank, samples):
    X, Y = samples
    algorithm = pk.PofMkl(bank)
    there = np.random.default_rng(1).uniform(size=Y.shape) < 0.7
    result = pk.simulate(X, Y, algorithm, present=there)
    assert (np.isnan(result.predictions) == ~there).all()
    some = pk.simulate(X, Y, algorithm, participation=0.5, seed=2).predictions
    assert 0.3 < np.isnan(some).mean() < 0.7
    with pytest.raises(ValueError, match="participation is 0; it must lie in"):
        pk.simulate(X, Y, algorithm, participation=0)
    with pytest.raises(ValueError, match="no client took part"):
        pk.simulate(X, Y, algorithm, present=np.zeros(Y.shape, dtype=bool))
    with pytest.raises(TypeError, match="True and False"):
        pk.simulate(X, Y, algorithm, present=Y)


def test_data(tmp_path):
    rows = "\n".join(f"{i},{i % 7},{'ab'[i % 2]},{i * 0.5}" for i in range(40))
    (tmp_path / "my.csv").write_text("n,k,place,y\n" + rows + "\n")
    data = pk.load(tmp_path / "my.csv", target="y", site="place", split="site", clients=4, scaling="range")
    assert data.X.shape[1:] == (4, 2) and data.Y.shape == data.present.shape == data.X.shape[:2]
    assert data.x.shape == (40, 2) and data.y.shape == (40,) and data.inputs == ["n", "k"] and data.target == "y"
    assert data.site_names == ["a", "b"] and len(data.sites) == 4
    assert data.y.min() == 0 and data.y.max() == 1 and not data.x.flags.writeable
    with pytest.raises(ValueError, match="target"):
        pk.load(tmp_path / "my.csv")
    ordered = pk.load(tmp_path / "my.csv", target="y", site="place", time="n", lags=[1, 2], scaling="range")
    assert ordered.X.shape == (40, 2, 3) and ordered.inputs == ["k", "y.lag1", "y.lag2"]
    assert (ordered.present.sum(axis=1) == 1).all() and (np.diff(ordered.Y[::2, 0]) > 0).all()
    assert np.allclose(ordered.X[2::2, 0, 1], 2 * ordered.Y[:-2:2, 0] - 1)
    with pytest.raises(ValueError, match="calendar needs dates"):
        pk.load(tmp_path / "my.csv", target="y", time="n", calendar="hour")
    assert pk.load("synthetic").x is None


def test_load_has_every_option_of_run_that_says_what_the_data_are():
    help = subprocess.run([os.environ["POLYKERN"], "run", "--help"], check=True, capture_output=True, text=True).stdout
    group = re.search(r"^Data:\n(.*?)^\S", help, re.MULTILINE | re.DOTALL)[1]
    options = {name.replace("-", "_") for name in re.findall(r"^  (?:-\w,)?--([a-z-]+)", group, re.MULTILINE)}
    assert {"data", "target", "major_share"} <= options
    assert options | {"seed"} == {{"ranges": "range"}.get(name, name) for name in inspect.signature(pk.load).parameters}
    alike = pk.load("synthetic", steps=30, seed=2, noise=0.1, drift=1.0, dimension=3, clients=5)
    assert alike.X.shape == (30, 5, 3)


def test_load_deals_rows_as_run_does(tmp_path):
    rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{np.sin(i)}" for i in range(80))
    (tmp_path / "my.csv").write_text("k,place,y\n" + rows + "\n")
    prints = []
    for share in (0.5, 0.9):
        data = pk.load(tmp_path / "my.csv", target="y", site="place", split="site", clients=4, major_share=share)
        prints.append(pk.simulate(data.X, data.Y, pk.PofGram(data.X.shape[2])).fingerprint)
        subprocess.run([os.environ["POLYKERN"], "run", "--data", "my.csv", "--target", "y", "--site", "place", "--split", "site",
                        "--clients", "4", "--major-share", str(share), "-a", "pof-gram", "-r", "1", "--out", "out"], check=True,
                       capture_output=True, cwd=tmp_path)
        (run,) = json.loads((tmp_path / "out/result.json").read_text())["runs"]
        assert run["fingerprint"] == prints[-1]
    assert prints[0] != prints[1]


def test_load_finds_recipes_where_the_program_does(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYKERN_DATA", str(tmp_path / "there"))
    with pytest.raises(ValueError, match=str(tmp_path / "there")):
        pk.load("naval")
    with pytest.raises(ValueError, match=str(tmp_path / "here")):
        pk.load("naval", tmp_path / "here")


def test_real_data(data_dir):
    naval = pk.load("naval", data_dir)
    assert naval.X.shape == (500, 23, 15) and naval.x.shape == (11934, 15) and naval.present.all()

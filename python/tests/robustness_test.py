"""Nothing that a user does wrong crashes; every mistake is told in words."""

import gc
import math
import os
import pickle
import threading
import time

import numpy as np
import pytest

import polykern as pk


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def pair(bank, **settings):
    algorithm = pk.PofMkl(bank, learning_rate=0.1, weight_rate=0.1, **settings)
    server, client = algorithm.server(), algorithm.client(0)
    client.receive(server.broadcast())
    return server, client


def test_shapes_are_named(bank, samples):
    X, Y = samples
    algorithm = pk.PofMkl(bank)
    for call, words in [
        (lambda: pk.simulate(X[0], Y, algorithm), r"X has the shape \(7, 3\), but it must be \(T, K, 3\)"),
        (lambda: pk.simulate(X[:, :, :2], Y, algorithm), r"X has the shape \(60, 7, 2\), but it must be \(T, K, 3\)"),
        (lambda: pk.simulate(X, Y[:, :6], algorithm),
         r"Y has the shape \(60, 6\), but it must be \(60, 7\), as X has the shape \(60, 7, 3\)"),
        (lambda: pk.simulate(X, Y, algorithm, uniforms=Y[:5]), r"uniforms has the shape \(5, 7\).*\(60, 7\)"),
        (lambda: pk.simulate(X, Y, algorithm, present=Y[:5] > 0), r"present has the shape \(5, 7\).*\(60, 7\)"),
        (lambda: pk.simulate(X[:0], Y[:0], algorithm), r"\(0, 7, 3\): there is nothing"),
        (lambda: pk.KernelBank.from_vectors(X[0]), r"rho has the shape \(7, 3\), but it must be \(N, D, d\)"),
        (lambda: pk.KernelBank.from_vectors(np.zeros((2, 0, 3))), r"rho has the shape \(2, 0, 3\)"),
        (lambda: bank.transform(np.zeros((4, 2))), r"X has the shape \(4, 2\), but it must be \(n, 3\)"),
        (lambda: pk.Kernel()([1, 2], [1]), r"x has the shape \(2,\), y \(1,\)"),
        (lambda: pair(bank)[1].predict([1, 2]), r"x has the shape \(2,\), but it must be \(3,\)"),
        (lambda: pair(bank)[1].predict([[1, 2, 3]]), r"x has the shape \(1, 3\), but it must be \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_what_is_not_a_number_is_a_type_error(bank, samples):
    X, Y = samples
    algorithm = pk.PofMkl(bank)
    for bad in ("text", b"bytes", None, {"a": 1}, object(), X + 0j, X.astype(str), np.array([["a", {}, 3]], dtype=object),
                X.astype("datetime64[s]")):
        with pytest.raises((TypeError,)):
            pk.simulate(bad, Y, algorithm)
    for bad in ("text", None, [], {}, object(), 1j, [1, "a", 3]):
        with pytest.raises((TypeError, ValueError)):
            pair(bank)[1].predict(bad)
    _, client = pair(bank)
    client.predict([1, 2, 3])
    for bad in ("1", None, {}, object(), 1j):
        with pytest.raises(TypeError):
            client.learn(bad)
    with pytest.raises(TypeError, match="algorithm must be an Algorithm"):
        pk.simulate(X, Y, bank)
    with pytest.raises(TypeError, match="aggregate takes updates"):
        pair(bank)[0].aggregate([1])
    with pytest.raises(TypeError):
        pair(bank)[0].aggregate(3)
    with pytest.raises(TypeError):
        pk.PofMkl("bank")
    with pytest.raises(TypeError):
        pk.PofMkl(None)
    for wrong in (dict(kernels_per_upload=1.5), dict(kernels_per_upload="1"), dict(learning_rate="fast"),
                  dict(loss=3), dict(nonsense=1)):
        with pytest.raises(TypeError):
            pk.PofMkl(bank, **wrong)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(bad, bank, samples):
    X, Y = samples
    algorithm = pk.PofMkl(bank)
    for dtype in (np.float32, np.float64):
        for order in "CF":
            broken = np.array(X, dtype=dtype, order=order)
            broken[41, 6, 2] = bad
            with pytest.raises(ValueError, match=r"X\[41, 6, 2\] is -?(nan|inf)"):
                pk.simulate(broken, Y, algorithm)
    labels = Y.copy()
    labels[3, 1] = bad
    with pytest.raises(ValueError, match=r"Y\[3, 1\] is -?(nan|inf)"):
        pk.simulate(X, labels, algorithm)
    # Where nobody is, nobody looks.
    there = np.ones(Y.shape, dtype=bool)
    there[3, 1] = False
    assert np.isnan(pk.simulate(X, labels, algorithm, present=there).predictions[3, 1])
    _, client = pair(bank)
    with pytest.raises(ValueError, match=r"x\[1\] is"):
        client.predict([0, bad, 0])
    client.predict([0, 0, 0])
    with pytest.raises(ValueError, match="y is"):
        client.learn(bad)
    with pytest.raises(ValueError, match=r"rho\[0, 0, 0\]"):
        pk.KernelBank.from_vectors([[[bad]]])
    with pytest.raises(ValueError, match=r"X\[0, 0, 0\] is 1e\+200, too large for a float"):
        pk.simulate(np.full((1, 1, 3), 1e200), np.zeros((1, 1)), algorithm)


def test_calls_in_the_wrong_order_are_runtime_errors(bank):
    algorithm = pk.PofMkl(bank, learning_rate=0.1, weight_rate=0.1)
    server, client = algorithm.server(), algorithm.client(0)
    with pytest.raises(RuntimeError, match="predict before receive"):
        client.predict([1, 2, 3])
    with pytest.raises(RuntimeError, match="learn before predict"):
        client.learn(1)
    client.receive(server.broadcast())
    with pytest.raises(RuntimeError, match="learn before predict"):
        client.learn(1)
    client.predict([1, 2, 3])
    update = client.learn(1)
    with pytest.raises(RuntimeError, match="learn before predict"):
        client.learn(1)
    server.aggregate([update])
    with pytest.raises(ValueError, match="answers step 0, but the server is at step 1"):
        server.aggregate([update])
    with pytest.raises(ValueError, match="already answered"):
        client.receive(server.broadcast())
        client.predict([1, 2, 3])
        update = client.learn(1)
        server.aggregate([update, update])
    server.aggregate([update])  # what was refused has changed nothing
    assert server.step == 2


def test_what_does_not_fit_is_refused_at_construction(bank):
    for make, words in [
        (lambda: pk.PofMkl(bank, kernels_per_upload=6), "kernels_per_upload is 6; the dictionary has only 5"),
        (lambda: pk.PofMkl(bank, kernels_per_upload=0), "kernels_per_upload is 0"),
        (lambda: pk.PofMkl(bank, kernels_per_upload=-1), "kernels_per_upload is -1"),
        (lambda: pk.PofMkl(bank, kernels_per_upload=3, budget=20), "budget of 20 numbers allows 3"),
        (lambda: pk.PofMkl(bank, exploration=0), "exploration is 0"),
        (lambda: pk.PofMkl(bank, learning_rate=-1), "learning_rate is -1"),
        (lambda: pk.PofMkl(bank, loss="cubic"), "loss"),
        (lambda: pk.PofMkl(bank, schedule="never"), "there are: constant, anytime"),
        (lambda: pk.Ofskl(bank), "ofskl has 1 kernel, but the bank has 5"),
        (lambda: pk.FedPoe(bank), "fed-poe has 3 kernels, but the bank has 5"),
        (lambda: pk.FomdOms(pk.KernelBank.rbf(2, 3, [1])), "fomd-oms needs at least 2"),
        (lambda: pk.LocalRls(pk.KernelBank.rbf(2, 100, pk.paper_bandwidths())), "local_memory is 512 KiB"),
        (lambda: pk.PofNewton(bank, server_memory=0), "server_memory is 0"),
        (lambda: pk.make_algorithm("nobody", bank), "unknown algorithm 'nobody'"),
        (lambda: pk.PerFedAvg(0), "dimension is 0"),
        (lambda: pk.KernelBank.rbf(0, 4, [1]), "dimension is 0; it must be at least 1"),
        (lambda: pk.KernelBank.rbf(2, 4, []), "at least one kernel"),
        (lambda: pk.KernelBank.rbf(2, 4, [1, -1]), r"bandwidths\[1\]"),
        (lambda: pk.KernelBank.rbf(2**40, 2**40, [1]), "too large"),
        (lambda: pk.KernelBank.rbf(2, 4, [1], seed=-1), "seed is -1"),
        (lambda: pk.KernelBank.dictionary("square", 2, 4), "there are: gaussian"),
        (lambda: pk.KernelBank.dictionary("cauchy", 2, 4, draw="orthogonal"), "orthogonal"),
        (lambda: pk.KernelBank.rbf(2, 4, [1], draw="best"), "there are: independent"),
        (lambda: pk.Kernel("gaussian", length=0), "above 0"),
        (lambda: pk.load("navel"), "naval"),
        (lambda: pk.load("synthetic", clients=0), "clients is 0"),
    ]:
        with pytest.raises(ValueError, match=words) as error:
            make()
        assert "--" not in str(error.value)
    with pytest.raises(FileNotFoundError, match="no/such.csv"):
        pk.load("no/such.csv", target="y")


def test_advice_names_arguments_as_python_does_and_commands_as_a_shell_takes_them(tmp_path):
    folder = tmp_path / "no data"
    with pytest.raises(ValueError) as error:
        pk.load("naval", folder)
    assert str(error.value).endswith(
        f"get it with: polykern data get naval --data-dir '{folder}' (or name the folder that has it with data_dir)")


def test_messages_of_another_federation_are_refused(bank):
    server, client = pair(bank)
    other = pk.PofMkl(pk.KernelBank.rbf(3, 9, [1, 2]), learning_rate=0.1, weight_rate=0.1)
    with pytest.raises(ValueError, match=r"shape \(2, 18\), but it must be \(5, 8\)"):
        client.receive(other.server().broadcast())
    stranger = other.client(0)
    stranger.receive(other.server().broadcast())
    stranger.predict([1, 2, 3])
    with pytest.raises(ValueError, match=r"\(1, 18\), but it must be \(M, 8\)"):
        server.aggregate([stranger.learn(0)])
    for local in (pk.Local(bank, horizon=5), pk.PerFedAvg(3)):
        with pytest.raises(ValueError, match="another algorithm"):
            client.receive(local.server().broadcast())
    with pytest.raises(ValueError, match="id is"):
        other.client(2**40)


def test_a_run_that_diverges_is_told_and_leaves_no_nan_behind(bank):
    chance = np.random.default_rng(0)
    X = chance.normal(size=(400, 2, 3))
    with pytest.warns(pk.DivergenceWarning, match="pof-mkl diverged at step"):
        result = pk.simulate(X, 100 * np.ones((400, 2)), pk.PofMkl(bank, learning_rate=50, weight_rate=1))
    assert result.divergence and "diverged" in result._repr_html_()
    server, client = pair(bank)
    client.predict([0, 0, 0])
    client.learn(1e200)
    with pytest.raises(RuntimeError, match="diverged"):
        client.predict([0, 0, 0])
    with pytest.warns(UserWarning, match=r"labels in \[0, 1\]"):
        pk.simulate(X[:3], 5 * np.ones((3, 2)), pk.PofNewton(bank))


def test_results_outlive_what_made_them(bank):
    server, client = pair(bank)
    client.predict([1, 2, 3])
    update = client.learn(0.5)
    theta, frequencies, steps, weights = server.theta, bank.frequencies, update.steps, client.weights
    kept = [array.copy() for array in (theta, frequencies, steps, weights)]
    broadcast = server.broadcast()
    assert pk.KernelBank.rbf(2, 3, [1]).frequencies.base is not None  # the bank itself is gone
    del server, client, update, bank
    gc.collect()
    for array, copy in zip((theta, frequencies, steps, weights), kept):
        assert (array == copy).all()
    for array in (theta, frequencies, steps, broadcast.theta):
        with pytest.raises(ValueError):
            array[...] = 1
    # Halves alone keep their algorithm and its bank.
    half = pk.PofMkl(pk.KernelBank.rbf(3, 4, [1]), learning_rate=0.1, weight_rate=0.1).client(0)
    gc.collect()
    half.receive(pk.PofMkl(pk.KernelBank.rbf(3, 4, [1]), learning_rate=0.1, weight_rate=0.1).server().broadcast())
    gc.collect()
    assert half.predict([1, 2, 3]).value == 0


def test_objects_that_were_never_made_are_refused():
    for cls in (pk.KernelBank, pk.PofMkl, pk.ClientHalf, pk.ServerHalf, pk.Broadcast, pk.Update, pk.Kernel):
        hollow = cls.__new__(cls)
        for use in (lambda: hollow.step, lambda: hollow.theta, lambda: hollow.frequencies, lambda: hollow.client(0),
                    lambda: hollow.server(), lambda: hollow.predict([1]), lambda: hollow.broadcast(), lambda: hollow.kind,
                    lambda: pk.simulate([[[1]]], [[1]], hollow), lambda: pk.PofMkl(hollow), lambda: pickle.dumps(hollow)):
            with pytest.raises((TypeError, AttributeError, RuntimeError, ValueError)):
                use()


class Explosive:
    def __array__(self, *_):
        raise ZeroDivisionError("from inside")

    __float__ = __index__ = __array__


def test_exceptions_inside_callbacks_come_through(bank, samples):
    X, Y = samples
    algorithm = pk.PofMkl(bank)
    server, client = pair(bank)
    client.predict([1, 2, 3])
    for call in (lambda: pk.simulate(Explosive(), Y, algorithm), lambda: client.predict(Explosive()),
                 lambda: client.learn(Explosive()), lambda: pk.PofMkl(bank, kernels_per_upload=Explosive()),
                 lambda: server.aggregate(1 / 0 for _ in range(3))):
        with pytest.raises((ZeroDivisionError, TypeError)):
            call()
    client.learn(1)  # none of that has touched it

    def fail(done, steps):
        raise KeyError(done, steps)

    with pytest.raises(KeyError):
        pk.simulate(X, Y, algorithm, progress=fail)
    with pytest.raises(TypeError):
        pk.simulate(X, Y, algorithm, progress=3)
    seen = []

    def again(done, steps):  # from inside a run, another run of the same algorithm
        seen.append((done, steps, pk.simulate(X[:2], Y[:2], algorithm).mse))

    pk.simulate(X, Y, algorithm, progress=again)
    assert seen[-1][:2] == (60, 60)


def test_a_thread_and_ctrl_c_are_heard_during_a_run():
    chance = np.random.default_rng(1)
    X, Y = chance.normal(size=(4000, 64, 8)), chance.uniform(size=(4000, 64))
    algorithm = pk.PofMkl(pk.KernelBank.rbf(8, 50, pk.paper_bandwidths()), kernels_per_upload=5)
    beats, run = [], threading.Event()

    def beat():
        run.wait()
        while run.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=beat)
    thread.start()

    def stop(done, steps):
        if len(beats) > 20:
            raise KeyboardInterrupt  # as Python raises it when a signal has come

    run.set()
    with pytest.raises(KeyboardInterrupt):
        pk.simulate(X, Y, algorithm, progress=stop)
    run.clear()
    thread.join()
    assert len(beats) > 20


def test_many_threads_may_share_a_server_and_a_regressor(bank):
    server, _ = pair(bank)
    model = pk.OnlineRegressor(kernels=2, features=5)
    model.partial_fit(np.eye(3), [1, 2, 3])
    errors = []

    def work():
        try:
            for _ in range(50):
                server.aggregate([])
                assert np.isfinite(server.theta).all()
                model.partial_fit(np.eye(3), [1, 2, 3])
                model.predict(np.eye(3))
                pickle.loads(pickle.dumps(model))
        except Exception as error:  # shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and server.step == 200


def test_a_million_calls_leave_the_memory_flat():
    algorithm = pk.PofMkl(pk.KernelBank.rbf(2, 2, [1, 10, 100]), learning_rate=0.01, weight_rate=0.01)
    server, client = algorithm.server(), algorithm.client(0)
    x = np.array([0.3, -0.2], dtype=np.float32)

    def go(calls):
        for n in range(calls):
            client.receive(server.broadcast())
            client.predict(x)
            server.aggregate([client.learn(0.5)])

    go(20_000)
    before = rss()
    go(500_000)  # each predicts and learns: a million calls
    assert rss() - before < 2_000_000
    for n in range(2000):
        with pytest.raises(ValueError):
            client.predict([1, 2, 3])
    assert rss() - before < 4_000_000


def test_simulations_and_regressors_leave_the_memory_flat(samples, bank):
    X, Y = samples
    algorithm = pk.PofNewton(bank)
    model = pk.OnlineRegressor(kernels=2, features=5)

    def go(times):
        for _ in range(times):
            pk.simulate(X, Y, algorithm).to_dict()
            model.fit(X[:, 0], Y[:, 0]).predict(X[:, 0])
            pickle.loads(pickle.dumps((model, algorithm, algorithm.server(), algorithm.client(3))))

    go(60)
    before = rss()
    go(200)
    assert rss() - before < 4_000_000


def test_a_gpu_that_is_missing_is_missed_in_one_line(bank, samples):
    X, Y = samples
    with pytest.raises(ValueError, match='device is "tpu"; it must be cpu or gpu'):
        pk.simulate(X, Y, pk.PofMkl(bank), device="tpu")
    try:
        pk.simulate(X, Y, pk.PofMkl(bank), device="gpu")
    except ValueError as error:
        assert "choose device=cpu" in str(error) and "\n" not in str(error)
    else:  # this machine has one
        assert (pk.simulate(X, Y, pk.PofMkl(bank), device="gpu").predictions
                == pk.simulate(X, Y, pk.PofMkl(bank)).predictions).all()
        with pytest.raises(ValueError, match="local does not run on a GPU yet, but these do: pof-mkl, "):
            pk.simulate(X, Y, pk.Local(bank), device="gpu")


def test_trouble_names_options_as_python_spells_them(tmp_path):
    pk.init_authority(tmp_path / "pki")
    with pk.Server(dimension=2, target_range=(0, 1), certificates=tmp_path / "pki") as server:
        with pk.Agent(server.address, name="mill", wait=0.2) as agent:  # without a certificate
            assert not agent.wait_for_step(5)
            assert agent.status()["trouble"].endswith("; if the server has certificates, add certificates")

"""The real federation from Python: its agents beside those of the program, with the program's server and its own."""

import json
import os
import re
import subprocess
import threading
import time

import numpy as np
import pytest

import polykern as pk

POLYKERN = os.environ["POLYKERN"]
SETTINGS = dict(kernels=12, features=8, kernels_per_upload=5)
CLIENTS, STEPS, DIMENSION, SEED = 4, 30, 5, 11


def fleet():
    """What the clients see, and what the simulator predicts for them."""
    data = pk.load("synthetic", clients=CLIENTS, steps=STEPS, dimension=DIMENSION, seed=SEED)
    bank = pk.KernelBank.dictionary("gaussian", DIMENSION, 8, kernels=12, seed=SEED)
    return data.X, data.Y, pk.simulate(data.X, data.Y, pk.PofMkl(bank, kernels_per_upload=5), seed=SEED).predictions


def go(agent, X, Y, made):
    for x, y in zip(X, Y):
        prediction = agent.predict(x)
        made.append((prediction.step, prediction.value))
        assert agent.learn(y)
    assert agent.wait_until_counted(30)


def test_python_and_cxx_agents_in_one_federation_give_the_simulators_bits(tmp_path):
    X, Y, expected = fleet()
    names = [f"station-{k}" for k in range(CLIENTS)]
    pk.init_authority(str(tmp_path / "pki"), ["localhost", "127.0.0.1"])
    certificates = [pk.issue_certificate(str(tmp_path / "pki"), name) for name in names]
    server = subprocess.Popen(
        [POLYKERN, "serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--algorithm", "pof-mkl", "--dimension", str(DIMENSION),
         "--target-range", "none", "--seed", str(SEED), "--steps", str(STEPS), "--clients", ",".join(names), "--kernels", "12", "--features", "8", "-M", "5"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    programs, agents = {}, {}
    try:
        port = re.match(r"listening on 127\.0\.0\.1:(\d+)", server.stdout.readline())[1]
        for k in range(0, CLIENTS, 2):  # every second one is the C++ program's
            rows = "\n".join(",".join(repr(float(v)) for v in [*X[t, k], Y[t, k]]) for t in range(STEPS))
            (tmp_path / f"{k}.csv").write_text(",".join([f"x{i}" for i in range(DIMENSION)] + ["y"]) + "\n" + rows + "\n")
            programs[k] = subprocess.Popen(
                [POLYKERN, "join", "--server", f"127.0.0.1:{port}", "--certificates", certificates[k], "--input", f"{k}.csv",
                 "--give-up", "60"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        agents = {k: pk.Agent(f"127.0.0.1:{port}", certificates[k], wait=60) for k in range(1, CLIENTS, 2)}
        made = {k: [] for k in agents}
        threads = [threading.Thread(target=go, args=(agent, X[:, k], Y[:, k], made[k])) for k, agent in agents.items()]
        for thread in threads:
            thread.start()
        for k, program in programs.items():
            lines = [json.loads(line) for line in program.communicate(timeout=100)[0].splitlines()]
            made[k] = [(line["step"], line["prediction"]) for line in lines]
        for thread in threads:
            thread.join(100)
        for k in range(CLIENTS):
            assert [step for step, _ in made[k]] == list(range(STEPS))
            assert [value for _, value in made[k]] == list(expected[:, k]), k
        assert agents[1].status()["finished"]
    finally:
        for agent in agents.values():
            agent.close()
        for process in [server, *programs.values()]:
            process.kill()
            process.wait()
            process.stdout.close()


def test_a_server_in_this_process_and_a_cxx_agent_beside_python_ones(tmp_path):
    X, Y, expected = fleet()
    names = ["a", "b", "c", "d"]
    with pk.Server("pof-mkl", DIMENSION, target_range="none", clients=names, seed=SEED, steps=STEPS, **SETTINGS) as server:
        rows = "\n".join(",".join(repr(float(v)) for v in [*X[t, 0], Y[t, 0]]) for t in range(STEPS))
        (tmp_path / "0.csv").write_text(",".join([f"x{i}" for i in range(DIMENSION)] + ["y"]) + "\n" + rows + "\n")
        program = subprocess.Popen([POLYKERN, "join", "--server", server.address, "--insecure", "--name", "a", "--input",
                                    "0.csv", "--give-up", "60"], cwd=tmp_path, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        agents = {k: pk.Agent(server.address, name=names[k], wait=60) for k in range(1, 4)}
        made = {k: [] for k in agents}
        threads = [threading.Thread(target=go, args=(agent, X[:, k], Y[:, k], made[k])) for k, agent in agents.items()]
        for thread in threads:
            thread.start()
        lines = [json.loads(line) for line in program.communicate(timeout=100)[0].splitlines()]
        for thread in threads:
            thread.join(100)
        made[0] = [(line["step"], line["prediction"]) for line in lines]
        for k in range(4):
            assert [value for _, value in made[k]] == list(expected[:, k]), k
        status = server.status()
        assert status["finished"] and status["step"] == STEPS and status["accepted"] == CLIENTS * STEPS
        assert agents[2].status()["client"] == 2 and agents[2].status()["learnt"] == STEPS
        assert agents[2].configuration()["algorithm"] == "pof-mkl"
        for agent in agents.values():
            agent.close()


def test_units_are_the_servers(tmp_path):
    columns = {"wind": (0, 20), "heat": (-40, 60)}
    with pk.Server("pof-mkl", columns=columns, target=("power", 0, 3000), kernels=5, features=4, learning_rate=0.05) as server:
        with pk.Agent(server.address, name="mill", state=tmp_path / "mill.state") as agent:
            for _ in range(30):
                prediction = agent.predict([10, 20])
                assert agent.learn(1500, position=7)
            assert 1000 < prediction < 2000
            assert agent.wait_until_counted()
        with pk.Agent(server.address, name="mill", state=tmp_path / "mill.state") as agent:
            assert agent.position == 7
            assert 1000 < agent.predict([10, 20]) < 2000


def test_a_store_says_what_its_federation_is(tmp_path):
    store = tmp_path / "store.db"
    with pk.Server("pof-newton", dimension=2, target_range="none", kernels=5, features=4, ridge=0.5, store=store) as server:
        with pk.Agent(server.address, name="a") as agent:
            agent.predict([0.1, 0.2])
            agent.learn(0.5)
            assert agent.wait_until_counted()
    with pk.Server(store=store) as server, pk.Agent(server.address, name="a") as agent:
        assert server.status()["step"] == 1
        agent.predict([0.1, 0.2])
        texts = agent.configuration()
        assert (texts["algorithm"], texts["ridge"], texts["forgetting"]) == ("pof-newton", "0.5", "1")
    with pytest.raises(ValueError, match="ridge: 0.5 -> 2"):
        pk.Server(store=store, ridge=2)
    with pytest.warns(UserWarning, match="meta_rate has no effect with pof-newton"):
        pk.Server(store=store, meta_rate=0.5).close()


def test_a_new_federation_is_of_sums_and_tells_of_clipped_labels():
    with pk.Server(dimension=1, target="power", target_range=(0, 3000)) as server:
        with pk.Agent(server.address, name="mill") as agent:
            for y, clipped in [(1000, 0), (3001, 1), (-1, 2)]:
                agent.predict([0.5])
                if clipped == 1:
                    with pytest.warns(UserWarning, match="the label 3001 is outside the federation's target range"):
                        assert agent.learn(y)
                else:
                    assert agent.learn(y)  # one warning is enough
                assert agent.status()["clipped"] == clipped
            assert agent.wait_until_counted()
            texts = agent.configuration()
            assert (texts["algorithm"], texts["target"], texts["labels"]) == ("pof-gram", "0:3000 power", "range")
        assert server.status()["clipped"] == 2


def test_ranges_can_be_learnt_from_what_agents_have():
    names = ["mill", "farm"]
    samples = {"mill": ([[0, 1], [10, 1]], [0, 50]), "farm": ([[2, 1]], [100])}
    with pk.Server(columns=["wind", "gear"], target="power", learn_ranges=2, clients=names) as server:
        agents = [pk.Agent(server.address, name=name, wait=0.2) for name in names]
        assert agents[0].tell_ranges(*samples["mill"])
        assert agents[0].status()["learn_ranges"] == 2 and server.status()["learns_ranges"]
        with pytest.raises(RuntimeError, match="learns its ranges; there is no model yet"):
            agents[0].predict([1, 1])
        for x, y in [([[1]], [1]), ([[1, 2]], [1, 2]), ([[1, np.nan]], [1]), (np.empty((0, 2)), [])]:
            with pytest.raises(ValueError):
                agents[1].tell_ranges(x, y)
        assert agents[1].tell_ranges(*samples["farm"])
        for agent in agents:
            assert agent.wait_for_step()
        for name, agent in zip(names, agents):
            agent.predict(samples[name][0][0])
            assert agent.learn(samples[name][1][0])
            assert not agent.tell_ranges(*samples[name])
        texts = agents[0].configuration()
        assert (texts["column.0"], texts["column.1"], texts["target"]) == ("-1:11 wind", "0:2 gear", "-10:110 power")
        for agent in agents:
            agent.close()
        assert not server.status()["learns_ranges"]
    with pytest.raises(ValueError, match="learn_ranges learns all ranges"):
        pk.Server(columns={"wind": (0, 1)}, learn_ranges=2, clients=names)
    with pytest.raises(ValueError, match="add clients=NAME,NAME,... or quorum=NUMBER"):
        pk.Server(columns=["wind"], learn_ranges=2)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="certificates"):
        pk.Agent("127.0.0.1:1")
    with pytest.raises(ValueError, match="nowhere"):
        pk.Agent("127.0.0.1:1", "nowhere")
    with pytest.raises(ValueError, match="dimension"):
        pk.Server("pof-mkl")
    with pytest.raises(ValueError, match="unknown algorithm"):
        pk.Server("pof-mlk", dimension=2)
    with pytest.raises(TypeError, match="there is no option 'kernel'"):
        pk.Server("pof-mkl", dimension=2, kernel=3)
    with pytest.raises(ValueError, match="loopback"):
        pk.Server("pof-mkl", dimension=2, target_range="none", listen="0.0.0.0:0")
    with pytest.raises(ValueError, match='range of "a"'):
        pk.Server("pof-mkl", columns={"a": (1, 1)}, target=("y", 0, 1))
    with pytest.raises(ValueError, match="target_range=LOW:HIGH is needed.*target_range=none uses them as they are"):
        pk.Server(dimension=1)
    with pytest.raises(ValueError, match="target_range=LOW:HIGH is needed"):
        pk.Server(columns={"a": (0, 1)}, target="y")
    with pytest.raises(ValueError, match="leave out target_range"):
        pk.Server(dimension=1, target=("y", 0, 1), target_range="none")
    with pytest.raises(ValueError, match='must be \\(low, high\\) or "none"'):
        pk.Server(dimension=1, target_range="0:1")
    with pytest.raises(ValueError, match="such as algorithm=pof-adagrad"):
        pk.Server(dimension=1, target_range="none", loss="logistic")
    with pk.Agent("127.0.0.1:1", name="nobody", wait=0.2) as agent:  # nothing listens there
        with pytest.raises(RuntimeError, match="no model"):
            agent.predict([1, 2])
        with pytest.raises(RuntimeError, match="learn before predict"):
            agent.learn(1)
        assert not agent.wait_for_step(0.01)
        assert agent.status()["ready"] is False
    for call in (lambda: agent.predict([1]), agent.status, lambda: agent.learn(1), lambda: agent.wait_for_step(1)):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    agent.close()  # twice does no harm


def test_an_agent_judges_its_samples_and_its_calls():
    with pk.Server("pof-mkl", dimension=2, target_range="none", kernels=5, features=4) as server:
        with pk.Agent(server.address, name="kitchen") as agent:
            with pytest.raises(RuntimeError, match="learn before predict"):
                agent.learn(1)
            for bad, kind in [([1], ValueError), ([[1, 2]], ValueError), ([1, np.nan], ValueError), ("ab", TypeError)]:
                with pytest.raises(kind):
                    agent.predict(bad)
            assert agent.predict([1, 2]) == 0
            for bad, kind in [("1", TypeError), (np.inf, ValueError)]:
                with pytest.raises(kind):
                    agent.learn(bad)
            assert agent.learn(0.5)
            with pytest.raises(RuntimeError, match="learn before predict"):
                agent.learn(0.5)
        address = server.address
    with pytest.raises(RuntimeError, match="closed"):
        server.address
    server.close()
    assert address


def test_a_label_that_cannot_be_learnt_from_changes_nothing():
    with pk.Server("pof-mkl", dimension=2, target_range="none", kernels=5, features=4) as server, \
         pk.Server("pof-mkl", dimension=2, target_range="none", kernels=5, features=4) as calm:
        with pk.Agent(server.address, name="kitchen") as agent, pk.Agent(calm.address, name="kitchen") as other:
            for x, y in [([1, 2], 0.5), ([2, 1], 0.25), ([1, 1], 0.5)]:
                assert agent.predict(x) == other.predict(x)
                for _ in range(2):
                    with pytest.raises(RuntimeError, match="cannot be learnt from"):
                        agent.learn(1e6)
                assert agent.learn(y) and other.learn(y)
            assert agent.predict([1, 2]) == other.predict([1, 2]) != 0
            assert agent.status()["learnt"] == 3


def test_a_stranger_is_refused():
    with pk.Server("pof-mkl", dimension=2, target_range="none", clients=["friend"]) as server:
        with pk.Agent(server.address, name="stranger") as agent:
            with pytest.raises(RuntimeError, match="refuses"):
                agent.predict([1, 2])


def test_an_agent_that_is_refused_predicts_with_the_model_it_has(tmp_path):
    options = dict(name="stranger", state=tmp_path / "stranger.state")
    with pk.Server("pof-mkl", dimension=2, target_range="none", kernels=5, features=4) as server, pk.Agent(server.address, **options) as agent:
        first = agent.predict([1, 2])
        assert agent.learn(0.5)
    with pk.Server("pof-mkl", dimension=2, target_range="none", clients=["friend"]) as server, pk.Agent(server.address, **options) as agent:
        with pytest.raises(RuntimeError, match="refuses"):
            agent.wait_for_step(30)
        assert agent.predict([1, 2]).step == first.step
        assert "refuses" in agent.status()["failure"]


def test_closing_wakes_up_waiting_threads():
    agent = pk.Agent("127.0.0.1:1", name="nobody")
    ended = []

    def wait():
        try:
            ended.append(agent.wait_for_step(1.0))
        except RuntimeError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    agent.close()
    thread.join(30)
    assert len(ended) == 1


def test_an_exported_model_predicts_as_the_program_does(tmp_path):
    columns = {"wind": (0, 20), "heat": (-40, 60)}
    chance = np.random.default_rng(5)
    X = np.column_stack([chance.uniform(0, 20, 60), chance.uniform(-40, 60, 60)])
    Y = 1500 + 1000 * np.sin(X[:, 0] / 4)
    with pk.Server(columns=columns, target=("power", 0, 3000), store=tmp_path / "store.db", clients=["mill"]) as server:
        with pk.Agent(server.address, name="mill", state=tmp_path / "mill.state") as agent:
            for x, y in zip(X, Y):
                agent.predict(x)
                assert agent.learn(y)
            assert agent.wait_until_counted(30)
    subprocess.run([POLYKERN, "store", "export", "store.db", "--out", "wind.model"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "new.csv").write_text("wind,heat\n" + "".join(f"{float(w)!r},{float(h)!r}\n" for w, h in X))
    for state in [None, tmp_path / "mill.state"]:
        model = pk.load_model(tmp_path / "wind.model", state)
        assert (model.columns, model.step, model.configuration()["algorithm"]) == (["wind", "heat"], 60, "pof-gram")
        done = subprocess.run([POLYKERN, "predict", "--model", "wind.model", "--data", "new.csv",
                               *([] if state is None else ["--state", str(state)])], cwd=tmp_path, capture_output=True, check=True)
        assert [json.loads(line)["prediction"] for line in done.stdout.splitlines()] == list(model.predict(X))
    with pytest.raises(ValueError, match=r"X has the shape \(60, 1\), but it must be \(samples, 2\), with the columns wind, heat"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="leave out time"):
        model.predict(X, time=X[:, 0])
    with pytest.raises(ValueError, match="not a model of polykern"):
        pk.load_model(tmp_path / "new.csv")


def test_an_agent_moves_to_a_federation_that_begins_from_its_own(tmp_path):
    def law(wind):
        return 50 + 30 * np.sin(wind / 4)

    winds = np.random.default_rng(6).uniform(0, 20, 100)
    small = dict(target=("power", 0, 100), clients=["mill"])
    server = pk.Server(columns={"wind": (0, 20)}, store=tmp_path / "old.db", **small)
    address = server.address
    with pk.Agent(address, name="mill", state=tmp_path / "mill.state") as agent:
        for wind in winds:
            agent.predict([wind])
            assert agent.learn(law(wind))
        assert agent.wait_until_counted(30)
        before = agent.predict([7.5])
        server.close()
        with pk.Server(from_store=tmp_path / "old.db", store=tmp_path / "new.db", columns={"gust": (0, 9), "wind": (0, 40)},
                       listen=address, clients=["mill"]) as later:
            end = time.monotonic() + 30
            while not agent.status()["superseded"]:
                assert time.monotonic() < end, agent.status()
                time.sleep(0.01)
            made = agent.predict([3, 7.5])
            assert made.step == 0 and made == pytest.approx(before, abs=0.01)
            assert agent.configuration()["column.0"] == "0:9 gust"
            assert agent.learn(law(7.5)) and agent.wait_until_counted(30)
            assert later.status()["step"] == 1
    with pytest.raises(ValueError, match='has the input "wind", which this one lacks'):
        pk.Server(from_store=tmp_path / "old.db", columns={"gust": (0, 9)}, store=tmp_path / "none.db", clients=["mill"])


LATE = ["p0", "p1", "p2", "l1", "p3", "l0", "l3", "p4", "p5", "l2", "p6", "l5", "l6", "l4"] + [
    f"{what}{n}" for n in range(7, 25) for what in "pl"]


def test_labels_come_late_by_id_as_they_do_to_join(tmp_path):
    chance = np.random.default_rng(3)
    x, y = chance.uniform(0, 20, size=(25, 1)), chance.uniform(0, 100, size=25)
    settings = dict(columns={"wind": (0, 20)}, target=("power", 0, 100), lags=[1], quorum=1, seed=5)
    with pk.Server(**settings) as server:
        lines = [f"s{int(w[1:])},{x[int(w[1:]), 0]!r}," if w[0] == "p" else f"s{int(w[1:])},,{y[int(w[1:])]!r}" for w in LATE]
        program = subprocess.run(
            [POLYKERN, "join", "--server", server.address, "--insecure", "--name", "mill", "--wait", "--coverage", "0.8",
             "--give-up", "60"], input="\n".join(["id,wind,power", *lines]) + "\n", capture_output=True, text=True, timeout=60)
        assert program.returncode == 0 and "25 samples, 25 learnt" in program.stderr, program.stderr
    expected = [json.loads(line) for line in program.stdout.splitlines()]
    made = []
    with pk.Server(**settings) as server, pk.Agent(server.address, name="mill", coverage=0.8, wait=60) as agent:
        for what in LATE:
            n = int(what[1:])
            if what[0] == "p":
                made.append(agent.predict(x[n], id=f"s{n}"))
            else:
                assert agent.learn(y[n], id=f"s{n}")
        assert agent.status()["learnt"] == 25 and agent.status()["waiting"] == 0
    assert [(p.step, p.value) for p in made] == [(line["step"], line["prediction"]) for line in expected]
    assert [p.interval or (None, None) for p in made] == [(line["low"], line["high"]) for line in expected]
    assert made[-1].interval is not None


def test_what_is_wrong_with_an_id_is_told_and_changes_nothing():
    with pk.Server(dimension=1, target_range=(0, 1)) as server:
        with pk.Agent(server.address, name="mill", pending=2) as agent:
            for n in range(3):
                agent.predict([0.1 * n], id=n)
            assert (agent.status()["waiting"], agent.status()["forgotten"]) == (2, 1)
            for wrong in (0, "nothing"):
                with pytest.raises(RuntimeError, match=f'no sample "{wrong}" waits for a label'):
                    agent.learn(0.5, id=wrong)
            with pytest.raises(RuntimeError, match="learn before predict: .* one with an id to that of the same id"):
                agent.learn(0.5)
            for wrong, kind in [("high", TypeError), (float("nan"), ValueError)]:
                with pytest.raises(kind, match="y "):
                    agent.learn(wrong, id=2)
            assert agent.status()["waiting"] == 2 and agent.learn(0.5, id=2)
            with pytest.raises(RuntimeError, match='no sample "2" waits'):
                agent.learn(0.5, id=2)
            agent.predict([0.3])
            assert agent.learn(0.4) and agent.learn(0.5, id="1") and agent.status()["learnt"] == 3
    with pk.Server(columns={"wind": (0, 20)}, target=("power", 0, 100), ahead=3) as server:
        with pk.Agent(server.address, name="mill") as agent, pytest.raises(ValueError, match="labels come in order; leave out id"):
            agent.predict([1], id=7)

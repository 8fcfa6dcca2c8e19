"""Noise and masks from Python: simulations, halves, and a server and agents that mask."""

import os
import pickle
import re
import subprocess
import threading

import numpy as np
import pytest

import polykern as pk

POLYKERN = os.environ["POLYKERN"]
CLIENTS, STEPS, DIMENSION = 6, 30, 3
RELEASES = 2
NOISE = dict(epsilon=2, releases=RELEASES)


def fleet():
    return pk.load("synthetic", clients=CLIENTS, steps=STEPS, dimension=DIMENSION, seed=4)


def simulated(**options):
    data = fleet()
    return pk.simulate(data.X, data.Y, pk.PofGram(DIMENSION, **NOISE, **options), seed=4).epsilon_spent


def test_a_server_half_adds_noise_that_costs_what_a_simulations_does():
    data = fleet()
    algorithm = pk.PofGram(DIMENSION, **NOISE)
    server, clients = algorithm.server(), [algorithm.client(k) for k in range(CLIENTS)]
    assert server.epsilon_spent == 0
    before = 0
    for step in range(STEPS):
        updates = []
        for k, client in enumerate(clients):
            client.receive(server.broadcast())
            assert np.isfinite(client.predict(data.X[step, k]).value)
            updates.append(client.learn(data.Y[step, k]))
        server.aggregate(updates)
        assert before <= server.epsilon_spent <= 2
        before = server.epsilon_spent
        if step % 7 == 3:
            server = pickle.loads(pickle.dumps(server))
            assert server.epsilon_spent == before
    assert before == pytest.approx(simulated(), rel=1e-12) and before > 1.999
    assert np.any(server.theta != 0)
    assert pk.PofGram(DIMENSION).server().epsilon_spent is None


def test_noise_of_two_server_halves_differs():
    data = fleet()
    algorithm = pk.PofGram(DIMENSION, epsilon=2)
    thetas = []
    for _ in range(2):
        server, clients = algorithm.server(), [algorithm.client(k) for k in range(CLIENTS)]
        for step in range(10):
            for client in clients:
                client.receive(server.broadcast())
            for k, client in enumerate(clients):
                client.predict(data.X[step, k])
            server.aggregate([client.learn(data.Y[step, k]) for k, client in enumerate(clients)])
        thetas.append(server.theta.copy())
    assert np.any(thetas[0] != thetas[1])


def go(agent, X, Y):
    for x, y in zip(X, Y):
        agent.predict(x)
        assert agent.learn(y)
    assert agent.wait_until_counted(60)


def run_agents(agents):
    data = fleet()
    threads = [threading.Thread(target=go, args=(agent, data.X[:, k], data.Y[:, k])) for k, agent in enumerate(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()


def check_spent(status, **options):
    assert status["noise"]["releases"] == RELEASES and status["noise"]["releases_left"] == 0
    assert status["noise"]["epsilon_spent"] == pytest.approx(simulated(**options), rel=1e-12)
    assert (status["releases"], status["discarded"], status["trouble"]) == (RELEASES, 0, "")


def test_a_server_adds_noise(tmp_path):
    names = [f"station-{k}" for k in range(CLIENTS)]
    with pk.Server(dimension=DIMENSION, target_range=(0, 1), clients=names, steps=STEPS, **NOISE) as server:
        assert server.status()["noise"]["epsilon_spent"] == 0
        agents = [pk.Agent(server.address, name=name, state=tmp_path / f"{name}.state", wait=60) for name in names]
        run_agents(agents)
        check_spent(server.status())
        for agent in agents:
            agent.close()
        with pk.Agent(server.address, name=names[0]) as forgetful:  # samples may leave once
            with pytest.raises(RuntimeError, match="state"):
                forgetful.wait_for_step(10)


def test_agents_mask_and_a_helper_adds_noise(tmp_path):
    names = [f"station-{k}" for k in range(CLIENTS)]
    pk.init_authority(str(tmp_path / "pki"), ["localhost", "127.0.0.1"])
    folders = [pk.issue_certificate(str(tmp_path / "pki"), name) for name in names]
    subprocess.run([POLYKERN, "pki", "helper", "--host", "127.0.0.1"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    helper = subprocess.Popen([POLYKERN, "helper", "--listen", "127.0.0.1:0", "--certificates", "pki/helpers/helper", "--clients",
                               ",".join(names), "--epsilon", "2", "--log", "none"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"127\.0\.0\.1:\d+", helper.stdout.readline())[0]
        with pk.Server(dimension=DIMENSION, target_range=(0, 1), clients=names, steps=STEPS, certificates=tmp_path / "pki",
                       store=tmp_path / "store.db", masking="helper", helper=address, **NOISE) as server:
            agents = [pk.Agent(server.address, folder, state=tmp_path / f"{k}.state", wait=60, masked=True)
                      for k, folder in enumerate(folders)]
            run_agents(agents)
            check_spent(server.status(), masking="helper")
            for agent in agents:
                agent.close()
    finally:
        helper.kill()
        helper.wait()
        helper.stdout.close()


def test_an_agent_may_demand_masks():
    with pk.Server(dimension=DIMENSION, target_range=(0, 1)) as server:
        with pk.Agent(server.address, name="mill", masked=True) as agent:
            with pytest.raises(RuntimeError, match="masked is given"):
                agent.wait_for_step(10)

"""The real federation, as separate processes over TLS: what agents predict has the simulator's bits."""

import json
import random
import signal
import sqlite3
import subprocess
import time

import pytest

from federation import CLIENTS, POLYKERN, SETTINGS, STEPS, BadLink, kill


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_the_network_has_the_simulators_bits(federation, algorithm):
    f = federation(algorithm)
    f.serve()
    for k in range(CLIENTS):
        f.join(k)
    f.wait()
    f.check_predictions()
    f.server.send_signal(signal.SIGTERM)
    assert f.server.wait(10) == 0
    assert f"stopped at step {STEPS}: {CLIENTS * STEPS} updates counted, 0 too late" in f.server.stdout.read()


@pytest.mark.parametrize("algorithm, servers, agents",
                         [("pof-newton", 20, 40), ("pof-gram", 20, 40),
                          pytest.param("pof-mkl", 20, 0, marks=pytest.mark.long),
                          pytest.param("pof-mkl", 0, 40, marks=pytest.mark.long),
                          pytest.param("em-kofl", 10, 20, marks=pytest.mark.long)])
def test_kills_at_any_moment_change_no_bit(federation, algorithm, servers, agents):
    f = federation(algorithm, steps=300)
    chance = random.Random(f"{algorithm} {servers} {agents}")
    victims = ["server"] * servers + ["agent"] * agents
    chance.shuffle(victims)
    f.serve()
    for k in range(CLIENTS):
        f.join(k)
    last = 0
    for n, victim in enumerate(victims):
        # Spread over the run: a kill when so many steps are done, at any moment within a step.
        while not f.reached(5 + n * 280 // len(victims)):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.03))
        if victim == "server":
            kill(f.server)
            now = f.step()
            assert now >= last  # no committed step is lost
            last = now
            time.sleep(chance.uniform(0, 0.1))
            assert f"step {now}, {CLIENTS} clients" in f.serve()
        else:
            k = chance.randrange(CLIENTS)
            assert f.agents[k].poll() is None
            kill(f.agents[k])
            f.join(k)
    f.wait()
    f.check_predictions()
    store = json.loads(subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"],
                                      cwd=f.folder, capture_output=True, text=True).stdout)
    assert store["steps"] == 300
    for client in store["clients"]:  # nothing is counted twice
        assert (client["accepted"], client["next_step"], client["rejected"]) == (300, 300, 0)


def test_without_a_full_quorum_nothing_is_counted_twice_and_no_step_is_lost(federation):
    f = federation("pof-mkl", steps=300)
    chance = random.Random(3)
    options = ["--quorum", CLIENTS // 2, "--deadline", "0.05"]
    f.serve(*options)
    for k in range(CLIENTS):
        f.join(k)
    last = 0
    for n in range(30):
        while not f.reached(min(299, 5 + n * 9)):
            time.sleep(0.01)
        k = chance.randrange(CLIENTS)
        if n % 3 == 0:
            kill(f.server)
            now = f.step()
            assert now >= last
            last = now
            f.serve(*options)
        elif f.agents[k].poll() is None:
            kill(f.agents[k])
            f.join(k)
    f.wait()
    with sqlite3.connect(f.folder / "store.db") as store:
        steps, participants, least = store.execute("SELECT count(*), sum(participants), min(participants) FROM step").fetchone()
        accepted = [row[0] for row in store.execute("SELECT accepted FROM client")]
    assert steps == 300 and least >= CLIENTS / 2
    assert sum(accepted) == participants and max(accepted) <= 300
    for k in range(CLIENTS):  # what was learnt from a step was learnt once
        made = [json.loads(line) for line in (f.folder / f"{k}.out").read_text().splitlines()]
        learnt = {p["id"]: p["step"] for p in made if p["step"] < 300}
        assert len(set(learnt.values())) == len(learnt)


def test_cut_delayed_and_silent_connections_change_no_bit(federation):
    f = federation("pof-mkl", steps=100)
    chance = random.Random(7)
    f.serve("--keepalive", 1)
    link = BadLink(f.port, chance)
    f.way = link.way
    for k in range(CLIENTS):
        f.join(k, "--keepalive", 1)
    faults = ["cut"] * 20 + ["silent"] * 4
    chance.shuffle(faults)
    for n, fault in enumerate(faults):
        while not f.reached(3 + n * 90 // len(faults)):
            time.sleep(0.01)
        pair = chance.choice([p for p in link.pairs if p not in link.silent])
        if fault == "cut":
            link.cut(pair)
        else:
            link.silent.add(pair)
    f.wait()
    link.close()
    f.check_predictions()

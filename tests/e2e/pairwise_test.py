"""Pairwise masks: a closed federation whose server sees sums over all clients alone, without a helper."""

import json
import random
import subprocess
import time

import pytest

from federation import CLIENTS, POLYKERN, kill

PAIRWISE = ["--masking", "pairwise"]


@pytest.mark.parametrize("steps, servers, agents", [(100, 5, 15), pytest.param(200, 20, 40, marks=pytest.mark.long)])
def test_the_bits_are_those_of_a_plain_federation_whichever_process_is_killed(federation, steps, servers, agents):
    f = federation("pof-gram", steps=steps, least_clients=CLIENTS)
    chance = random.Random(3)
    victims = ["server"] * servers + ["agent"] * agents
    chance.shuffle(victims)
    f.serve(*PAIRWISE)
    for k in range(CLIENTS):
        f.join(k, "--masked")
    for n, victim in enumerate(victims):
        while not f.reached(3 + n * (steps - 10) // len(victims)):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.03))
        if victim == "server":
            kill(f.server)
            f.serve(*PAIRWISE, clients=[])  # they are in the store
        else:
            k = chance.randrange(CLIENTS)
            kill(f.agents[k])
            f.join(k)
    f.wait()
    f.check_predictions()
    assert "discarded" not in (f.folder / "server.log").read_text()
    store = json.loads(subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"],
                                      cwd=f.folder, capture_output=True, text=True).stdout)
    for client in store["clients"]:  # nothing is counted twice, and nothing is lost
        assert (client["accepted"], client["next_step"], client["rejected"]) == (steps, steps, 0)


def test_steps_wait_for_the_client_that_stays_away(federation):
    f = federation("pof-gram", steps=20, clients=3, least_clients=3)
    f.serve(*PAIRWISE)
    for k in range(2):
        f.join(k)
    time.sleep(1)
    assert f.step() == 0
    f.join(2)
    while not f.reached(5):
        time.sleep(0.01)
    kill(f.agents[1])
    time.sleep(1)
    stuck = f.step()
    time.sleep(1)
    assert f.step() == stuck < 20
    f.join(1)
    f.wait()
    f.check_predictions()


def test_a_client_whose_state_is_lost_or_put_back_takes_no_part(federation):
    f = federation("pof-gram", steps=30, clients=2, least_clients=2)
    f.serve(*PAIRWISE)
    for k in range(2):
        f.join(k)
    while not f.reached(3):
        time.sleep(0.01)
    kill(f.agents[0])
    (f.folder / "0.state").unlink()
    f.join(0, give_up=5)
    assert f.agents[0].wait(30) != 0
    said = (f.folder / "agent-0.log").read_text()
    assert "its state, which was lost or restored, has no record of it: start a new epoch" in said, said


def test_a_client_that_keeps_no_state_takes_no_part(federation):
    f = federation("pof-gram", steps=4, clients=2, least_clients=2)
    f.serve(*PAIRWISE)
    f.join(1)
    with open(f.folder / "0.out", "w") as out:
        agent = f.start(["join", "--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-0",
                         "--input", "0.csv", "--give-up", 5], "agent-0", stdout=out)
    assert agent.wait(30) != 0
    assert "add --state FILE" in (f.folder / "agent-0.log").read_text()


@pytest.mark.parametrize("options, said", [
    ([], "--masking pairwise needs --clients NAME,NAME,..."),
    (["--clients", "a"], "--masking pairwise needs --clients NAME,NAME,..."),
    (["--clients", "a,b", "--quorum", "1"], "--masking pairwise needs --quorum all"),
    (["--clients", "a,b", "--stale", "accept"], "--stale accept cannot be combined with --masking pairwise"),
    (["--clients", "a,b", "--mode", "async"], "--mode async cannot be combined with --masking"),
    (["--clients", "a,b", "--helper", "127.0.0.1:1"], "--helper has no effect with --masking pairwise"),
    (["--clients", "a,b", "--epsilon", "1"], "--epsilon cannot be combined with --masking pairwise"),
    (["--clients", "a,b", "--insecure"], "--masking needs certificates"),
    (["--clients", "a,b", "--algorithm", "pof-mkl"], "pof-mkl cannot be masked"),
])
def test_what_cannot_work_is_refused_in_a_line(polykern, tmp_path, options, said):
    done = polykern("serve", "--listen", "127.0.0.1:0", "--store", tmp_path / "other.db", "--dimension", 2, "--target-range",
                    "none", *PAIRWISE, *options)
    assert done.code != 0
    assert said in done.err, done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "other.db").exists()


def test_runs_simulate_them(polykern, tmp_path):
    shared = ["run", "--data", "synthetic", "--clients", 12, "--steps", 60, "-a", "pof-gram", "--least-clients", 12]
    rows = {}
    for masking in ("none", "pairwise"):
        done = polykern(*shared, "--masking", masking, "--out", masking)
        assert done.code == 0, done.err
        rows[masking] = json.loads((tmp_path / masking / "result.json").read_text())["runs"][0]
    assert rows["pairwise"]["fingerprint"] == rows["none"]["fingerprint"]
    done = polykern(*shared, "--masking", "pairwise", "--participation", 0.5)
    assert done.code == 1 and "pairwise needs every client in every step" in done.err, done.err
    done = polykern(*shared, "--masking", "pairwise", "--epsilon", 1)
    assert done.code == 1 and "--epsilon cannot be combined with --masking pairwise" in done.err, done.err

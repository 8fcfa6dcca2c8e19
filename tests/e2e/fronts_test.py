"""A federation with several front ends: the simulator's bits, whichever of them, or the database, is killed."""

import json
import random
import re
import signal
import subprocess
import time

import pytest

from database import Database
from federation import POLYKERN, SETTINGS, kill
from fronts import Forwarder, Fronts
from masked_test import Helper

SUMS_ONLY = [name for name in SETTINGS if name != "pof-newton"]


@pytest.fixture(scope="module")
def database():
    made = Database()
    yield made
    made.close()


def start(database, federation, name, count, algorithm="pof-mkl", options=(), **made):
    f = federation(algorithm, **made)
    fronts = Fronts(f, database, name, count, *options)
    fronts.serve_all()
    for k in range(len(f.names)):
        fronts.join(k)
    return fronts


def check(fronts):
    """Every prediction has the simulator's bits, and nothing is counted twice."""
    fronts.f.wait(300)
    fronts.f.check_predictions()
    store = fronts.clients()
    steps = fronts.f.steps
    assert store["steps"] == steps
    for client in store["clients"]:
        assert (client["accepted"], client["next_step"], client["rejected"]) == (steps, steps, 0)


def test_two_front_ends_give_the_simulators_bits_with_one_transaction_each(database, federation):
    fronts = start(database, federation, "two", 2)
    steps = fronts.f.steps
    check(fronts)
    written = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'polykern_partial'"
    end = time.time() + 10
    while int(fronts.query(written)) < steps:  # statistics come later
        assert time.time() < end
        time.sleep(0.1)
    # Clients that come while others wait make a few more at the beginning.
    assert steps <= int(fronts.query(written)) <= 2 * steps + 20


def kill_some(fronts, kills, chance):
    """Of front ends, the one that ends steps, and the database, in turn."""
    step = 0
    for n in range(kills):
        step = max(step + 1, fronts.f.steps * (n + 1) // (kills + 2))
        fronts.wait_for_step(step, 120)
        time.sleep(chance.uniform(0, 0.05))
        victim = ["leader", "front", "database", "front"][n % 4]
        if victim == "database":
            fronts.database.kill()
            time.sleep(chance.uniform(0, 0.5))
            fronts.database.start()
            continue
        front = fronts.leader() if victim == "leader" else None
        if front is None:
            front = chance.randrange(len(fronts.servers))
        fronts.kill(front)
        time.sleep(chance.uniform(0, 0.5))
        fronts.serve(front)


@pytest.mark.long
def test_kills_change_no_bit(database, federation):
    fronts = start(database, federation, "kills", 3, "pof-gram", steps=60)
    kill_some(fronts, 4, random.Random(3))
    check(fronts)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", SUMS_ONLY)
def test_long_twenty_kills_change_no_bit_of_any_algorithm(database, federation, algorithm):
    fronts = start(database, federation, "long_" + algorithm.replace("-", "_"), 3, algorithm, clients=30, steps=80)
    kill_some(fronts, 20, random.Random(7))
    check(fronts)


def test_steps_continue_when_the_one_that_ends_them_is_killed(database, federation):
    fronts = start(database, federation, "leader", 3, steps=200)
    fronts.wait_for_step(20)
    leader = None
    while leader is None:
        leader = fronts.leader()
    fronts.kill(leader)
    killed = time.time()
    step = fronts.step()
    fronts.wait_for_step(step + 2)
    assert time.time() - killed < 2
    assert fronts.leader() != leader
    fronts.serve(leader)
    check(fronts)


def holders(fronts):
    """How many clients each address has."""
    rows = fronts.query("SELECT address, count(*) FROM polykern_client c JOIN polykern_front f ON f.id = c.front GROUP BY 1")
    return {int(address.split(":")[1]): int(count) for address, count in (row.split("|") for row in rows.splitlines())}


def test_a_front_end_that_is_cut_off_loses_its_clients_and_commits_nothing_stale(database, federation):
    f = federation("pof-mkl", steps=300)
    fronts = Fronts(f, database, "cut_off", 2)
    way = Forwarder(("127.0.0.1", database.port))
    fronts.urls[0] = database.tcp_url("cut_off", way.port)
    fronts.serve_all()
    for k in range(len(f.names)):
        fronts.join(k)
    fronts.wait_for_step(20)
    assert holders(fronts).get(fronts.ports[0], 0) > 0
    way.stopped = True
    cut = time.time()
    while holders(fronts).get(fronts.ports[1], 0) < len(f.names):
        assert time.time() - cut < 10
        time.sleep(0.05)
    step = fronts.step()
    fronts.wait_for_step(step + 2)
    assert time.time() - cut < 12
    way.stopped = False
    check(fronts)
    log = (f.folder / "server-0.log").read_text()
    assert re.search(r"trouble.*: the database is away \(no answer for 4 s\)", log), log
    way.close()


@pytest.mark.long
def test_clients_that_go_to_and_fro_count_once(database, federation):
    """Their front ends live: one gives them up, with what they have sent, before another has them."""
    f = federation("pof-gram", steps=80)
    fronts = Fronts(f, database, "to_and_fro", 2)
    fronts.serve_all()
    ways = [Forwarder(("127.0.0.1", port)) for port in fronts.ports]
    ports, fronts.ports = fronts.ports, [way.port for way in ways]
    for k in range(len(f.names)):
        fronts.join(k)
    fronts.ports = ports
    chance = random.Random(11)
    for step in range(5, 65, 5):
        fronts.wait_for_step(step)
        time.sleep(chance.uniform(0, 0.01))
        chance.choice(ways).cut()
    check(fronts)
    for way in ways:
        way.close()


def test_masks_are_removed_whichever_front_ends_steps(database, federation):
    """Also those of clients that have said hello to another front end."""
    f = federation("pof-gram", least_clients=2, steps=60)
    helper = Helper(f).start()
    fronts = Fronts(f, database, "masked", 2, "--masking", "helper", "--helper", helper.address, "--least-clients", "2")
    fronts.serve_all()
    for k in range(len(f.names)):
        fronts.join(k, "--masked")
    for step in (15, 30):
        fronts.wait_for_step(step)
        leader = fronts.leader() or 0
        fronts.kill(leader)
        fronts.serve(leader)
    check(fronts)
    helper.process.terminate()
    said = helper.process.stdout.read()
    assert int(re.search(r"(\d+) releases? answered", said)[1]) > 3 and ", 0 refused" in said, said


@pytest.mark.long
def test_noise_is_paid_for_once_whichever_front_ends_steps(database, federation):
    f = federation("pof-gram", steps=40)
    fronts = Fronts(f, database, "noisy", 2, "--epsilon", "2", "--releases", "4", "--target-range", "0:1",
                    "--metrics", "127.0.0.1:0")
    fronts.serve_all()
    for k in range(len(f.names)):
        fronts.join(k)
    fronts.wait_for_step(20)
    fronts.kill(fronts.leader() or 0)
    f.wait(300)
    assert fronts.clients()["steps"] == 40
    spent = fronts.query("SELECT detail FROM polykern_event WHERE event = 'released' ORDER BY id")
    numbers = [int(line.split()[0]) for line in spent.splitlines()]
    assert numbers and numbers == sorted(set(numbers)) and numbers[-1] <= 4, spent


def test_a_quorum_is_of_those_that_are_at_any_front_end(database, federation):
    """Whoever stays away is not waited for, whoever falls silent for a deadline, or for two where the others are no share."""
    f = federation("pof-mkl", steps=10_000)
    fronts = Fronts(f, database, "quorum", 2, "--quorum", "80%", "--deadline", "0.5")
    fronts.serve_all()
    for k in range(6):  # of 8
        fronts.join(k)
    fronts.wait_for_step(5)
    for silent in ((0,), (1, 2, 3)):  # of 6, and of 5
        for k in silent:
            f.agents[k].send_signal(signal.SIGSTOP)
        began = time.time()
        fronts.wait_for_step(fronts.step() + 10)
        assert time.time() - began < 0.5 * len(silent) + 2
    taken = "SELECT participants FROM polykern_step ORDER BY steps DESC LIMIT 1"
    assert fronts.query(taken) == "2"


@pytest.mark.long
def test_a_client_that_left_for_good_is_forgotten_while_front_ends_run(database, federation):
    f = federation("pof-mkl", steps=200, clients=3)
    fronts = Fronts(f, database, "forgotten", 2)
    url = database.url("forgotten")

    def client(*arguments):
        return subprocess.run([POLYKERN, "client", *arguments], capture_output=True, text=True)

    def states():
        shown = client("list", url, "--format", "json").stdout
        return [each["state"] for each in json.loads(shown)]

    fronts.serve_all()
    for k in range(3):
        fronts.join(k)
    fronts.wait_for_step(5)
    refused = client("forget", url, "station-2")
    assert refused.returncode == 1 and "'station-2' is connected: stop its agent" in refused.stderr, refused
    assert client("label", url, "station-0", "roof").returncode == 0
    kill(f.agents.pop(2))
    end = time.time() + 5
    while states() != ["connected", "connected", "away"]:
        assert time.time() < end, states()
        time.sleep(0.05)
    stopped = fronts.step()
    time.sleep(0.5)
    assert fronts.step() == stopped  # the quorum is all
    forgotten = client("forget", url, "station-2")
    assert forgotten.returncode == 0, forgotten.stderr
    f.wait()
    assert fronts.step() == 200
    assert fronts.query("SELECT label FROM polykern_client_note WHERE number = 0") == "roof"


@pytest.mark.long
def test_a_database_without_room_stops_the_steps_until_there_is_some(database, federation):
    f = federation("pof-mkl", steps=60)
    fronts = Fronts(f, database, "no_room", 2)
    fronts.serve_all()
    fronts.query("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                 "$$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$")
    for k in range(len(f.names)):
        fronts.join(k)
    fronts.wait_for_step(5)
    fronts.query("CREATE TRIGGER no_room BEFORE INSERT ON polykern_partial EXECUTE FUNCTION full_disk()")
    time.sleep(1)
    stopped = fronts.step()
    time.sleep(2)  # clients are told, and come again
    assert fronts.step() == stopped
    fronts.query("DROP TRIGGER no_room ON polykern_partial")
    check(fronts)
    assert "trouble: " in (f.folder / "server-0.log").read_text() and ": the disk is full; what was committed is safe" in (
        f.folder / "server-0.log").read_text()


def test_status_shows_every_front_end(database, federation):
    f = federation("pof-mkl", steps=2000)
    fronts = Fronts(f, database, "status", 2, "--metrics", "127.0.0.1:0")
    metrics = []
    for n in (0, 1):
        fronts.serve(n)
        metrics.append(re.search(r"metrics on 127\.0\.0\.1:(\d+)", fronts.said[n])[1])
    for k in range(len(f.names)):
        fronts.join(k)
    fronts.wait_for_step(5)
    end = time.time() + 10
    while True:
        shown = subprocess.run([POLYKERN, "status", metrics[1], "--format", "json"], capture_output=True, text=True, check=True)
        status = json.loads(shown.stdout)
        if sum(front["connected"] for front in status["fronts"]) == len(f.names):
            break
        assert time.time() < end, status
        time.sleep(0.2)
    assert {front["address"] for front in status["fronts"]} == {f"127.0.0.1:{port}" for port in fronts.ports}
    assert [front["leads"] for front in status["fronts"]].count(True) == 1
    assert status["needed"] == status["clients"]["enrolled"] == len(f.names)
    text = subprocess.run([POLYKERN, "status", metrics[0]], capture_output=True, text=True, check=True).stdout
    for port in fronts.ports:
        assert f"127.0.0.1:{port}" in text
    assert re.search(r"^all +%d " % len(f.names), text, re.M), text


def test_a_federation_moves_to_postgresql_and_back(database, federation):
    database.query("CREATE DATABASE moved")
    url = database.url("moved")
    f = federation("pof-gram", steps=60)
    f.serve()
    for k in range(len(f.names)):
        f.join(k)
    while not f.reached(15):
        time.sleep(0.01)

    def stop():
        f.server.terminate()
        f.server.wait()

    def copy(source, target):
        done = subprocess.run([POLYKERN, "store", "copy", source, target], cwd=f.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    stop()
    copy("store.db", url)
    again = subprocess.run([POLYKERN, "store", "copy", "store.db", url], cwd=f.folder, capture_output=True, text=True)
    assert again.returncode == 1 and "a store already exists" in again.stderr and again.stderr.count("\n") == 1
    f.serve("--store", url)
    while int(database.query("SELECT step FROM polykern_open", "moved")) < 30:
        time.sleep(0.01)
    stop()
    copy(url, "back.db")
    f.serve("--store", "back.db")
    f.wait()
    f.check_predictions()
    shown = subprocess.run([POLYKERN, "store", "show", "back.db", "--format", "json"], cwd=f.folder, capture_output=True, text=True)
    for client in json.loads(shown.stdout)["clients"]:
        assert (client["accepted"], client["next_step"]) == (60, 60)


@pytest.mark.parametrize("how, says", [
    ("single messages", ": another process is using the store; stop it first: pof-newton needs each client's own message, so "
                        "its federations have one front end"),
    ("other federation", "the store was made with another configuration (seed"),
    ("replica", "it is a replica: name the primary server"),
])
def test_what_cannot_be_gets_one_line(database, federation, how, says):
    name = how.replace(" ", "_")
    f = federation("pof-newton" if how == "single messages" else "pof-mkl", clients=1)
    fronts = Fronts(f, database, name, 2)
    if how == "replica":
        database.query(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    else:
        fronts.serve(0)
    second = fronts.start(1, *(["--seed", 12] if how == "other federation" else []))
    assert second.wait(30) == 1
    log = (f.folder / "server-1.log").read_text()
    assert says in log and log.count("\n") == 1, log

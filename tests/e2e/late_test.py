"""Federations that use late updates, or have no rounds at all: each update counts once, whoever is killed."""

import json
import random
import re
import signal
import sqlite3
import struct
import subprocess
import time

import pytest

from federation import CLIENTS, POLYKERN, SETTINGS, kill

SAMPLES = 100
WAYS = {"late": ["--stale", "accept", "--quorum", "1", "--deadline", "0.01"], "async": ["--mode", "async"]}


@pytest.fixture
def late(federation, algorithm):
    f = federation(algorithm, steps=SAMPLES)
    f.steps = 0  # without end: agents stop when they have learnt from every sample
    return f


def check_counts(f):
    """What the store says was counted is what the model is made of; gives that by client."""
    with sqlite3.connect(f.folder / "store.db") as store:
        steps, updates = store.execute("SELECT count(*), sum(participants) FROM step").fetchone()
        newest, state = store.execute("SELECT steps, numbers FROM state ORDER BY steps DESC LIMIT 1").fetchone()
        accepted = dict(store.execute("SELECT name, accepted FROM client"))
    assert steps == newest and sum(accepted.values()) == updates
    numbers = struct.unpack(f"{len(state) // 8}d", state)
    if f.algorithm == "pof-gram":
        assert numbers[1] == CLIENTS * SAMPLES  # what the clients said to have learnt from
        return accepted
    kernels, _, sent = SETTINGS["pof-newton"]
    size = len(numbers) // kernels  # the last but one number of a kernel: its samples
    assert sum(numbers[(i + 1) * size - 2] for i in range(kernels)) == sent * updates
    return accepted


def check_agents(f, accepted):
    for k, name in enumerate(f.names):
        made = [json.loads(line) for line in (f.folder / f"{k}.out").read_text().splitlines()]
        assert {p["id"] for p in made} == set(range(2, SAMPLES + 2))
        steps = [p["step"] for p in made]
        assert steps == sorted(steps)
        assert accepted[name] == SAMPLES


@pytest.mark.parametrize("algorithm", ["pof-newton", "pof-gram"])
@pytest.mark.parametrize("way", WAYS)
def test_every_update_counts_once(late, way):
    late.serve(*WAYS[way])
    for k in range(CLIENTS):
        late.join(k)
    late.wait()
    late.server.send_signal(signal.SIGTERM)
    assert late.server.wait(10) == 0
    said = late.server.stdout.read()
    assert f": {CLIENTS * SAMPLES} updates counted" in said and ", 0 too late, 0 sent twice, 0 rejected" in said
    check_agents(late, check_counts(late))


@pytest.mark.parametrize("algorithm", [pytest.param("pof-newton", marks=pytest.mark.long), "pof-gram"])
@pytest.mark.parametrize("way", WAYS)
def test_kills_at_any_moment_change_no_count(late, way):
    f = late
    chance = random.Random(way)
    f.serve(*WAYS[way])
    for k in range(CLIENTS):
        f.join(k)
    last = 0
    for n in range(24):
        before = f.step()
        end = time.time() + 20
        while not f.reached(before + 3) and time.time() < end and any(a.poll() is None for a in f.agents.values()):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.03))
        if n % 3 == 0:
            kill(f.server)
            now = f.step()
            assert now >= last
            last = now
            line = f.serve(*WAYS[way])  # who is back already may have sent something
            assert int(re.search(rf"step (\d+), {CLIENTS} clients", line)[1]) >= now
            continue
        k = chance.randrange(CLIENTS)
        if f.agents[k].poll() is None:
            kill(f.agents[k])
            f.join(k)
    f.wait()
    check_agents(f, check_counts(f))


@pytest.mark.parametrize("options, words", [
    (["--stale", "accept"], "--stale accept cannot be combined with pof-mkl"),
    (["--mode", "async"], "--mode async cannot be combined with pof-mkl"),
    (["--mode", "async", "--algorithm", "pof-newton", "--quorum", "2"], "leave out --quorum and --deadline"),
    (["--retry-earliest", "3", "--retry-latest", "2"], "--retry-latest must not be less than"),
])
def test_what_an_algorithm_cannot_do_is_refused_in_one_line(tmp_path, options, words):
    done = subprocess.run([POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--dimension", "2", "--target-range",
                           "none", *([] if "--algorithm" in options else ["--algorithm", "pof-mkl"]), *options],
                          cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_who_finds_no_room_comes_back_in_the_window(federation):
    f = federation("pof-newton", clients=4)
    f.steps = 0
    f.serve("--mode", "async", "--max-connected", 2, "--retry-earliest", 0.1, "--retry-latest", 0.4)
    for k in range(4):
        f.join(k)
    f.wait()
    with sqlite3.connect(f.folder / "store.db") as store:
        assert [row[0] for row in store.execute("SELECT accepted FROM client")] == [40] * 4
        turned_away = store.execute("SELECT count(*) FROM event WHERE event = 'refused' AND "
                                    "detail LIKE 'the server is full%'").fetchone()[0]
    assert turned_away >= 1

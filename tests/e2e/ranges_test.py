"""A federation that learns its ranges from its clients' first samples."""

import json
import math
import random
import re
import sqlite3
import subprocess
import time

import pytest

from federation import POLYKERN, kill

NAMES = ["station-0", "station-1", "station-2"]
FIRST = 20
ROWS = 40
SMALL = ["--kernels", "5", "--features", "4"]


def rows(k):
    chance = random.Random(k)
    made = [(chance.uniform(2 * k, 10 + 5 * k), chance.uniform(-10, 30), 7) for _ in range(ROWS)]
    return [(wind, heat, gear, 3000 / (1 + math.exp((9 - wind) / 2))) for wind, heat, gear in made]


def serve(f, *options):
    if "--quorum" not in options:
        options = ("--quorum", "all", *options)
    for _ in range(50):  # the port may not be free at once after a kill
        f.server = f.start(["serve", "--listen", f"127.0.0.1:{f.port}", "--clients", ",".join(NAMES), *options],
                           "server", stdout=subprocess.PIPE)
        found = re.match(r"listening on 127\.0\.0\.1:(\d+)", f.server.stdout.readline())
        if found:
            f.port = int(found[1])
            return f.server.stdout.readline()
        f.server.wait()
        time.sleep(0.05)
    raise AssertionError((f.folder / "server.log").read_text())


def written(f, k):
    lines = ["wind,heat,gear,power", *(",".join(map(str, row)) for row in rows(k))]
    (f.folder / f"{k}.csv").write_text("\n".join(lines) + "\n")


def told(f, name):
    return len(re.findall(rf"{name}\b.*ranges.*told", (f.folder / "server.log").read_text()))


def configuration(f):
    shown = subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"], cwd=f.folder,
                           capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["configuration"]


def state(f):
    store = sqlite3.connect(f"file:{f.folder}/store.db?mode=ro", uri=True)
    try:
        return store.execute("SELECT * FROM state ORDER BY steps DESC LIMIT 1").fetchone()
    finally:
        store.close()


def predictions(f):
    return [(f.folder / f"{k}.out").read_text() for k in range(3)]


@pytest.mark.parametrize("algorithm", ["pof-gram", "pof-mkl"])
def test_ranges_that_were_learnt_give_the_bits_of_declared_ones_whichever_process_is_killed(federation, algorithm):
    f = federation("local", clients=3, steps=1)
    what = ["--algorithm", algorithm, *([] if algorithm == "pof-gram" else SMALL), "--steps", ROWS,
            "--columns", "wind,heat,gear", "--target", "power"]
    sees = serve(f, *what, "--learn-ranges", FIRST)
    assert "its least and greatest value of each column" in sees
    for k in range(3):
        written(f, k)
    f.join(0)
    f.join(1)
    f.until(lambda: told(f, NAMES[0]) == 1 and told(f, NAMES[1]) == 1)
    assert configuration(f)["learn_ranges"] == str(FIRST)
    kill(f.server)
    sees = serve(f)  # the store knows the rest
    assert "least and greatest" in sees
    f.until(lambda: told(f, NAMES[0]) == 2 and told(f, NAMES[1]) == 2)  # it had forgotten
    kill(f.agents[0])
    assert (f.folder / "0.out").read_text() == ""
    f.join(0)
    f.join(2)
    f.wait()
    assert told(f, NAMES[0]) == 2  # the agent found that the server has its ranges
    learnt = configuration(f)
    assert "learn_ranges" not in learnt and learnt["scaling"] == "range"
    ranges = {}
    for i, key in enumerate(["column.0", "column.1", "column.2", "target"]):
        ends, name = learnt[key].split(" ")
        values = [row[i] for k in range(3) for row in rows(k)[:FIRST]]
        margin = 0.1 * (max(values) - min(values)) or 7  # a constant's
        assert [float(end) for end in ends.split(":")] == pytest.approx([min(values) - margin, max(values) + margin])
        ranges[name] = ends
    kill(f.server)
    assert "least and greatest" not in serve(f, *what, "--learn-ranges", FIRST)  # as it was started

    g = federation("local", clients=3, steps=1)
    target = ranges.pop("power")
    serve(g, *what, "--range", ",".join(f"{name}={ends}" for name, ends in ranges.items()), "--target-range", target)
    for k in range(3):
        written(g, k)
        g.join(k)
    g.wait()
    assert configuration(g) == learnt
    assert predictions(g) == predictions(f)
    assert state(g) == state(f) and state(f)[0] == ROWS
    for k in range(3):
        assert f"{ROWS} samples, {ROWS} learnt" in (f.folder / f"agent-{k}.log").read_text()


def test_beside_a_stream_predictions_are_null_until_ranges_are_known(federation):
    f = federation("local", clients=3, steps=1)
    serve(f, *["--algorithm", "pof-mkl", *SMALL], "--columns", "wind", "--target", "power", "--learn-ranges", "3",
          "--quorum", "1", "--deadline", "0")
    agent = f.start(["join", "--server", f"127.0.0.1:{f.port}", "--certificates", f"pki/clients/{NAMES[0]}",
                     "--give-up", "60"], "agent", stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(i):
        agent.stdin.write(json.dumps({"id": i, "wind": i, "power": 10 * i}) + "\n")
        agent.stdin.flush()
        return json.loads(agent.stdout.readline())

    assert [ask(i) for i in range(3)] == [{"id": i, "prediction": None, "step": 0} for i in range(3)]
    f.until(lambda: "learn_ranges" not in configuration(f))
    assert configuration(f)["target"] == "-2:22 power"
    lines = 4
    while ask(lines - 1)["prediction"] is None:  # the agent has not heard of it yet
        lines += 1
    agent.stdin.close()
    assert agent.wait(60) == 0
    said = (f.folder / "agent.log").read_text()
    assert f"{lines} samples, {lines} learnt" in said and "the label's is -2:22" in said


def test_ranges_that_cannot_be_are_refused_and_change_nothing(federation, raw, v1):
    f = federation("local", clients=3, steps=1)
    serve(f, "--columns", "a,b", "--learn-ranges", "5")
    before = configuration(f)
    nan = float("nan")
    for least, greatest, words in [([0, 0], [1, 1], "there are 3"), ([0, nan, 0], [1, 1, 1], "not finite"),
                                   ([0, 2, 0], [1, 1, 1], "ends before it begins")]:
        client = raw(f)
        assert client.read().welcome.configuration["learn_ranges"] == b"5"
        client.send(v1.ClientMessage(ranges=v1.Ranges(least=least, greatest=greatest)))
        assert words in client.read().verdict.reason
        client.close()
    good = raw(f)
    good.read()
    good.send(v1.ClientMessage(ranges=v1.Ranges(least=[0, 0, 0], greatest=[1, 1, 1])))
    f.until(lambda: told(f, NAMES[0]) == 1)
    other = raw(f)
    assert other.read().welcome.has_ranges
    other.send(v1.ClientMessage(ranges=v1.Ranges(least=[0, 0, 0], greatest=[1, 1, 9])))
    assert "this client sent different ranges before" in other.read().verdict.reason
    assert configuration(f) == before
    assert "not finite" in (f.folder / "server.log").read_text()
    for name in NAMES[1:]:
        client = raw(f, name)
        client.read()
        client.send(v1.ClientMessage(ranges=v1.Ranges(least=[0, 0, 0], greatest=[1, 1, 1])))
    assert other.read().welcome.configuration["target"] == b"-0.1:1.1 "

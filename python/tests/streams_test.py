"""Streams in the order of time: the same predictions from the simulator and from agents that are fed line by line."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

import polykern as pk

POLYKERN = os.environ["POLYKERN"]
NAMES = ["hill", "shore"]
ROWS = 40
HEADER = "when,wind,power\n"


def rows(k):
    """Hourly, with a daily course and a label that depends on the one before it."""
    chance = np.random.default_rng(k)
    label, made = 50.0, []
    for hour in range(ROWS):
        wind = float(chance.uniform(0, 20))
        label = 0.7 * label + wind + 5 * np.sin(hour / 4) + float(chance.normal())
        made.append(f"2026-11-{16 + hour // 24} {hour % 24}:00,{wind!r},{float(label)!r}\n")
    return made


@pytest.fixture()
def expected(tmp_path):
    """Of the simulator, unscaled as an agent's are."""
    for k, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(HEADER + "".join(rows(k)))
    run = ["run", "--data", "hill.csv,shore.csv", "--target", "power", "--time", "when", "--lags", "1,2,5",
           "--calendar", "hour,weekday", "--scaling", "range", "--range", "wind=0:20,power=0:120", "-a", "pof-gram",
           "-r", "1", "--seed", "3", "--out", "o"]
    subprocess.run([POLYKERN, *run], cwd=tmp_path, check=True, capture_output=True)
    data = pk.load([tmp_path / f"{name}.csv" for name in NAMES], target="power", time="when", lags=[1, 2, 5],
                   calendar=["hour", "weekday"], scaling="range", ranges={"wind": (0, 20), "power": (0, 120)}, seed=3)
    assert data.X.shape == (ROWS, 2, 8)
    result = pk.simulate(data.X, data.Y, pk.PofGram(dimension=8, seed=3, forgetting="auto"), seed=3)
    fingerprints = [row["fingerprint"] for row in json.loads((tmp_path / "o/result.json").read_text())["runs"]]
    assert fingerprints == [result.fingerprint]
    return result.predictions * 120


def serve(folder):
    server = subprocess.Popen(
        [POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--algorithm", "pof-gram", "--columns", "wind",
         "--range", "wind=0:20", "--target", "power", "--target-range", "0:120", "--time", "when", "--lags", "1,2,5",
         "--calendar", "hour,weekday", "--seed", "3", "--steps", str(ROWS), "--clients", ",".join(NAMES)],
        cwd=folder, stdout=subprocess.PIPE, text=True)
    return server, re.match(r"listening on (127\.0\.0\.1:\d+)", server.stdout.readline())[1]


def join(folder, address, name):
    return subprocess.Popen(
        [POLYKERN, "join", "--server", address, "--insecure", "--name", name, "--state", f"{name}.state", "--wait",
         "--give-up", "60"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("killed_after", [None, 1, 17])
def test_an_agent_fed_line_by_line_predicts_as_the_simulator_does(tmp_path, expected, killed_after):
    server, address = serve(tmp_path)
    agents = [join(tmp_path, address, name) for name in NAMES]
    made = [[], []]
    try:
        for agent in agents:
            agent.stdin.write(HEADER)
        for t in range(ROWS):
            for k, agent in enumerate(agents):
                agent.stdin.write(rows(k)[t])
                agent.stdin.flush()
            for k, agent in enumerate(agents):
                made[k].append(json.loads(agent.stdout.readline())["prediction"])
            if t == killed_after:  # what lags need comes from the state
                end = agents[0].communicate()
                assert agents[0].returncode == 0, end
                agents[0] = join(tmp_path, address, NAMES[0])
                agents[0].stdin.write(HEADER)
        for k, agent in enumerate(agents):
            assert agent.communicate(timeout=60)[0] == "" and agent.returncode == 0
            assert np.allclose(made[k], expected[:, k], rtol=1e-15, atol=0), k
    finally:
        for process in [server, *agents]:
            process.kill()
            process.communicate()


def test_a_time_that_is_none_costs_its_line_alone(tmp_path):
    server, address = serve(tmp_path)
    agent = join(tmp_path, address, NAMES[0])
    try:
        agent.stdin.write(HEADER + "yesterday,3,20\n")
        agent.stdin.close()
        assert agent.wait(60) == 0
        assert '"yesterday" in column "when" is not a date; write it as 2026-11-16 08:30; skipped' in agent.stderr.read()
    finally:
        for process in [server, agent]:
            process.kill()
            process.wait()


@pytest.mark.parametrize("options, words", [
    (["--calendar", "hour"], "--time and --calendar need each other"),
    (["--time", "when"], "--time and --calendar need each other"),
    (["--time", "when", "--calendar", "moon"], "the calendar 'moon', which is not known here"),
    (["--lags", "1,1"], "the lags '1,1', which are not different numbers from 1 to 100000"),
    (["--lags", "1", "--scaling", "norm", "--norm", "9"], "--range does not go with --scaling norm"),
])
def test_what_cannot_be_derived_is_refused(tmp_path, options, words):
    done = subprocess.run([POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--columns", "wind", "--range",
                           "wind=0:20", "--target-range", "0:120", *options], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert not (tmp_path / "polykern.db").exists() and done.stderr.count("\n") == 1


def test_files_as_they_are_have_decimal_commas_missing_values_and_texts(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("a;wd;y\n1,5;N;2\n;S;3,5\n2,5;N;1\n")
    data = pk.load(path, target="y", decimal=",", delimiter="semicolon", missing="impute", categorical="wd")
    assert data.inputs == ["a", "wd=N", "wd=S", "a.missing"] and data.dropped_rows == 0
    assert data.X[1, 0, 0] == data.X[0, 0, 0] and data.notices == []
    assert pk.load(path, target="y", decimal=",", categorical="wd", categories="code").inputs == ["a", "wd"]
    with pytest.raises(ValueError, match="there are: code, onehot"):
        pk.load(path, target="y", categories="hot")

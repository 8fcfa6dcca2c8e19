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
           "-r", "1", "--seed", "3", "--out", "o", "--coverage", "0.8", "--predictions", "run.csv"]
    subprocess.run([POLYKERN, *run], cwd=tmp_path, check=True, capture_output=True)
    data = pk.load([tmp_path / f"{name}.csv" for name in NAMES], target="power", time="when", lags=[1, 2, 5],
                   calendar=["hour", "weekday"], scaling="range", ranges={"wind": (0, 20), "power": (0, 120)}, seed=3)
    assert data.X.shape == (ROWS, 2, 8)
    result = pk.simulate(data.X, data.Y, pk.PofGram(dimension=8, seed=3, forgetting="auto"), seed=3, coverage=0.8)
    fingerprints = [row["fingerprint"] for row in json.loads((tmp_path / "o/result.json").read_text())["runs"]]
    assert fingerprints == [result.fingerprint]
    assert result.intervals.shape == (ROWS, 2, 2) and np.isnan(result.intervals[0]).all()
    return np.dstack([result.predictions, result.intervals]) * 120


TIMED = ["--columns", "wind", "--time", "when", "--lags", "1,2,5", "--calendar", "hour,weekday"]


def serve(folder, *inputs, steps=ROWS):
    server = subprocess.Popen(
        [POLYKERN, "serve", "--quorum", "all", "--insecure", "--listen", "127.0.0.1:0", "--algorithm", "pof-gram", *(inputs or TIMED),
         "--range", "wind=0:20", "--target", "power", "--target-range", "0:120", "--seed", "3", "--steps", str(steps),
         "--clients", ",".join(NAMES)],
        cwd=folder, stdout=subprocess.PIPE, text=True)
    return server, re.match(r"listening on (127\.0\.0\.1:\d+)", server.stdout.readline())[1]


def join(folder, address, name, *more):
    return subprocess.Popen(
        [POLYKERN, "join", "--server", address, "--insecure", "--name", name, "--state", f"{name}.state", "--wait",
         "--give-up", "60", "--coverage", "0.8", "--predictions", "join.csv", *more], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("killed_after, late", [(None, False), (1, False), (17, False), (17, True)])
def test_an_agent_fed_line_by_line_predicts_as_the_simulator_does(tmp_path, expected, killed_after, late):
    server, address = serve(tmp_path)
    agents = [join(tmp_path, address, name) for name in NAMES]
    header = "id," + HEADER if late else HEADER
    made = [[], []]

    def say(agent, text):
        agent.stdin.write(text)
        agent.stdin.flush()

    try:
        for agent in agents:
            agent.stdin.write(header)
        for t in range(ROWS):
            for k, agent in enumerate(agents):
                when, wind, power = rows(k)[t].split(",")
                say(agent, f"s{t},{when},{wind},\n" if late else rows(k)[t])
            for k, agent in enumerate(agents):
                line = json.loads(agent.stdout.readline())
                made[k].append([np.nan if line[end] is None else line[end] for end in ("prediction", "low", "high")])
            if late:  # labels come when the predictions are known
                for k, agent in enumerate(agents):
                    say(agent, f"s{t},,,{rows(k)[t].split(',')[2]}")
            if t == killed_after:  # what lags and intervals need comes from the state
                end = agents[0].communicate()
                assert agents[0].returncode == 0, end
                agents[0] = join(tmp_path, address, NAMES[0])
                agents[0].stdin.write(header)
        for k, agent in enumerate(agents):
            assert agent.communicate(timeout=60)[0] == "" and agent.returncode == 0
            assert np.array_equal(made[k], expected[:, k], equal_nan=True), k
        of_agents, of_run = ((tmp_path / name).read_text().splitlines() for name in ("join.csv", "run.csv"))
        assert len(of_run) == 1 + 2 * ROWS and sorted(of_agents[1:]) == sorted(of_run[1:])
        assert of_agents[0] == of_run[0] == "time,client,label,prediction,low,high"
        assert (tmp_path / "join.csv").stat().st_mode & 0o777 == 0o600
    finally:
        for process in [server, *agents]:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("killed_after", [None, 17])
def test_forecasts_are_made_before_the_labels_between_are_known(tmp_path, killed_after):
    for k, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(HEADER + "".join(rows(k)))
    inputs = ["--time", "when", "--lags", "3,5", "--ahead", "3", "--calendar", "hour"]
    run = ["run", "--data", "hill.csv,shore.csv", "--target", "power", *inputs, "--scaling", "range", "--range",
           "wind=0:20,power=0:120", "-a", "pof-gram", "-r", "1", "--seed", "3", "--out", "o", "--coverage", "0.8",
           "--predictions", "run.csv"]
    subprocess.run([POLYKERN, *run], cwd=tmp_path, check=True, capture_output=True)
    of_run = (tmp_path / "run.csv").read_text().splitlines()
    assert len(of_run) == 1 + 2 * (ROWS - 2) and of_run[1].startswith("2026-11-16 02:00,hill,")
    result = json.loads((tmp_path / "o/result.json").read_text())
    assert result["data"]["ahead"] == 3 and result["data"]["steps"] == ROWS - 2

    data = pk.load([tmp_path / f"{name}.csv" for name in NAMES], target="power", time="when", lags=[3, 5], ahead=3,
                   calendar=["hour"], scaling="range", ranges={"wind": (0, 20), "power": (0, 120)}, seed=3)
    made = pk.simulate(data.X, data.Y, pk.PofGram(dimension=5, seed=3), seed=3, ahead=3)
    assert made.fingerprint == result["runs"][0]["fingerprint"]

    server, address = serve(tmp_path, "--columns", "wind", *inputs, steps=ROWS - 2)
    agents = [join(tmp_path, address, name) for name in NAMES]
    try:
        for agent in agents:
            agent.stdin.write(HEADER)
        for t in range(ROWS):
            for k, agent in enumerate(agents):
                agent.stdin.write(rows(k)[t])
                agent.stdin.flush()
            for agent in agents:
                assert json.loads(agent.stdout.readline())["step"] == max(0, t - 2)
            if t == killed_after:
                end = agents[0].communicate()
                assert agents[0].returncode == 0, end
                agents[0] = join(tmp_path, address, NAMES[0])
                agents[0].stdin.write(HEADER)
        for agent in agents:
            assert agent.communicate(timeout=60)[0] == "" and agent.returncode == 0
        assert sorted((tmp_path / "join.csv").read_text().splitlines()[1:]) == sorted(of_run[1:])
    finally:
        for process in [server, *agents]:
            process.kill()
            process.communicate()


COURSE = {"time": "when", "lags": [1, 2, 5], "calendar": ["hour", "weekday"]}
COLUMNS = {"wind": (0, 20)}


def course_of_agents(tmp_path, samples, steps=ROWS, coverage=None, columns=COLUMNS, **made):
    """What agents in Python predict, the first of which starts again on its way: [step, client, (prediction, low, high)].
    samples(k, t) gives inputs, label and time."""
    values = np.full((ROWS, 2, 3), np.nan)
    with pk.Server("pof-gram", columns=columns, target=("power", 0, 120), steps=steps, clients=NAMES, seed=3, **made) as server:
        begin = lambda name: pk.Agent(server.address, name=name, state=tmp_path / f"{name}.state", coverage=coverage)
        agents = [begin(name) for name in NAMES]
        for t in range(ROWS):
            for k, agent in enumerate(agents):
                x, _, when = samples(k, t)
                prediction = agent.predict(x, when)
                values[t, k] = [prediction, *(prediction.interval or (np.nan, np.nan))]
            for k, agent in enumerate(agents):
                assert agent.learn(samples(k, t)[1]) == (t >= ROWS - steps)
            if t in (5, 17):
                agents[0].wait_until_counted()
                agents[0].close()
                agents[0] = begin(NAMES[0])
        for agent in agents:
            agent.close()
    return values


def plain_sample(k, t):
    when, wind, power = rows(k)[t].split(",")
    return [float(wind)], float(power), when


def test_agents_in_python_make_their_inputs_as_run_does(tmp_path, expected):
    made = course_of_agents(tmp_path, plain_sample, coverage=0.8, **COURSE)
    np.testing.assert_array_equal(made, expected)


def test_agents_in_python_predict_ahead_as_run_does(tmp_path):
    for k, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(HEADER + "".join(rows(k)))
    data = pk.load([tmp_path / f"{name}.csv" for name in NAMES], target="power", time="when", lags=[3, 5], ahead=3,
                   scaling="range", ranges={"wind": (0, 20), "power": (0, 120)}, seed=3)
    of_run = pk.simulate(data.X, data.Y, pk.PofGram(dimension=3, seed=3), seed=3, ahead=3)
    made = course_of_agents(tmp_path, lambda k, t: (*plain_sample(k, t)[:2], None), steps=ROWS - 2, lags=[3, 5], ahead=3)
    np.testing.assert_array_equal(made[:-2, :, 0], 120 * of_run.predictions)


def test_agents_in_python_fill_gaps_and_read_texts_as_run_does(tmp_path):
    header = "when,weather,wind,power\n"
    for k, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(header + "".join(gappy(k)))
    data = pk.load([tmp_path / f"{name}.csv" for name in NAMES], target="power", time="when", lags=1, missing="impute",
                   categorical="weather", scaling="range", ranges={"wind": (0, 20), "power": (0, 120)}, seed=3)
    of_run = pk.simulate(data.X, data.Y, pk.PofGram(dimension=data.X.shape[2], seed=3, forgetting="auto"), seed=3)

    def sample(k, t):
        when, weather, wind, power = gappy(k)[t].split(",")
        return [weather or None, float("nan") if wind == "NA" else float(wind)], float(power), None

    made = course_of_agents(tmp_path, sample, columns={"weather": None, "wind": (0, 20)}, lags=1, missing="impute",
                            categories={"weather": ["rain", "sun", "fog"]})
    np.testing.assert_array_equal(made[:, :, 0], 120 * of_run.predictions)


def test_what_an_agent_in_python_cannot_use_is_refused_and_changes_nothing():
    with pk.Server(columns={"weather": None, "wind": (0, 20)}, target_range=(0, 1), time="when", lags=[1], missing="impute",
                   categories={"weather": ["sun"]}) as server, pk.Agent(server.address, name="mill") as agent:
        for x, when, kind, words in [
            (["sun", 3], None, ValueError, 'a column of times, "when": give time'),
            (["fog", 3], "2026-11-16", ValueError, '"fog" in column "weather" is not one of the federation\'s texts'),
            ([3, 3], "2026-11-16", TypeError, 'something else than a str for "weather"'),
            (["sun", "3"], "2026-11-16", TypeError, "wind"),
            (["sun"], "2026-11-16", ValueError, r"x is shorter than \(2,\)"),
            (["sun", 3, 4], "2026-11-16", ValueError, r"x is longer than \(2,\)"),
            (["sun", 3], "noon", ValueError, '"noon" in column "when" is not a date'),
        ]:
            with pytest.raises(kind, match=words):
                agent.predict(x, when)
        assert agent.predict([None, None], 7) == agent.predict(["sun", 3], "2026-11-16 08:00") == 0.5
    with pytest.raises(TypeError, match="lags"):
        pk.Server(columns=COLUMNS, target_range=(0, 1), lags=["1"])
    with pytest.raises(ValueError, match="the lag"):
        pk.Server(columns=COLUMNS, target_range=(0, 1), lags=[2], ahead=3)
    with pk.Server(columns=COLUMNS, target_range=(0, 1)) as server, pk.Agent(server.address, name="mill") as agent:
        with pytest.raises(ValueError, match="no column of times; leave out time"):
            agent.predict([3], "2026-11-16")


def gappy(k):
    """As rows, with a column of texts and a gap now and then in either column."""
    made = []
    for hour, line in enumerate(rows(k)):
        when, wind, power = line.rstrip().split(",")
        weather = "" if hour % 9 == 4 + k else ["rain", "sun", "fog"][(hour + hour // 7 + k) % 3]
        made.append(f"{when},{weather},{'NA' if hour % 6 == 2 + k else wind},{power}\n")
    return made


def test_an_hour_with_a_gap_gets_the_prediction_that_the_simulator_gives(tmp_path):
    header = "when,weather,wind,power\n"
    for k, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(header + "".join(gappy(k)))
    run = ["run", "--data", "hill.csv,shore.csv", "--target", "power", "--time", "when", "--lags", "1", "--missing", "impute",
           "--categorical", "weather", "--scaling", "range", "--range", "wind=0:20,power=0:120", "-a", "pof-gram",
           "-r", "1", "--seed", "3", "--out", "o", "--predictions", "run.csv"]
    subprocess.run([POLYKERN, *run], cwd=tmp_path, check=True, capture_output=True)
    inputs = json.loads((tmp_path / "o/result.json").read_text())["data"]["inputs"]
    assert inputs == ["weather=rain", "weather=sun", "weather=fog", "wind", "weather.missing", "wind.missing", "power.lag1"]
    server, address = serve(tmp_path, "--columns", "weather,wind", "--lags", "1", "--missing", "impute", "--categories",
                            "weather=rain:sun:fog")
    agents = []
    try:
        for part in (15, ROWS):  # a file that grew: what was learnt is passed over, and the means go on
            for k, name in enumerate(NAMES):
                (tmp_path / f"{name}.csv").write_text(header + "".join(gappy(k)[:part]))
            agents = [join(tmp_path, address, name, "--input", f"{name}.csv") for name in NAMES]
            for agent in agents:
                assert agent.wait(60) == 0, agent.stderr.read()
        of_agents, of_run = ([line.split(",")[1:4] for line in (tmp_path / name).read_text().splitlines()[1:]]
                             for name in ("join.csv", "run.csv"))
        assert len(of_run) == 2 * ROWS and sorted(of_agents) == sorted(of_run)
    finally:
        for process in [server, *agents]:
            process.kill()
            process.communicate()


def test_an_agent_in_python_has_the_intervals_of_the_simulator(tmp_path):
    x, y = np.linspace(-1, 1, 30), np.sin(3 * np.linspace(-1, 1, 30)) / 2 + 0.5
    bank = pk.KernelBank.dictionary("gaussian", 1, 10, kernels=5)
    result = pk.simulate(x[:, None, None], y[:, None], pk.PofMkl(bank, kernels_per_upload=2), coverage=0.7)
    made = []
    with pk.Server("pof-mkl", 1, target_range="none", kernels=5, features=10, kernels_per_upload=2, steps=30) as server:
        for half in (slice(0, 11), slice(11, 30)):
            with pk.Agent(server.address, name="mill", state=tmp_path / "mill.state", coverage=0.7) as agent:
                for one, label in zip(x[half], y[half]):
                    prediction = agent.predict([one])
                    made.append([prediction.value, *(prediction.interval or (np.nan, np.nan))])
                    agent.learn(label)
                agent.wait_until_counted()
    expected = np.dstack([result.predictions, result.intervals])[:, 0]
    assert np.array_equal(made, expected, equal_nan=True)
    assert result.coverage == np.mean((expected[1:, 1] <= y[1:]) & (y[1:] <= expected[1:, 2]))


@pytest.mark.parametrize("coverage", [0, 1, -0.1, float("nan")])
def test_a_coverage_of_none_or_all_is_refused(coverage):
    local = pk.Local(pk.KernelBank.dictionary("gaussian", 1, 10, kernels=5))
    with pytest.raises(ValueError, match="coverage is .*; it must lie between 0 and 1, such as 0.9"):
        pk.simulate(np.zeros((3, 1, 1)), np.zeros((3, 1)), local, coverage=coverage)
    with pytest.raises(ValueError, match="coverage is .*; it must lie between 0 and 1, such as 0.9"):
        pk.Agent("127.0.0.1:1", name="mill", coverage=coverage)


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
    (["--calendar", "hour"], "--calendar needs --time COLUMN: it is that of the times in this column"),
    (["--time", "when", "--calendar", "moon"], "the calendar 'moon', which is not known here"),
    (["--categories", "wnd=a:b"], '--categories are given for "wnd"; did you mean "wind"?'),
    (["--categories", "wind=a:a"], '--categories has "wind=a:a", which is not of the form COLUMN=TEXT:TEXT:..'),
    (["--lags", "2", "--ahead", "3"], "the lag 2, which is not known 3 steps ahead; choose at least 3"),
    (["--ahead", "2000"], "the ahead 2000, which is not between 1 and 1000"),
    (["--lags", "1,1"], "the lags '1,1', which are not different numbers from 1 to 100000"),
    (["--lags", "1", "--scaling", "norm", "--norm", "9"], "--range cannot be combined with --scaling norm"),
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

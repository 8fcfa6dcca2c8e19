"""An exported model: polykern predict gives what an agent with it would, and says in one line what does not fit."""

import json
import math
import os
import random
import re
import signal
import subprocess

import pytest

POLYKERN = os.environ["POLYKERN"]
STEPS = 240


def rows(seed, count, label=True):
    chance = random.Random(seed)
    text = "id,wind,heat" + (",power" if label else "") + "\n"
    for n in range(count):
        wind, heat = chance.uniform(0, 22), chance.uniform(-40, 60)
        power = 1500 + 1000 * math.sin(wind / 4) * math.cos(heat / 30)
        text += f"s{n},{wind},{heat}" + (f",{power}" if label else "") + "\n"
    return text


def joined(folder, address, text, *more):
    done = subprocess.run([POLYKERN, "join", "--server", address, "--insecure", "--name", "mill", "--give-up", "20", *more],
                          cwd=folder, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """What a federation of one agent has left behind, and what that agent predicts then for samples without labels."""
    folder = tmp_path_factory.mktemp("learnt")
    server = subprocess.Popen(
        [POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--columns", "wind,heat", "--range", "wind=0:20,heat=-40:60",
         "--target", "power", "--target-range", "0:3000", "--clients", "mill", "--quorum", "all", "--log", "none"],
        cwd=folder, stdout=subprocess.PIPE, text=True)
    address = re.search(r"listening on (\S+):", server.stdout.readline()).group(1)
    joined(folder, address, rows(1, STEPS), "--wait", "--state", "mill.state")
    (folder / "new.csv").write_text(rows(2, 20, label=False))
    unlabelled = "".join(line + ("power\n" if n == 0 else "\n") for n, line in enumerate(f"{line}," for line in rows(2, 20, label=False).splitlines()))
    predicted = joined(folder, address, unlabelled, "--wait", "--state", "mill.state")
    server.send_signal(signal.SIGTERM)
    assert server.wait(10) == 0
    subprocess.run([POLYKERN, "store", "export", "store.db", "--out", "wind.model"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder, predicted


def predict(folder, *more, data="new.csv", **options):
    return subprocess.run([POLYKERN, "predict", "--model", "wind.model", "--data", data, *more], cwd=folder, capture_output=True, text=True, **options)


def test_predictions_are_those_of_the_agent_bit_by_bit(learnt):
    folder, expected = learnt
    done = predict(folder, "--state", "mill.state")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
    assert "20 samples; 0 bad lines" in done.stderr


def test_the_model_alone_is_useful(learnt):
    folder, _ = learnt
    (folder / "known.csv").write_text(rows(3, 100))
    done = predict(folder, data="known.csv")
    assert done.returncode == 0, done.stderr
    truth = [float(line.split(",")[3]) for line in rows(3, 100).splitlines()[1:]]
    made = [json.loads(line)["prediction"] for line in done.stdout.splitlines()]
    error = math.sqrt(sum((p - y) ** 2 for p, y in zip(made, truth)) / len(truth))
    spread = math.sqrt(sum((y - 1500) ** 2 for y in truth) / len(truth))
    assert error < spread / 2, (error, spread)
    again = predict(folder, data="-", input="\n".join(
        json.dumps(dict(zip(["id", "wind", "heat"], [c[0], float(c[1]), float(c[2])]))) for c in (line.split(",") for line in rows(3, 100).splitlines()[1:])))
    assert again.stdout == done.stdout, again.stderr
    exported = json.loads(subprocess.run([POLYKERN, "store", "export", "store.db", "--format", "json"], cwd=folder, capture_output=True).stdout)
    assert (folder / "wind.model").stat().st_size < len(json.dumps(exported["state"])) / 20


def test_what_does_not_fit_is_said_in_one_line(learnt, tmp_path):
    folder, _ = learnt
    (folder / "other.csv").write_text("wind,warmth\n1,2\n")
    (folder / "cut.model").write_bytes((folder / "wind.model").read_bytes()[:-9])
    for arguments, words in [
        (["--data", "other.csv"], 'other.csv: there is no column "heat"'),
        (["--data", "none.csv"], "none.csv"),
        (["--model", "cut.model"], "cut.model: a damaged model"),
        (["--model", "new.csv"], "new.csv: not a model of polykern"),
        (["--model", "none.model"], "none.model"),
        (["--state", "none.state"], "none.state: there is no such file"),
        (["--state", "wind.model"], "wind.model: not an agent's state, or damaged"),
    ]:
        given = {"--model": "wind.model", "--data": "new.csv", **dict([arguments])}
        done = subprocess.run([POLYKERN, "predict", *(word for pair in given.items() for word in pair)], cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, ""), (arguments, done.stderr)
        assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr

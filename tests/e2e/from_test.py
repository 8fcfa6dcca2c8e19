"""serve --from: a federation with other settings begins from an old one, and what was learnt is not lost."""

import json
import math
import os
import random
import re
import signal
import subprocess
import time

import pytest

POLYKERN = os.environ["POLYKERN"]
NAMES = ["mill", "farm", "port", "hill"]
BEFORE, AFTER = 240, 90
RANGES = ["--columns", "wind,heat", "--range", "wind=0:20,heat=-40:60", "--target", "power", "--target-range", "0:3000"]
CHANGED = ["--columns", "wind,heat,gust", "--range", "wind=0:26,gust=0:50"]


def sample(chance, k):
    """Some winds are beyond the first range, and the gusts matter a little: no model without them is as good."""
    wind, heat, gust = chance.uniform(0, 22), chance.uniform(-40, 60), chance.uniform(0, 50)
    power = 1500 + 900 * math.sin(wind / 4 + k / 4) * math.cos(heat / 40) + 4 * (gust - 25) + chance.gauss(0, 60)
    return wind, heat, gust, power


class Fleet:
    def __init__(self, folder):
        self.folder, self.port, self.server, self.agents, self.truth = folder, 0, None, [], []
        for k, name in enumerate(NAMES):
            chance = random.Random(name)
            rows = [sample(chance, k) for _ in range(BEFORE + AFTER + 20)]
            self.truth.append([row[3] for row in rows])
            (folder / f"{name}.csv").write_text("wind,heat,gust,power\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))

    def serve(self, *options):
        for _ in range(50):  # the port may not be free at once after a kill
            self.server = subprocess.Popen(
                [POLYKERN, "serve", "--insecure", "--listen", f"127.0.0.1:{self.port}", "--clients", ",".join(NAMES), "--quorum", "all",
                 "--log", "none", *options], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            line = self.server.stdout.readline()
            if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return line
            self.said = self.server.communicate()[1]
            time.sleep(0.05)
        raise AssertionError(self.said)

    def join(self, k):
        with open(self.folder / f"{NAMES[k]}.out", "a") as out, open(self.folder / f"{NAMES[k]}.err", "a") as err:
            return subprocess.Popen(
                [POLYKERN, "join", "--server", f"127.0.0.1:{self.port}", "--insecure", "--name", NAMES[k], "--input", f"{NAMES[k]}.csv",
                 "--state", f"{NAMES[k]}.state", "--give-up", "60", "--wait"], cwd=self.folder, stdout=out, stderr=err)

    def made(self, k):
        return [json.loads(line) for line in (self.folder / f"{NAMES[k]}.out").read_text().splitlines()]

    def wait_for(self, lines):
        end = time.monotonic() + 60
        while any(len((self.folder / f"{name}.out").read_text().splitlines()) < lines for name in NAMES):
            assert time.monotonic() < end, [(self.folder / f"{name}.err").read_text() for name in NAMES]
            time.sleep(0.02)

    def kill(self, process):
        process.kill()
        process.wait()
        if process.stdout:
            process.communicate()

    def error(self, first, last):
        """Root mean square over the lines first .. last - 1 of all clients, the newest prediction of each."""
        total, count = 0, 0
        for k in range(len(NAMES)):
            newest = {p["id"] - 2: p["prediction"] for p in self.made(k)}
            for n in range(first, last):
                total, count = total + (newest[n] - self.truth[k][n]) ** 2, count + 1
        return math.sqrt(total / count)

    def changes_at(self):
        """The line from which on the last client was in the new federation."""
        return max(next(i for i, p in enumerate(made) if i > 100 and p["step"] == 0) for made in map(self.made, range(len(NAMES))))

    def close(self):
        for process in [*self.agents, *([self.server] if self.server else [])]:
            if process.poll() is None:
                self.kill(process)


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(tmp_path)
    yield made
    made.close()


def test_a_changed_range_and_an_added_column_cost_nothing(fleet):
    fleet.serve("--store", "old.db", *RANGES)
    fleet.agents = [fleet.join(k) for k in range(len(NAMES))]
    fleet.wait_for(BEFORE)
    fleet.kill(fleet.server)
    fleet.serve("--store", "new.db", "--from", "old.db", *CHANGED)
    assert "of an earlier federation, of step" in fleet.server.stdout.readline() + fleet.server.stdout.readline()
    fleet.wait_for(BEFORE + 40)
    # What is killed resumes, and neither needs to be told again.
    fleet.kill(fleet.server)
    fleet.kill(fleet.agents[1])
    fleet.serve("--store", "new.db")
    fleet.agents[1] = fleet.join(1)
    fleet.wait_for(BEFORE + AFTER)
    for process in [*fleet.agents, fleet.server]:
        fleet.kill(process)
    change = fleet.changes_at()
    assert BEFORE <= change <= BEFORE + 20
    before = fleet.error(BEFORE - 100, BEFORE)
    after = fleet.error(change, change + 50)
    assert after < 1.2 * before, (before, after)
    steps = [p["step"] for p in fleet.made(0)[change:]]
    assert steps == sorted(steps) and steps[-1] > AFTER - 20, "one federation, before and after the kill"
    shown = json.loads(subprocess.run([POLYKERN, "store", "show", "new.db", "--format", "json"], cwd=fleet.folder, capture_output=True).stdout)
    assert len(shown["configuration"]["from"]) > 1000
    text = subprocess.run([POLYKERN, "store", "show", "new.db"], cwd=fleet.folder, capture_output=True, text=True).stdout
    assert re.search(r"^from = \(\d+ letters\)$", text, re.M)
    # Its own export knows of the model before it, and needs the new column.
    subprocess.run([POLYKERN, "store", "export", "new.db", "--out", "new.model"], cwd=fleet.folder, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([POLYKERN, "predict", "--model", "new.model", "--data", "mill.csv"], cwd=fleet.folder, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == len(fleet.truth[0]), done.stderr


def test_a_new_store_without_it_forgets_all(fleet):
    """So the test above can fail."""
    fleet.serve("--store", "new.db", *RANGES[:0], "--columns", "wind,heat,gust", "--range", "wind=0:26,heat=-40:60,gust=0:50",
                "--target", "power", "--target-range", "0:3000")
    fleet.agents = [fleet.join(k) for k in range(len(NAMES))]
    fleet.wait_for(BEFORE)
    assert fleet.error(0, 50) > 1.2 * fleet.error(BEFORE - 100, BEFORE)


def test_what_does_not_fit_is_said_in_one_line(fleet):
    fleet.serve("--store", "old.db", *RANGES)
    fleet.kill(fleet.server)
    for options, words in [
        (["--from", "none.db"], "none.db: there is no store here"),
        (["--from", "old.db"], "old.db: no step is committed yet"),
    ]:
        done = subprocess.run([POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--store", "new.db", *options], cwd=fleet.folder,
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
    assert not (fleet.folder / "new.db").exists()

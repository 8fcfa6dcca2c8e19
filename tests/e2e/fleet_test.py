"""A fleet whose clients come, go, fall silent and are revoked; what its operator says of them."""

import json
import pathlib
import random
import re
import signal
import subprocess
import time
import urllib.request

import pytest

from federation import POLYKERN, kill


def waited(condition, seconds=60):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end
        time.sleep(0.05)


def command(f, *arguments):
    return subprocess.run([POLYKERN, *map(str, arguments)], cwd=f.folder, text=True, capture_output=True)


def listed(f):
    return {c["name"]: c for c in json.loads(command(f, "client", "list", ".", "--format", "json").stdout)}


def stands_still(f):
    """The others have answered the open step, and it does not end."""
    before = -1
    while f.step() != before:
        before = f.step()
        time.sleep(0.5)
    return before


def test_who_left_for_good_is_forgotten_or_revoked_while_the_server_runs(federation):
    f = federation("pof-mkl", clients=4, steps=400)
    f.serve(clients=[])
    for k in range(4):
        f.join_slowly(k, 0.05)
    waited(lambda: f.reached(3) and sum(c["next_step"] > 0 for c in listed(f).values()) == 4)
    assert "station-1 is connected" in command(f, "client", "forget", ".", "station-1").stderr.replace("'", "")
    kill(f.agents.pop(3))
    before = stands_still(f)
    assert command(f, "client", "forget", ".", "station-3").stdout.startswith("forgotten  station-3")
    waited(lambda: f.reached(before + 3))
    kill(f.agents.pop(2))
    before = stands_still(f)
    f.do("pki", "revoke", "station-2")
    waited(lambda: f.reached(before + 3))
    assert command(f, "client", "label", "store.db", "station-0", "roof, <north>").returncode == 0
    clients = listed(f)
    assert {name: c["state"] for name, c in clients.items()} == {
        "station-0": "connected", "station-1": "connected", "station-2": "revoked", "station-3": "forgotten"}
    assert clients["station-0"]["label"] == "roof, <north>"
    assert abs(clients["station-0"]["expires"] - time.time() - 730 * 86400) < 1000
    shown = command(f, "client", "list", ".").stdout
    assert "roof, <north>" in shown and "certificate expires" in shown

    # It is enrolled again, with its number and a place in every step.
    f.do("pki", "issue", "station-2")
    f.join_slowly(2, 0.05)
    waited(lambda: listed(f)["station-2"]["state"] == "connected")
    kill(f.agents.pop(2))
    before = stands_still(f)
    kill(f.server)
    assert "station-2" in (f.folder / "server.log").read_text()
    assert command(f, "client", "forget", ".", "station-2").returncode == 0  # nobody runs
    f.serve(clients=[])
    waited(lambda: f.reached(before + 3))
    assert [c["number"] for c in listed(f).values()] == [0, 1, 2, 3]


@pytest.mark.parametrize("arguments, said", [
    (["forget", ".", "nobody"], "'nobody' is not a client of this federation"),
    (["label", "nowhere", "a", "b"], "there is no store here"),
    (["label", ".", "station-0", "x" * 201], "at most 200 bytes"),
])
def test_mistakes_are_one_line(federation, arguments, said):
    f = federation("pof-mkl", clients=1, steps=1)
    f.serve(clients=[])
    f.join(0)
    f.wait()
    for running in (True, False):
        if not running:
            kill(f.server)
        done = command(f, "client", *arguments)
        assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1


def test_quorum_and_deadline_are_read_again_on_a_signal(federation):
    f = federation("pof-mkl", clients=2, steps=400)
    file = f.folder / "serve.toml"
    file.write_text('[serve]\nquorum = "all"\ndeadline = 0.5\n')
    f.serve("--config", "serve.toml", "--log", "server.txt")
    for k in range(2):
        f.join_slowly(k, 0.05)
    waited(lambda: f.reached(3))
    kill(f.agents.pop(1))
    before = stands_still(f)
    log = lambda: (f.folder / "server.txt").read_text()
    file.write_text('[serve]\nquorum = "most"\n')
    f.server.send_signal(signal.SIGHUP)
    waited(lambda: "unchanged: --quorum 'most' is not all" in log())
    assert f.step() == before
    file.write_text("[serve]\nquorum = 1\ndeadline = 0.1\nmax-clients = 7\n")
    f.server.send_signal(signal.SIGHUP)
    waited(lambda: f.reached(before + 3))
    waited(lambda: "changed: quorum 1, deadline 0.1 s, at most 7 clients" in log())


def test_clients_are_issued_from_a_list(polykern, tmp_path):
    polykern("pki", "init", "--server", "localhost")
    names = [f"pump-{k}" for k in range(12)]
    (tmp_path / "names.txt").write_text("# pumps\n" + "\n".join(names) + "\n\n")
    done = polykern("pki", "issue", "@names.txt", "valve", "--out", "made")
    assert done.code == 0 and done.out.startswith("issued     13 clients")
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == sorted([*names, "valve"])
    assert (tmp_path / "made/pump-3/client.key").stat().st_mode & 0o777 == 0o600
    done = polykern("pki", "issue", "new", "@names.txt")
    assert done.code == 1 and done.err.count("\n") == 1
    assert "pump-0, pump-1, pump-2, pump-3, pump-4 and 7 more" in done.err and "--skip-issued" in done.err
    assert not pathlib.Path(tmp_path / "pki/clients/new").exists()
    assert polykern("pki", "issue", "new", "@names.txt", "--skip-issued").out.startswith("issued     1 client,")
    assert "'x' is named twice" in polykern("pki", "issue", "x", "x").err
    assert '"a b" is not a client' in polykern("pki", "issue", "x", "a b").err


class Turnover:
    """Agents beside streams that never end; who they are changes all the time."""

    def __init__(self, f, size, silent):
        self.f, self.size, self.silent = f, size, silent
        self.chance = random.Random(5)
        self.made, self.live = 0, []
        self.add()
        self.pacer = self.live.pop()[1]

    def add(self):
        """One that answers, or one that is connected and never says anything."""
        name = f"unit-{self.made}"
        self.made += 1
        self.f.do("pki", "issue", name)
        quiet = self.made % self.silent == 0
        agent = self.f.start(
            ["join", "--server", f"127.0.0.1:{self.f.port}", "--certificates", f"pki/clients/{name}", "--state",
             f"{name}.state", "--wait"], name, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        agent.stdin.write("x0,x1,x2,x3,x4,y\n")
        if not quiet and self.made > 1:
            for _ in range(1200):  # what a pipe holds
                agent.stdin.write(self.row())
        agent.stdin.flush()
        self.live.append((name, agent))

    def row(self):
        return ",".join(f"{self.chance.uniform(-1, 1):.3f}" for _ in range(5)) + ",0.5\n"

    def pace(self):
        """Lets one more step end: the first client answers none without this, and the others wait for it."""
        self.pacer.stdin.write(self.row())
        self.pacer.stdin.flush()

    def replace(self):
        """The oldest goes: revoked, stopped or killed."""
        name, agent = self.live.pop(0)
        way = self.made % 3
        if way == 0:
            self.f.do("pki", "revoke", name)
        agent.send_signal(signal.SIGTERM if way == 1 else signal.SIGKILL)
        agent.stdin.close()
        agent.wait()
        self.add()


def turn_over(f, clients, steps, deadline):
    """The fleet, the longest time between steps, and how many steps took longer than 10 s from their first answer."""
    f.steps = 0
    metrics = re.search(r"metrics on (\S+)", f.serve("--quorum", "80%", "--deadline", deadline, "--metrics", 0, clients=[]))[1]
    fleet = Turnover(f, clients, silent=10)
    for _ in range(clients - 1):
        fleet.add()
    longest, step, since, replaced = 0, 0, time.time(), 0
    while step < steps:
        fleet.pace()
        time.sleep(0.1)
        if f.reached(step + 1):
            step, since = f.step(), time.time()
        longest = max(longest, time.time() - since)
        assert longest < 60, f"no step after {step}: {command(f, 'client', 'list', '.').stdout}"
        while step >= replaced + 10:
            fleet.replace()
            replaced += 10
    page = urllib.request.urlopen(f"http://{metrics}/metrics").read().decode()
    steps = {n: float(re.search(rf"polykern_step_seconds_{n} (\S+)", page)[1]) for n in ("count", 'bucket{le="10"}')}
    return fleet, longest, steps["count"] - steps['bucket{le="10"}']


def test_steps_do_not_wait_for_who_is_gone_revoked_or_silent(federation):
    f = federation("pof-mkl", clients=1, steps=1)
    fleet, _, slow = turn_over(f, clients=8, steps=60, deadline=2)
    assert slow == 0
    assert fleet.made >= 8 + 6
    states = [c["state"] for c in listed(f).values()]
    assert states.count("silent") + states.count("connected") >= 7
    assert "revoked" in states


@pytest.mark.long
def test_a_fleet_with_turnover_takes_a_thousand_steps(federation):
    f = federation("pof-mkl", clients=1, steps=1)
    fleet, longest, slow = turn_over(f, clients=30, steps=1000, deadline=5)
    assert fleet.made == 30 + 100
    print(f"{fleet.made} clients, at most {longest:.1f} s between two steps, {slow:.0f} of more than 10 s")
    assert slow == 0
    assert longest < 10  # the deadline, and what a busy machine takes to look

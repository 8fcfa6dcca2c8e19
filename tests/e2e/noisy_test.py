"""Noisy sums in a real federation: whoever adds the noise, no budget is exceeded, whatever is killed."""

import json
import random
import re
import signal
import sqlite3
import struct
import subprocess
import time

import helper_test
import pytest
from federation import CLIENTS, POLYKERN, kill
from helper_test import NUMBERS, added, bits_of, messages, number, text  # messages: a fixture
from masked_test import Helper, forget, join_slowly

RELEASES = 4
NOISE = ["--epsilon", "2", "--releases", RELEASES, "--target-range", "0:1"]


class Noisy:
    """A federation whose sums get noise, from its server or a helper."""

    def __init__(self, f, helper=None):
        self.f, self.helper = f, helper
        self.metrics = None

    def serve(self, *more):
        masks = ["--masking", "helper", "--helper", self.helper.address] if self.helper else []
        said = self.f.serve(*NOISE, *masks, "--metrics", "127.0.0.1:0", *more)
        self.metrics = re.search(r"metrics on (\S+)", said)[1].rstrip(",")
        return self.f.server.stdout.readline(), self.f.server.stdout.readline()

    def log(self):
        return (self.f.folder / "server.log").read_text()

    def status(self):
        done = subprocess.run([POLYKERN, "status", self.metrics, "--format", "json"], capture_output=True, text=True)
        return json.loads(done.stdout)

    def simulated(self, *more):
        """What a simulation of as many clients and steps spends."""
        f = self.f
        subprocess.run([POLYKERN, "run", "-a", "pof-gram", "--clients", str(len(f.names)), "--steps", str(f.steps),
                        "-r", "1", "--epsilon", "2", "--releases", str(RELEASES), "--out", "simulated", *more],
                       cwd=f.folder, check=True, stdout=subprocess.DEVNULL)
        (run,) = json.loads((f.folder / "simulated/result.json").read_text())["runs"]
        return run["epsilon_spent"]

    def check_end(self, *simulated, killed=False):
        """All is spent, as in a simulation; and everybody has predicted to the end. Servers may have been killed before they could say so."""
        f, status = self.f, self.status()
        assert status["noise"]["releases"] == RELEASES and status["noise"]["releases_left"] == 0
        assert 1.999 < status["noise"]["epsilon_spent"] <= 2
        assert status["noise"]["epsilon_spent"] == pytest.approx(self.simulated(*simulated), rel=1e-12)
        assert status["releases"] == {"total": RELEASES, "discarded": 0}
        assert "discarded" not in self.log()
        if not killed:
            f.until(lambda: f"released: {RELEASES} of {RELEASES} noisy sums so far; epsilon " in self.log())
            f.until(lambda: "and the model stays as it is" in self.log())
        for k in range(len(f.names)):
            made = [json.loads(line) for line in (f.folder / f"{k}.out").read_text().splitlines()]
            assert {p["step"] for p in made} == set(range(f.steps))


@pytest.fixture
def noisy(federation):
    def make(by_helper, **options):
        f = federation("pof-gram", **options)
        return Noisy(f, Helper(f).start() if by_helper else None)

    return make


def join_all(f, *more):
    for k in range(len(f.names)):
        f.join(k, *more)


def test_a_server_adds_noise_and_says_whom_it_protects(noisy):
    n = noisy(False)
    sees, said = n.serve()
    assert sees == "of each client it sees sums over its samples\n"
    assert "protected from each other and from readers of the model, not from this server" in said
    assert "epsilon 2 at delta 1e-06 for every row, 0 of it spent by 0 of 4 releases" in said
    assert n.status()["noise"]["epsilon_spent"] == 0 and n.status()["helper"] is None
    join_all(n.f)
    n.f.wait()
    n.check_end()
    shown = subprocess.run([POLYKERN, "status", n.metrics], capture_output=True, text=True).stdout
    assert re.search(r"(?m)^labels clipped +-$", shown), "agents do not tell"
    kill(n.f.server)
    said = subprocess.run([POLYKERN, "store", "export", "store.db", "--out", "noisy.model"], cwd=n.f.folder, capture_output=True, text=True).stdout
    assert "made only from noisy sums" in said
    _, said = n.serve()  # what was spent is not forgotten
    assert "of it spent by 4 of 4 releases" in said
    n.check_end()


def test_a_helper_adds_noise_and_the_server_sees_nothing_else(noisy):
    n = noisy(True)
    sees, said = n.serve()
    assert "it sees only sums over several clients" in sees
    assert "the helper adds noise to the sums: they are never seen without it" in said
    join_all(n.f, "--masked")
    n.f.wait()
    n.check_end("--masking", "helper")
    assert n.status()["helper"]["connected"] is True
    assert n.status()["helper"]["answered_seconds"] < 100
    n.helper.process.send_signal(signal.SIGTERM)
    assert n.helper.process.wait(10) == 0
    assert re.search(r"answered: release 3 .*; epsilon spent: (1.99\d*|2) of 2\n", (n.f.folder / "helper.log").read_text())
    shown = subprocess.run([POLYKERN, "status", n.metrics], capture_output=True, text=True).stdout
    assert re.search(r"epsilon spent +\S", shown) and re.search(r"helper connected +no", shown)


@pytest.mark.parametrize("by_helper", [False, True], ids=["server", "helper"])
@pytest.mark.parametrize("steps, servers, helpers, agents", [(40, 6, 6, 8), pytest.param(80, 20, 20, 40, marks=pytest.mark.long)])
def test_kills_at_any_moment_release_nothing_twice(noisy, by_helper, steps, servers, helpers, agents):
    n = noisy(by_helper, steps=steps)
    f = n.f
    chance = random.Random(7)
    n.serve()
    join_all(f)
    victims = ["server"] * servers + ["helper"] * (helpers if by_helper else 0) + ["agent"] * agents
    chance.shuffle(victims)
    for k, victim in enumerate(victims):  # most of them while there are releases
        while not f.reached(2 + min(k // 2, steps - 10)):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.03))
        if victim == "server":
            kill(f.server)
            n.serve()
        elif victim == "helper":
            kill(n.helper.process)
            n.helper.start()
        else:
            agent = chance.randrange(CLIENTS)
            kill(f.agents[agent])
            f.join(agent)
    f.wait()
    n.check_end(*(["--masking", "helper"] if by_helper else []), killed=True)
    if not by_helper:
        return
    answered = re.findall(r"answered: release (\d+) ", (f.folder / "helper.log").read_text())
    assert len(answered) == len(set(answered)) <= RELEASES  # killed before it could say so
    log = sqlite3.connect(f"file:{f.folder}/helper.db?mode=ro", uri=True)
    assert log.execute("SELECT count(*) FROM stream").fetchone()[0] == RELEASES
    log.close()


@pytest.mark.parametrize("options, said", [
    (["--target-range", "none"], "--target-range none cannot be combined with --epsilon"),
    (["--learn-ranges", "10", "--columns", "a,b"], "--learn-ranges cannot be combined with --epsilon"),
    (["--target-range", "0:1", "--mode", "async"], "--mode async cannot be combined with --epsilon"),
    (["--target-range", "0:1", "--masking", "pairwise", "--clients", "a,b,c"], "--epsilon cannot be combined with --masking pairwise"),
    (["--target-range", "0:1", "--missing", "impute"], "--missing impute cannot be combined with --epsilon"),
    (["--target-range", "0:1", "--algorithm", "pof-mkl"], "pof-mkl has no noise"),
    (["--target-range", "0:1", "--epsilon", "1e-9"], "--epsilon is too small for noise in such a small unit"),
])
def test_what_would_leak_beside_noise_is_refused(polykern, tmp_path, options, said):
    given = [*([] if "--epsilon" in options else ["--epsilon", "1"]),
             *([] if "--columns" in options else ["--dimension", "2"])]
    done = polykern("serve", "--insecure", "--listen", "127.0.0.1:0", "--store", "other.db", *given, *options)
    assert done.code != 0
    assert said in done.err and done.err.count("\n") == 1, done.err
    assert not (tmp_path / "other.db").exists()


def test_noise_is_not_changed_once_there_is_a_store(noisy):
    n = noisy(False, steps=4, clients=2)
    n.serve()
    join_all(n.f)
    n.f.wait()
    kill(n.f.server)
    for changed in (["--epsilon", "3"], ["--delta", "1e-5"], ["--releases", "9"], ["--epsilon", "none"]):
        done = subprocess.run([POLYKERN, "serve", "--listen", "127.0.0.1:0", *changed], cwd=n.f.folder,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and changed[0].strip("-") in done.stderr, done.stderr


def test_agents_that_would_leak_are_told(noisy):
    n = noisy(False, steps=4, clients=3)
    n.serve()
    f = n.f
    f.join(0, "--report", give_up=5)
    f.agents[1] = f.start(["join", "--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-1", "--input",
                           "1.csv", "--give-up", 5], "agent-1", stdout=subprocess.DEVNULL)
    for k, said in [(0, "--report tells the server what the noise hides"), (1, "--state FILE is needed")]:
        assert f.agents[k].wait(30) != 0
        assert said in (f.folder / f"agent-{k}.log").read_text()
    assert f.step() == 0


def test_an_agent_that_lost_its_state_does_not_send_samples_again(noisy):
    n = noisy(False, steps=20, clients=2)
    n.serve()
    f = n.f
    join_all(f)
    while not f.reached(5):
        time.sleep(0.01)
    kill(f.agents[0])
    (f.folder / "0.state").unlink()
    f.join(0, give_up=5)
    assert f.agents[0].wait(30) != 0
    assert "its samples might leave a second time" in (f.folder / "agent-0.log").read_text()


def test_a_restored_store_says_that_its_noisy_sums_cannot_go_on(noisy):
    n = noisy(True, steps=140)
    f = n.f
    f.steps = 60  # agents have samples for what is answered twice
    n.serve()
    join_slowly(f)
    released = lambda number: lambda: f"answered: release {number} " in (f.folder / "helper.log").read_text()
    forget(f, first=released(0), then=released(2))
    answered = lambda: (f.folder / "helper.log").read_text().count("answered: ")
    n.serve()
    said = r"was restored from a backup: it knows of (\d) noisy sums, the helper has answered (\d)"
    f.until(lambda: re.search(said, n.log()))
    known, told = map(int, re.search(said, n.log()).groups())
    assert known < told
    f.until(lambda: answered() == told)  # the last one may have been asked for as the server was killed
    f.until(lambda: "put back the store from before" in n.status()["trouble"])
    f.until(lambda: n.log().count("discarded: the sums") >= 3)  # everybody goes on predicting, further than before
    assert answered() == told, "nothing more is spent"
    kill(f.server)
    for file in f.folder.glob("store.db-[wl]*"):
        file.unlink()
    (f.folder / "store.db-before").rename(f.folder / "store.db")
    n.serve()
    f.wait()
    status = n.status()
    assert status["noise"]["releases"] == RELEASES and "backup" not in status["trouble"]


class NoisyHelped(helper_test.Helped):
    """A helper that was promised noise for two releases, and a server and clients that share no code with it."""

    kind, unit = 0, 2.0 ** -16
    epsilon, delta, releases = 1.0, 1e-6, 2
    told = {}  # in place of what clients know

    def noise(self):
        return self.v1.NoiseTerms(**{**dict(epsilon=self.epsilon, delta=self.delta, releases=self.releases,
                                            samples_per_row=1, numbers=NUMBERS, bits=64, unit=self.unit), **self.told})

    def clients(self, welcome):
        further = (text("polykern noise 1") + number(bits_of(self.epsilon)) + number(bits_of(self.delta)) +
                   number(self.releases) + number(1))
        made = [helper_test.Client(self.folder / "pki/clients" / name, name, welcome.key.key, further)
                for name in self.names]
        for client in made:
            client.kind, client.unit = self.kind, self.unit
        return made

    def ask(self, wire, request):
        while True:  # it draws noise after an answer has left
            answer = super().ask(wire, request)
            if not answer.later:
                return answer
            assert "has not drawn the noise" in answer.refusal
            time.sleep(0.01)


@pytest.fixture
def noisy_helped(tmp_path, messages):
    made = NoisyHelped(tmp_path, messages)
    yield made
    made.kill()


def signed(value):
    return struct.unpack("<q", struct.pack("<Q", value % 2 ** 64))[0]


def test_a_helper_tells_weighted_sums_with_noise_that_is_drawn_once(noisy_helped):
    h = noisy_helped
    wire, welcome = h.connect()
    clients = h.clients(welcome)
    streams, answers = [], []
    for release in range(2):
        sent, plain, masked = zip(*(client.send(step=release, samples=40, releases=release) for client in clients))
        request = h.release(release, sent, clients if release == 0 else ())
        answer = h.ask(wire, request)
        assert not answer.refusal
        h.kill()
        h.start()
        wire, welcome = h.connect()
        assert h.ask(wire, request).streams == answer.streams
        other = h.ask(wire, h.release(release, sent[1:]))
        assert "the helper has already made it for another request" in other.refusal and not other.streams
        streams.append([a - b for a, b in zip(added(masked), added(plain))])
        answers.append(answer.streams)
    noise = [[signed(16 * s - a) for s, a in zip(streams[0], answers[0])],
             [signed(16 * s + 8 * t - a) for s, t, a in zip(streams[1], streams[0], answers[1])]]
    assert noise[0] != noise[1]
    # rho 0.0244; a sample's length is sqrt(3) / 2 units, and each number is rounded; c^2 sum up to 320.
    sigma = (3 ** 0.5 / 2 / h.unit + NUMBERS ** 0.5) * (320 / 2 / 0.0244) ** 0.5
    for drawn in noise:  # 50 numbers: their mean square is off by a fifth of one deviation
        assert 0.2 < sum(z * z for z in drawn) / NUMBERS / sigma ** 2 < 2.5
    sent, _, _ = zip(*(client.send(step=2, samples=40, releases=2) for client in clients))
    spent = h.ask(wire, h.release(2, sent))
    assert "all 2 releases are spent" in spent.refusal and not spent.streams


def test_a_helper_keeps_to_what_it_promised(noisy_helped):
    h = noisy_helped
    wire, welcome = h.connect()
    clients = h.clients(welcome)
    sent, _, _ = zip(*(client.send(step=0, samples=40) for client in clients))
    assert not h.ask(wire, h.release(0, sent, clients)).refusal
    for h.told in (dict(epsilon=1.1), dict(delta=1e-5), dict(releases=3), dict(samples_per_row=2), dict(unit=2.0 ** -15)):
        with pytest.raises(helper_test.websocket.Closed, match="in this epoch the helper has promised epsilon 1"):
            h.connect()
    sent, _, _ = zip(*(client.send(step=1, samples=40, releases=1) for client in clients))
    assert "start again with a new store" in h.ask(wire, h.release(1, sent)).refusal
    h.told = {}
    assert not h.ask(wire, h.release(1, sent)).refusal


def test_a_helper_may_be_told_the_most_epsilon(tmp_path, messages):
    class Strict(NoisyHelped):
        def command(self):
            return [*super().command(), "--epsilon", "0.5"]

    h = Strict(tmp_path, messages)
    try:
        with pytest.raises(helper_test.websocket.Closed, match="allows at most epsilon 0.5"):
            h.connect()
        h.told = dict(epsilon=0.5)
        h.connect()
    finally:
        h.kill()

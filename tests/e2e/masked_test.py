"""Masked sums in a real federation: server, helper and agents as processes, with the bits of plain messages."""

import json
import random
import re
import signal
import subprocess
import time

import pytest

from federation import CLIENTS, POLYKERN, kill

MASKED = ["--masking", "helper"]


class Helper:
    """The helper of a federation, started and killed at will."""

    def __init__(self, federation, clients=None):
        self.federation = federation
        self.clients = clients or federation.names
        self.port = 0
        self.process = None
        federation.do("pki", "helper", "--host", "127.0.0.1")

    def start(self):
        f = self.federation
        for _ in range(50):  # the port may not be free at once after a kill
            self.process = f.start(["helper", "--listen", f"127.0.0.1:{self.port}", "--certificates", "pki/helpers/helper",
                                    "--store", "helper.db", "--clients", ",".join(self.clients)], "helper",
                                   stdout=subprocess.PIPE)
            found = re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline())
            if found:
                self.port = int(found[1])
                return self
            self.process.wait()
            time.sleep(0.05)
        raise AssertionError((f.folder / "helper.log").read_text())

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


@pytest.fixture
def masked(federation):
    def make(**options):
        # What masks need changes bits; masks do not.
        f = federation("pof-gram", least_clients=2, **options)
        return f, Helper(f).start()

    return make


def serve(f, helper, *more, **options):
    return f.serve(*MASKED, "--helper", helper.address, *more, **options)


def test_a_masked_federation_has_the_bits_of_a_plain_one(masked):
    f, helper = masked()
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k, "--masked")
    f.wait()
    f.check_predictions()
    helper.process.send_signal(signal.SIGTERM)
    assert helper.process.wait(10) == 0
    said = helper.process.stdout.read()
    answered = int(re.search(r"(\d+) releases? answered", said)[1])
    assert answered > 3, said
    assert ", 0 refused" in said, said


def test_kills_at_any_moment_change_no_bit_and_answer_nothing_twice(masked):
    steps = 200
    f, helper = masked(steps=steps)
    chance = random.Random(7)
    victims = ["server"] * 20 + ["helper"] * 20 + ["agent"] * 40
    chance.shuffle(victims)
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k)
    for n, victim in enumerate(victims):
        while not f.reached(3 + n * (steps - 20) // len(victims)):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.03))
        if victim == "server":
            kill(f.server)
            time.sleep(chance.uniform(0, 0.1))
            serve(f, helper)
        elif victim == "helper":
            kill(helper.process)
            time.sleep(chance.uniform(0, 0.1))
            helper.start()
        else:
            k = chance.randrange(CLIENTS)
            kill(f.agents[k])
            f.join(k)
    f.wait()
    f.check_predictions()
    store = json.loads(subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"],
                                      cwd=f.folder, capture_output=True, text=True).stdout)
    assert store["steps"] == steps
    for client in store["clients"]:  # nothing is counted twice, and nothing is lost
        assert (client["accepted"], client["next_step"], client["rejected"]) == (steps, steps, 0)


@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.long)])
def test_steps_wait_for_a_helper_that_is_away(masked, seconds):
    f, helper = masked()
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k, give_up=180)
    while not f.reached(10):
        time.sleep(0.01)
    kill(helper.process)
    time.sleep(seconds)
    stuck = f.step()
    time.sleep(2)
    assert f.step() == stuck < f.steps
    assert "helper" in (f.folder / "server.log").read_text()
    helper.start()
    f.wait()
    f.check_predictions()


def test_a_helper_may_come_after_its_server(masked):
    f, helper = masked()
    kill(helper.process)
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k)
    time.sleep(1)
    assert f.step() == 0
    helper.start()
    f.wait()
    f.check_predictions()


def test_absent_clients_and_late_updates_are_masked_as_well(masked):
    f, helper = masked(steps=60)
    options = ["--quorum", "50%", "--deadline", "0.05", "--stale", "accept"]
    serve(f, helper, *options)
    chance = random.Random(5)
    for k in range(CLIENTS):
        f.join(k)
    for n in range(12):
        while not f.reached(3 + 4 * n):
            time.sleep(0.01)
        k = chance.randrange(CLIENTS)
        if f.agents[k].poll() is None:
            kill(f.agents[k])
            time.sleep(chance.uniform(0, 0.2))
            f.join(k)
    f.wait()
    log = (f.folder / "server.log").read_text()
    assert "discarded" not in log, log


@pytest.mark.parametrize("options, said", [
    (["--algorithm", "pof-mkl", *MASKED], "pof-mkl cannot be masked"),
    (MASKED, "--masking helper needs --helper HOST:PORT"),
    ([*MASKED, "--helper", "127.0.0.1:1", "--mode", "async"], "--mode async does not go with --masking"),
    ([*MASKED, "--helper", "127.0.0.1:1", "--insecure"], "--masking needs certificates"),
    (["--helper", "127.0.0.1:1"], "--helper has no effect"),
    ([*MASKED, "--columns", "a,b", "--learn-ranges", "10"], "--learn-ranges does not go with --masking"),
])
def test_what_would_leak_beside_masks_is_refused(federation, options, said):
    f = federation("pof-gram", steps=4, clients=2)
    given = ["--target-range", "none", "--dimension", "2"] if "--learn-ranges" not in options else []
    done = subprocess.run([POLYKERN, "serve", "--listen", "127.0.0.1:0", "--store", "other.db", *given, *options],
                          cwd=f.folder, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert said in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (f.folder / "other.db").exists()


def test_agents_without_a_mask_key_or_with_reports_are_told(masked):
    f, helper = masked(steps=4, clients=3)
    serve(f, helper)
    (f.folder / "pki/clients/station-0/mask.key").unlink()
    for k, more in [(0, []), (1, ["--report"])]:
        f.join(k, *more, give_up=5)
    assert f.agents[0].wait(30) != 0
    assert "pki issue station-0 --renew" in (f.folder / "agent-0.log").read_text()
    assert f.agents[1].wait(30) != 0
    assert "--report tells the server what the masks hide" in (f.folder / "agent-1.log").read_text()


def test_an_agent_may_demand_masks(federation):
    f = federation("pof-gram", steps=4, clients=2)
    f.serve()
    f.join(0, "--masked", give_up=5)
    assert f.agents[0].wait(30) != 0
    said = (f.folder / "agent-0.log").read_text()
    assert "the server does not use masks" in said and "--masked is given" in said, said
    assert f.step() == 0


def test_a_client_that_is_not_on_the_helpers_list_spoils_no_other_sum(federation):
    f = federation("pof-gram", least_clients=2, steps=30)
    helper = Helper(f, clients=f.names[:-1]).start()
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k)
    f.wait()
    log = (f.folder / "server.log").read_text()
    assert "the helper refuses" in log and "station-7" in log, log


def test_the_server_says_what_it_sees(masked):
    f, helper = masked(steps=4, clients=2)
    serve(f, helper)
    assert "it sees only sums over many clients" in f.server.stdout.readline()

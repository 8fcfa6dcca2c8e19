"""Masked sums in a real federation: server, helper and agents as processes, with the bits of plain messages."""

import json
import random
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from federation import CLIENTS, JOIN, POLYKERN, STEPS, BadLink, kill

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


@pytest.mark.parametrize("masking", ["helper", "none"])
def test_clients_that_leave_change_no_bit(federation, masking):
    """Client k is absent in its last 8 k steps, as in the simulation: each leaving costs a deadline at most."""
    f = federation("pof-gram", least_clients=2, clients=4, leaving=8)
    options = ["--quorum", "1", "--deadline", "5"]
    if masking == "helper":
        serve(f, Helper(f).start(), *options)
    else:
        f.serve("--least-clients", 2, *options)
    for k in range(4):
        with open(f.folder / f"{k}.out", "w") as out:
            f.agents[k] = f.start(["--server", f"127.0.0.1:{f.port}", "--certificates", f"pki/clients/{f.names[k]}", "--wait",
                                   "--state", f"{k}.state"], f"agent-{k}", program=JOIN, stdin=subprocess.PIPE, stdout=out)
    f.until(lambda: (f.folder / "server.log").read_text().count(" joined: at step 0") == 4)
    for k in range(4):  # a quorum is one of those that are there
        f.agents[k].stdin.write((f.folder / f"{k}.csv").read_text())
        f.agents[k].stdin.close()
    f.wait()
    f.check_predictions()
    assert "discarded" not in (f.folder / "server.log").read_text()


def records(data):
    """Lengths of the TLS records with data in them."""
    lengths = []
    while len(data) >= 5:
        length = int.from_bytes(data[3:5], "big")
        if data[0] == 23 and length > 24:  # else it says that TLS ends
            lengths.append(length)
        data = data[5 + length:]
    assert not data
    return lengths


class Recorder(BadLink):
    """Between agents and server: counts what agents send."""

    def carry(self, pair):
        near, far = pair
        sent = b""
        try:
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        self.sent.append(records(sent))
                        return
                    if ready is near:
                        sent += data
                    (far if ready is near else near).sendall(data)
        except OSError:
            self.sent.append(records(sent))
        finally:
            for end in pair:
                end.close()


def test_masks_take_24_bytes_of_a_message_at_most_and_no_message_more(federation):
    sent = {}
    for masking in ("none", "helper"):
        f = federation("pof-gram", least_clients=2)
        more = ["--budget", 100, "--burst", 5]  # so that a message is one record
        if masking == "helper":
            serve(f, Helper(f).start(), *more)
        else:
            f.serve("--least-clients", 2, *more)
        link = Recorder(f.port, None)
        link.sent = []
        f.way = link.way
        for k in range(CLIENTS):
            f.join(k)
        f.wait()
        f.until(lambda: len(link.sent) == CLIENTS)
        link.listener.close()
        sent[masking] = sorted(link.sent, key=sum)
    for plain, masked in zip(sent["none"], sent["helper"]):
        assert len(plain) == len(masked) > STEPS, f"{plain}\n{masked}"
        more = [b - a for a, b in zip(plain, masked)]
        assert max(more) <= 24, more
        assert sum(each > 10 for each in more) > 3, "some of them had sums"


def join_slowly(f):
    """So that steps are still to come when a backup is made: each waits for one agent's sample."""
    f.join_slowly(0, 0.05, "--masked")
    for k in range(1, CLIENTS):
        f.join(k, "--masked")


def forget(f, restored=None, first=None, then=None):
    """Stops the server at one moment, and restores its store as it was at an earlier one; the helper's log as well."""
    def stop(process):
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0

    f.until(first or (lambda: f.reached(12)))
    f.do("store", "backup", "store.db", "monday.db")
    if restored:
        stop(restored.process)
        shutil.copy(f.folder / "helper.db", f.folder / "helper-monday.db")
        restored.start()
    f.until(then or (lambda: f.reached(30)))
    stop(f.server)
    f.do("store", "restore", "store.db", "monday.db")
    if restored:
        stop(restored.process)
        shutil.copy(f.folder / "helper-monday.db", f.folder / "helper.db")
        restored.start()


def test_a_restored_store_learns_again_once_the_helper_has_refused_what_it_forgot(masked):
    f, helper = masked(steps=100)
    f.steps = 50  # agents have samples for what is answered twice
    serve(f, helper)
    join_slowly(f)
    forget(f)
    answered = set(re.findall(r"answered: release (\d+) ", (f.folder / "helper.log").read_text()))
    serve(f, helper)
    f.wait()
    log = (f.folder / "server.log").read_text()
    again = re.findall(r"answered: release (\d+) ", (f.folder / "helper.log").read_text())
    assert 0 < log.count("the helper has already made it for another request") < len(answered)
    assert len(again) == len(set(again)) > len(answered), "nothing is answered twice, and learning goes on"
    assert log.count("discarded: ") == log.count("the helper has already made it for another request"), log
    store = json.loads(subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"],
                                      cwd=f.folder, capture_output=True, text=True).stdout)
    assert all(client["rejected"] == 0 for client in store["clients"])


def test_clients_notice_that_server_and_helper_were_both_restored(masked):
    f, helper = masked(steps=100)
    serve(f, helper)
    join_slowly(f)
    forget(f, helper)
    answered = (f.folder / "helper.log").read_text().count("answered: ")
    for k in range(CLIENTS):  # what they know is in their states
        kill(f.agents[k])
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k, "--masked")
    f.until(lambda: all("were both restored from backups" in (f.folder / f"agent-{k}.log").read_text() for k in range(CLIENTS)))
    assert (f.folder / "helper.log").read_text().count("answered: ") == answered, "it was not asked for anything again"


@pytest.mark.parametrize("options, said", [
    (["--algorithm", "pof-mkl", *MASKED], "pof-mkl cannot be masked"),
    (MASKED, "--masking helper needs --helper HOST:PORT"),
    ([*MASKED, "--helper", "127.0.0.1:1", "--mode", "async"], "--mode async cannot be combined with --masking"),
    ([*MASKED, "--helper", "127.0.0.1:1", "--insecure"], "--masking needs certificates"),
    (["--helper", "127.0.0.1:1"], "--helper has no effect"),
    ([*MASKED, "--columns", "a,b", "--learn-ranges", "10"], "--learn-ranges cannot be combined with --masking"),
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
    assert "it sees only sums over several clients" in f.server.stdout.readline()

"""Samples from, and predictions to, a real broker of MQTT on the loopback."""

import csv
import json
import random
import socket
import subprocess
import time

import pytest

from federation import POLYKERN, kill
from manager import Manager


class Broker:
    """mosquitto in a folder, which keeps what it has on the disk."""

    def __init__(self, folder, anonymous=True):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = folder
        (folder / "broker").mkdir(mode=0o777)
        (folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous {str(anonymous).lower()}\nuser root\n"
            f"persistence true\npersistence_location {folder}/broker/\nautosave_on_changes true\n"
            "autosave_interval 1\nmax_queued_messages 0\nlog_type all\n")
        self.process = None
        self.start()

    def start(self):
        with open(self.folder / "broker.log", "a") as log:
            self.process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", self.folder / "mosquitto.conf"],
                                            stdout=log, stderr=log)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError((self.folder / "broker.log").read_text())

    def url(self, topic):
        return f"mqtt://127.0.0.1:{self.port}/{topic}"

    def await_session(self, client):
        """What is published from now on reaches this client, whenever it comes back."""
        end = time.time() + 30
        while f"Received SUBSCRIBE from {client}\n" not in (self.folder / "broker.log").read_text():
            assert time.time() < end, (self.folder / "broker.log").read_text()
            time.sleep(0.01)

    def connected(self, client):
        """How often it has."""
        return (self.folder / "broker.log").read_text().count(f" as {client} ")

    def publish(self, topic, lines):
        subprocess.run(["mosquitto_pub", "-p", str(self.port), "-t", topic, "-q", "1", "-l"],
                       input="".join(f"{line}\n" for line in lines), text=True, check=True, timeout=60)

    def watch(self, topic, out):
        """Writes every message to a file, across restarts of the broker."""
        return subprocess.Popen(["mosquitto_sub", "-p", str(self.port), "-t", topic, "-q", "1", "-c", "-i", "watcher"],
                                stdout=open(out, "a"))

    def close(self):
        kill(self.process)


@pytest.fixture
def broker(tmp_path):
    made = []

    def make(**options):
        folder = tmp_path / f"mqtt-{len(made)}"
        folder.mkdir()
        made.append(Broker(folder, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def samples_of(path):
    """The lines of a CSV file as JSON, named by their numbers."""
    with open(path) as file:
        rows = list(csv.reader(file))[1:]
    return [json.dumps({"id": number, "x": [float(cell) for cell in row[:-1]], "y": float(row[-1])})
            for number, row in enumerate(rows, 2)]


def join_by_mqtt(f, broker):
    f.start(["--server", f"127.0.0.1:{f.port}", "--certificates", f"pki/clients/{f.names[0]}", "--state", "0.state",
             "--input", broker.url("samples"), "--output", broker.url("predictions")],
            "agent-0", program=(POLYKERN, "join"), stdout=subprocess.DEVNULL)
    return f.processes[-1]


def predictions(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def learn_by_mqtt(f, broker, kills, seed):
    """Kills the agent and the broker so often; returns how often predictions came more than once."""
    chance = random.Random(seed)
    out = f.folder / "0.out"
    watcher = broker.watch("predictions", out)
    f.processes.append(watcher)
    f.serve()
    agent = join_by_mqtt(f, broker)
    f.join_slowly(1, 0.01)
    broker.await_session("polykern-station-0")
    broker.publish("samples", samples_of(f.folder / "0.csv"))
    for n in range(kills):
        time.sleep(chance.uniform(0.1, 0.3))
        assert agent.poll() is None, (f.folder / "agent-0.log").read_text()
        if n % 2 == 0:
            kill(agent)
            before = broker.connected("polykern-station-0-out")
            agent = join_by_mqtt(f, broker)
        else:
            while broker.connected("polykern-station-0-out") == before:  # an agent that finds no broker at first ends
                assert agent.poll() is None, (f.folder / "agent-0.log").read_text()
                time.sleep(0.01)
            kill(broker.process)
            broker.start()
    f.wait()
    end = time.time() + 60
    while not any(p["step"] == f.steps - 1 for p in predictions(out)):
        assert time.time() < end, ((f.folder / "agent-0.log").read_text(), len(predictions(out)))
        time.sleep(0.05)
    kill(agent)
    kill(watcher)
    # The other agent's predictions say that every sample was learnt, and once. Of those that were published the
    # broker may lose one with each kill: it acknowledges before it writes.
    f.check_predictions(missing=kills // 2)
    return len(predictions(out)) - f.steps


def test_samples_and_predictions_outlast_kills_of_agent_and_broker(federation, broker):
    learn_by_mqtt(federation("pof-mkl", steps=60, clients=2), broker(), 4, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["pof-mkl", "pof-gram"])
def test_nothing_is_lost_in_forty_kills(federation, broker, algorithm):
    again = learn_by_mqtt(federation(algorithm, steps=800, clients=2), broker(), 40, seed=2)
    print(f"{algorithm}: {again} predictions came again")


def say(f, *options):
    done = subprocess.run([POLYKERN, "join", "--insecure", "--name", "mill", "--server", "127.0.0.1:1", *options],
                          cwd=f, text=True, capture_output=True, timeout=30)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_broker_that_refuses_is_named_with_what_to_do(broker, tmp_path):
    closed = broker(anonymous=False)
    for option in ("--input", "--output"):
        said = say(tmp_path, option, closed.url("samples"))
        assert f"{closed.url('samples')}: the broker refuses (" in said and "name a user" in said
    said = say(tmp_path, "--input", closed.url("samples").replace("://", "://anna:secret@"))
    assert "check user and password" in said and "secret" not in said
    said = say(tmp_path, "--output", broker().url("a/#"))
    assert "cannot contain + or #" in said
    assert "not a topic" in say(tmp_path, "--input", broker().url("a#"))
    kill(closed.process)
    assert "cannot connect (Connection refused); is the address right" in say(tmp_path, "--input", closed.url("samples"))
    assert "not of the form mqtt://" in say(tmp_path, "--input", "mqtt://broker")
    assert "name the same topic" in say(tmp_path, "--input", closed.url("a"), "--output", closed.url("a"))


def test_messages_that_are_not_samples_are_reported_and_skipped(federation, broker):
    f = federation("pof-mkl", steps=3, clients=1)
    b = broker()
    out = f.folder / "0.out"
    f.processes.append(b.watch("predictions", out))
    f.serve()
    agent = join_by_mqtt(f, b)
    b.await_session("polykern-station-0")
    b.publish("samples", ["a,b,c", "17", *samples_of(f.folder / "0.csv")])
    end = time.time() + 20
    while len(predictions(out)) < 3:
        assert time.time() < end, (f.folder / "agent-0.log").read_text()
        time.sleep(0.02)
    f.check_predictions()
    assert (f.folder / "agent-0.log").read_text().count(", line ") == 2
    kill(agent)


def test_an_agent_that_waits_for_the_broker_of_its_predictions_is_called_alive(federation, broker):
    f = federation("pof-mkl", clients=1)
    b = broker()
    manager = Manager(f.folder, "join")
    f.serve()
    agent = f.start(["join", "--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-0", "--no-wait", "--output",
                     b.url("predictions")], "agent", env=manager.environment, stdin=subprocess.PIPE)
    manager.hears("READY=1")
    kill(b.process)
    agent.stdin.write((f.folder / "0.csv").read_text())
    agent.stdin.flush()
    f.until(lambda: "waiting for it" in (f.folder / "agent.log").read_text())
    for _ in range(4):
        manager.hears("WATCHDOG=1")
    kill(agent)
    manager.socket.close()

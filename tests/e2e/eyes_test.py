"""What an operator sees of a running server: metrics, health, status and logs; and a disk that is full."""

import json
import re
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from federation import CLIENTS, POLYKERN, STEPS
from raw_client import VERSION, WIDTH, update


class Eyes:
    """A federation whose server is watched."""

    def __init__(self, f, *options, **more):
        self.f = f
        line = f.serve("--metrics", "0", "--audit", "audit.jsonl", "--log", "server.txt", *options, **more)
        self.address = re.search(r"metrics on (127\.0\.0\.1:\d+)", line)[1]

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.address}/{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self):
        lines = [line for line in self.get("metrics")[1].splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def status(self, *options):
        done = subprocess.run([POLYKERN, "status", self.address, *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def events(self):
        return [json.loads(line) for line in (self.f.folder / "audit.jsonl").read_text().splitlines()]

    def wait_for(self, condition, timeout=60):
        end = time.time() + timeout
        while not condition():
            assert time.time() < end
            time.sleep(0.05)


def test_a_run_is_seen_in_metrics_status_and_logs(federation):
    f = federation("pof-mkl")
    eyes = Eyes(f)
    assert eyes.get("healthz") == (200, "ok\n")
    for k in range(CLIENTS):
        f.join(k, *(["--report"] if k < 2 else []))
    f.wait()
    eyes.wait_for(lambda: eyes.metrics()["polykern_clients_connected"] == 0)
    metrics = eyes.metrics()
    assert metrics["polykern_steps_total"] == STEPS
    assert metrics["polykern_clients_enrolled"] == CLIENTS
    assert metrics["polykern_updates_accepted_total"] == CLIENTS * STEPS
    assert metrics["polykern_step_seconds_count"] == STEPS
    assert metrics['polykern_step_seconds_bucket{le="+Inf"}'] == STEPS
    assert 0 < metrics["polykern_step_seconds_sum"] < 60
    # An update has at most 5 kernels of 16 floats: 320 bytes and some.
    assert 0.5 < metrics["polykern_received_bytes_total"] / (CLIENTS * STEPS * 320) < 1.3
    assert metrics["polykern_sent_bytes_total"] > 0
    # What two clients chose to say is what their own output says.
    errors, guesses = [], []
    for k in range(2):
        labels = [float(line.rsplit(",", 1)[1]) for line in (f.folder / f"{k}.csv").read_text().splitlines()[1:]]
        made = [json.loads(line) for line in (f.folder / f"{k}.out").read_text().splitlines()]
        errors += [(p["prediction"] - y) ** 2 for p, y in zip(made, labels)]
        means = [sum(labels[:t]) / t if t else 0.5 for t in range(len(labels))]
        guesses.append(min(sum((y - m) ** 2 for y, m in zip(labels, means)),
                           sum((y - last) ** 2 for y, last in zip(labels, [0.5, *labels]))))
    assert metrics["polykern_reporting_clients"] == 2
    assert metrics["polykern_reported_mse"] == pytest.approx(sum(errors) / len(errors), rel=0.1)
    assert abs(metrics["polykern_reported_regret"]) < STEPS
    assert metrics["polykern_reported_skill"] == pytest.approx(1 - sum(errors) / sum(guesses), abs=0.05)

    shown = json.loads(eyes.status("--format", "json"))
    assert (shown["healthy"], shown["step"], shown["finished"]) == (True, STEPS, True)
    assert shown["updates"]["accepted"] == CLIENTS * STEPS and shown["reports"]["clients"] == 2
    table = eyes.status()
    assert re.search(rf"step +{STEPS}\n", table) and re.search(r"healthy +yes\n", table)

    eyes.wait_for(lambda: "finished" in [e["event"] for e in eyes.events()])
    f.server.send_signal(signal.SIGTERM)
    assert f.server.wait(20) == 0
    events = eyes.events()
    assert events[0]["event"] == "started" and events[-1]["event"] == "stopped"
    for name in f.names:
        assert [e["event"] for e in events if e.get("client") == name] == ["joined", "left"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", e["time"]) for e in events)
    text = (f.folder / "server.txt").read_text()
    assert "UTC station-3 joined: at step 0\n" in text and "UTC server finished: after 40 steps\n" in text
    done = subprocess.run([POLYKERN, "status", eyes.address], capture_output=True, text=True)
    assert done.returncode == 1 and "/status: no answer: nothing listens there (" in done.stderr and done.stdout == ""


def test_what_is_rejected_and_refused_is_counted_by_reason(federation, raw, v1):
    f = federation("pof-mkl", clients=3)
    eyes = Eyes(f, "--quorum", "1", "--deadline", "1000")
    bad = raw(f)
    bad.read()
    for message in (update(v1, values=[float("nan")] * 2 * WIDTH), update(v1, kernels=[0, 99]), update(v1, values=[1])):
        bad.send(message)
        assert bad.read().verdict.reason
    f.do("pki", "issue", "stranger")
    f.do("pki", "revoke", "station-2")
    raw(f, "stranger").status()
    eyes.wait_for(lambda: raw(f, "station-2").status()[1].find("revoked") >= 0)
    metrics = eyes.metrics()
    for reason in ("numbers", "kernels", "lengths"):
        assert metrics[f'polykern_updates_rejected_total{{reason="{reason}"}}'] == 1
    assert metrics["polykern_connections_refused_total"] >= 2
    refused = lambda: {e["client"].split()[0]: e["detail"] for e in eyes.events() if e["event"] == "refused"}
    eyes.wait_for(lambda: {"stranger", "certificate"} <= refused().keys())  # this one is known by its number
    assert refused()["certificate"] == "the certificate is revoked"
    assert [e["detail"] for e in eyes.events() if e["event"] == "rejected"][1].endswith("there is no kernel 99")
    assert eyes.get("nothing")[0] == 404


def test_a_step_that_stands_still_says_whom_it_waits_for(federation):
    f = federation("pof-mkl", clients=3)
    eyes = Eyes(f)
    f.join(0)
    f.join(1)
    eyes.wait_for(lambda: "waiting" in [e["event"] for e in eyes.events()])
    [told] = [e["detail"] for e in eyes.events() if e["event"] == "waiting"]
    assert told == "step 0 has 2 of 3 answers; not those of station-2"
    assert json.loads(eyes.status("--format", "json"))["needed"] == 3
    f.join(2)
    f.wait()


def test_a_report_is_not_believed_if_it_cannot_be(federation, raw, v1):
    f = federation("pof-mkl", clients=2)
    eyes = Eyes(f, "--quorum", "1", "--deadline", "1000")
    client = raw(f)
    client.read()
    client.send(v1.ClientMessage(report=v1.Report(predictions=4, squared_error=0.5, regret=-2)))
    eyes.wait_for(lambda: eyes.metrics()["polykern_reporting_clients"] == 1)
    assert eyes.metrics()["polykern_reported_mse"] == 0.5
    client.send(v1.ClientMessage(report=v1.Report(predictions=4, squared_error=float("nan"))))
    assert "impossible numbers" in client.read().verdict.reason
    assert eyes.metrics()["polykern_reported_mse"] == 0.5


def test_a_full_disk_stops_the_steps_until_there_is_room_and_changes_no_bit(federation):
    f = federation("pof-mkl", steps=200)
    eyes = Eyes(f)
    # No file of the server may grow beyond this, the store's log the first of them.
    unlimited = resource.prlimit(f.server.pid, resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    for k in range(CLIENTS):
        f.join(k)
    eyes.wait_for(lambda: eyes.get("healthz")[0] == 503)
    assert "the disk is full" in eyes.get("healthz")[1] and "trouble: " in eyes.status()
    stopped = f.step()
    assert 0 < stopped < 200
    time.sleep(3)  # it tries again, each second
    assert f.step() == stopped and eyes.metrics()["polykern_healthy"] == 0
    assert all(agent.poll() is None for agent in f.agents.values())
    resource.prlimit(f.server.pid, resource.RLIMIT_FSIZE, unlimited)
    f.wait()
    f.check_predictions()
    assert eyes.get("healthz") == (200, "ok\n")
    eyes.wait_for(lambda: "recovered" in [e["event"] for e in eyes.events()])
    assert "trouble: store.db: the disk is full" in (f.folder / "server.txt").read_text()


def test_wrong_addresses_get_one_clear_line(federation):
    f = federation("pof-mkl", clients=1)
    eyes = Eyes(f)
    done = subprocess.run([POLYKERN, "serve", "--dimension", "2", "--target-range", "none", "--insecure", "--store",
                           "other.db", "--listen", "127.0.0.1:0", "--metrics", eyes.address], cwd=f.folder, capture_output=True, text=True)
    assert done.returncode == 1 and "--metrics cannot listen" in done.stderr
    done = subprocess.run([POLYKERN, "serve", "--dimension", "2", "--target-range", "none", "--insecure", "--store",
                           "other.db", "--listen", "127.0.0.1:0", "--audit", "no/where"], cwd=f.folder, capture_output=True, text=True)
    assert done.returncode == 1 and "no/where: cannot be written" in done.stderr
    for address in ("127.0.0.1:1", "nowhere.invalid:80"):
        done = subprocess.run([POLYKERN, "status", address], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_a_model_that_has_left_all_bounds_is_told_and_no_line_is_blamed(federation):
    """A learning rate that is absurd: after one step no label can be learnt from."""
    f = federation("pof-mkl", clients=1)
    eyes = Eyes(f, "--target-range", "0:1", "--learning-rate", 300, "--quorum", 1)
    (f.folder / "0.csv").write_text("a,b,c,d,e,y\n" + "0.1,0.2,0.3,0.4,0.5,0.5\n" * 40)
    f.join(0)
    eyes.wait_for(lambda: "diverged" in eyes.get("healthz")[1])
    f.wait()
    assert "trouble: the model has diverged: kernel" in eyes.status()
    eyes.wait_for(lambda: "diverged" in (f.folder / "server.txt").read_text())
    told = (f.folder / "agent-0.log").read_text()
    assert told.count("from which nothing can be learnt") == 1 and "predicting without learning until then" in told
    assert " 0 bad lines" in told
    made = [json.loads(line) for line in (f.folder / "0.out").read_text().splitlines()]
    assert len(made) == 40 and all(0 <= p["prediction"] <= 1 for p in made)


def test_a_store_that_was_lost_or_rolled_back_is_noticed(federation, raw, v1):
    f = federation("pof-mkl", clients=2)
    eyes = Eyes(f, "--quorum", "1")
    client = raw(f, hello=None)
    client.send(v1.ClientMessage(hello=v1.Hello(version=VERSION, next_step=7)))  # the store is at 0
    assert client.read().welcome
    eyes.wait_for(lambda: eyes.get("healthz")[0] == 503)
    told = "step 6 was answered, and the store is at step 0: was it lost, or rolled back?"
    assert told in eyes.get("healthz")[1] and told in eyes.status()
    eyes.wait_for(lambda: told in (f.folder / "server.txt").read_text())


def test_slow_requests_do_not_keep_others_from_looking(federation):
    eyes = Eyes(federation("pof-mkl", clients=1))
    host, port = eyes.address.split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(100)]
    for s in slow:
        s.sendall(b"GET /metrics HTTP/1.1\r\n")
    began = time.monotonic()
    for _ in range(5):
        assert eyes.get("healthz") == (200, "ok\n")
    assert time.monotonic() - began < 2
    for s in slow:
        s.close()

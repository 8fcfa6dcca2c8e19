"""Attackers beside honest clients: each is one thread with one certificate or none. What honest clients get done, the
server's memory, who is let in next, and what is written down of it."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

import pytest
from raw_client import Raw
from soak import descriptors, memory

HONEST = 8
PACE = 10  # milliseconds between samples of a client
SECONDS = float(os.environ.get("POLYKERN_ATTACK_SECONDS", "1"))  # scripts/soak: more
ATTACKS = ["oversized", "claims_4_gb", "pings", "big_pings", "empty_fragments", "endless_fragments", "empty_messages",
           "unmasked", "text_messages", "endless_head", "http2", "connects", "garbage", "nothing", "slowloris",
           "renegotiation"]


class Pace:
    """When honest steps ended."""

    def __init__(self, swarm):
        self.times = []
        threading.Thread(target=self.read, args=(swarm,), daemon=True).start()

    def read(self, swarm):
        for line in swarm.stdout:
            if line.strip().isdigit():
                self.times.append(time.monotonic())

    def rate(self, begin, end):
        return sum(begin <= t < end for t in self.times) / (end - begin)


def attack(name, f, seconds):
    return subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("attack.py"), name, f.folder, str(f.port),
                             str(seconds)], stdout=subprocess.PIPE, text=True)


def test_no_attacker_stops_the_others(federation, v1):
    steps = int((len(ATTACKS) * (2.2 * SECONDS + 1.5) + 4) * 1000 / PACE)
    f = federation("pof-mkl", steps=steps, clients=HONEST)
    thieves = ["thief-" + name.replace("_", "-") for name in ATTACKS]
    for name in (*thieves, "newcomer"):
        f.do("pki", "issue", name)
    f.serve("--quorum", HONEST, "--deadline", 1, "--log", "server.txt", clients=f.names + thieves + ["newcomer"])
    swarm = f.start_other([os.environ["POLYKERN_SWARM"], "steps", f.folder, f"127.0.0.1:{f.port}", HONEST, PACE])
    pace = Pace(swarm)
    while len(pace.times) < 50:
        time.sleep(0.01)
    wrong = []
    for name in ATTACKS:
        log = f.folder / "server.txt"
        begin, before, written = time.monotonic(), memory(f.server.pid), log.stat().st_size
        time.sleep(SECONDS)
        calm = pace.rate(begin, time.monotonic())
        attacker = attack(name, f, SECONDS)
        f.processes.append(attacker)
        time.sleep(0.3)  # to begin
        begin = time.monotonic()
        time.sleep(SECONDS - 0.3)
        beside = pace.rate(begin, time.monotonic())
        did = json.loads(attacker.stdout.readline())
        attacker.wait()
        asked = time.monotonic()
        newcomer = Raw(v1, f, "newcomer")
        assert newcomer.read().welcome
        waited = time.monotonic() - asked
        newcomer.close()
        end = time.monotonic() + 5
        while (after := memory(f.server.pid)) > before + 20_000 and time.monotonic() < end:
            time.sleep(0.1)
        end = time.monotonic() + 3
        while not (told := [line for line in log.read_text()[written:].splitlines() if " newcomer " not in line]) \
                and time.monotonic() < end:
            time.sleep(0.1)
        print(f"{name}: {calm:.0f} steps/s calm, {beside:.0f} beside; memory {before} to {after} KiB; "
              f"let in after {waited:.3f} s; {did}; {told[:1]}")
        for good, what in ((beside > calm / 2, "honest steps"), (after <= before + 20_000, "memory"),
                           (waited < 1, "newcomer"), (did["times"] > 0, "no attack"), (told, "nothing in the log")):
            if not good:
                wrong.append(f"{name}: {what}")
    assert not wrong
    swarm.terminate()


def test_a_server_without_descriptors_says_so_and_accepts_again(federation, raw):
    """400 sockets at a limit of 256, all closed again."""
    f = federation("pof-mkl", clients=2)
    f.serve("--quorum", 1, "--log", "server.txt")
    resource.prlimit(f.server.pid, resource.RLIMIT_NOFILE, (256, 256))
    idle = descriptors(f.server.pid)
    attacker = attack("nothing", f, 1)
    f.processes.append(attacker)
    attacker.communicate()
    f.until(lambda: "trouble: no file descriptors are left" in (f.folder / "server.txt").read_text())
    asked = time.monotonic()
    assert raw(f).read().welcome
    assert time.monotonic() - asked < 1
    f.until(lambda: descriptors(f.server.pid) <= idle + 5, seconds=15)


@pytest.mark.skipif(not pathlib.Path("/proc/self/limits").exists(), reason="no /proc")
def test_more_clients_than_descriptors_are_refused_at_the_start(federation):
    f = federation("pof-mkl", clients=1)
    done = subprocess.run(["bash", "-c", "ulimit -n 256; exec \"$@\"", "-", os.environ["POLYKERN"], "serve", "--dimension",
                           "2", "--target-range", "none", "--listen", "127.0.0.1:0", "--max-connected", "300"],
                          cwd=f.folder, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == ("polykern: --max-connected 300: there are file descriptors for 192 clients; raise their "
                                            "limit (ulimit -n), or lower this one")

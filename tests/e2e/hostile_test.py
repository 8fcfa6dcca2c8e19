"""Clients that mean harm beside 20 honest ones: what the honest ones learn does not change, nor do they wait."""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys

HONEST = 20
PACE = 20  # milliseconds between samples of a client
PHASE = 150  # steps; the hostile rest in every other phase, so that both see the same machine
SECONDS = float(os.environ.get("POLYKERN_HOSTILE_SECONDS", "9"))  # scripts/soak: 60
SWARM = os.environ["POLYKERN_SWARM"]


def p99(latencies):
    return statistics.quantiles(latencies, n=100)[98]


def is_hostile(step):
    return step // PHASE % 2 == 1


def test_honest_clients_notice_nothing(federation):
    phases = 1 + 2 * round(SECONDS * 1000 / PACE / PHASE)
    steps = phases * PHASE
    f = federation("pof-mkl", steps=steps, clients=HONEST)
    hostile = ["bad-0", "bad-1", "slow"]
    for name in (*hostile, "stranger"):
        f.do("pki", "issue", name)
    # The hostile are clients as well, all but the stranger: nothing they send may count.
    f.serve("--quorum", HONEST, "--deadline", 1, "--log", "server.txt", clients=f.names + hostile)
    swarm = f.start_other([SWARM, "steps", f.folder, f"127.0.0.1:{f.port}", HONEST, PACE])
    enemy = None
    for line in swarm.stdout:
        if not line.strip().isdigit() or (int(line) + 1) % PHASE != 0:
            continue
        if enemy is not None:
            enemy.send_signal(signal.SIGCONT if is_hostile(int(line) + 1) else signal.SIGSTOP)
        else:
            with open(f.folder / "enemy.log", "w") as log:
                enemy = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("hostile.py"), f.folder,
                                          str(f.port)], stdout=log, stderr=log)
            f.processes.append(enemy)
    assert swarm.wait() == 0
    assert enemy.poll() is None, (f.folder / "enemy.log").read_text()
    enemy.kill()
    enemy.wait()
    lines = (f.folder / "enemy.log").read_text().splitlines()
    done = json.loads([line for line in lines if line.startswith("{")][-1])
    f.check_predictions()
    shown = json.loads(subprocess.run([os.environ["POLYKERN"], "store", "show", f.folder / "store.db", "--format",
                                       "json"], capture_output=True, text=True, check=True).stdout)
    clients = {c["name"]: c for c in shown["clients"]}
    assert all(clients[name]["accepted"] == steps for name in f.names)
    assert all(clients[name]["accepted"] == 0 for name in hostile)
    assert clients["bad-0"]["rejected"] + clients["bad-1"]["rejected"] >= 5  # they have tried
    assert done["connect"] > 10 * SECONDS and done["stranger"] > SECONDS and done["slow_reader"] >= SECONDS // 6
    latencies = [line.split() for line in (f.folder / "latency.txt").read_text().splitlines()]
    latencies = [(int(step), float(s)) for step, s in latencies if int(step) % PHASE >= 25]  # the change takes time
    before = p99([s for step, s in latencies if not is_hostile(step)])
    beside = p99([s for step, s in latencies if is_hostile(step)])
    print(f"p99 of an honest client's step: calm {1000 * before:.1f} ms, beside the hostile {1000 * beside:.1f} ms; {done}")
    assert beside < 3 * before

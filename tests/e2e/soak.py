"""A server for some minutes, while agents join and leave all the time: soak.py MINUTES.

Its memory must stay flat and its descriptors must go down again when everybody has left."""

import os
import pathlib
import signal
import sys
import tempfile
import time

from federation import Federation

CLIENTS = 24
GROWTH = 512  # KiB that the second and the last quarter may lie apart: noise, 24 connections more or less


def memory(pid):
    """In KiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("the server is gone")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def soak(folder, minutes):
    f = Federation(folder, "pof-mkl", steps=100, clients=CLIENTS)
    f.steps = 0  # without an end
    try:
        f.serve("--quorum", 1, "--deadline", 0.05, "--log", "server.txt", "--audit", "audit.jsonl", clients=[])
        pid = f.server.pid
        idle = descriptors(pid)
        swarm = f.start_other([os.environ["POLYKERN_SWARM"], "churn", folder, f"127.0.0.1:{f.port}", CLIENTS,
                               int(60 * minutes)])
        seen = []
        while swarm.poll() is None:
            seen.append((memory(pid), descriptors(pid)))
            if len(seen) % 60 == 0:
                print(f"{len(seen) // 60:3} min: {seen[-1][0] / 1024:.1f} MiB, {seen[-1][1]} descriptors", flush=True)
            time.sleep(1)
        assert swarm.returncode == 0
        print(swarm.stdout.read().strip())
        time.sleep(3)
        left = descriptors(pid)
        # A client's first visit costs some memory for good: everybody has come by the first quarter.
        part = len(seen) // 4
        early = sorted(m for m, _ in seen[part:2 * part])[part // 2]
        late = sorted(m for m, _ in seen[-part:])[part // 2]
        print(f"memory: {early / 1024:.1f} MiB in the second quarter, {late / 1024:.1f} in the last (medians); "
              f"descriptors: {idle} before, at most {max(d for _, d in seen)}, {left} after; step {f.step()}")
        f.server.send_signal(signal.SIGTERM)
        assert f.server.wait(30) == 0
        print(f.server.stdout.read().strip())
        assert late < early + GROWTH, "memory grows"
        assert left <= idle + 2, "descriptors leak"
    finally:
        f.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        soak(pathlib.Path(folder), float(sys.argv[1]))

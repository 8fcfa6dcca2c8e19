"""Runs the real program under the real mpirun."""

import os
import signal
import subprocess
import time

# A test machine has few cores, on which other tests run as well, and may be a container that runs as root.
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]


def environment():
    return {k: v for k, v in os.environ.items() if k != "POLYKERN_DATA"}


def start(folder, ranks, *arguments, launch=(), program=None, wrapper=()):
    """The program as `ranks` ranks, in the background."""
    return subprocess.Popen(
        [*wrapper, *MPIRUN, *launch, "-n", str(ranks), program or os.environ["POLYKERN"], *map(str, arguments)],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)


def finish(process, timeout=120):
    """Its exit code and what it printed; whatever hangs is ended and fails the test."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, out, err


def workers(folder):
    """Rank -> process that works, of the run that was started in a folder. Guards have another name."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                program = file.read().split(b"\0")[0]
            if program != os.environ["POLYKERN"].encode() or os.readlink(f"/proc/{entry}/cwd") != str(folder):
                continue
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
        except OSError:
            continue
        found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = int(entry)
    return found


def wait_for(what, seconds=60):
    """Asks until there is an answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = what()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("waited in vain")

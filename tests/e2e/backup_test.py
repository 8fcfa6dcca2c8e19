"""Backups of a store that is in use, and how they are put back."""

import glob
import sqlite3
import subprocess
import threading
import time

import pytest

from federation import POLYKERN, kill


def states(path):
    """The steps that a store has states of, and their checksums."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return dict(store.execute("SELECT steps, sum FROM state").fetchall())
    finally:
        store.close()


class Seen:
    """Every state that a store ever had, as far as it can be looked at."""

    def __init__(self, path):
        self.path, self.all, self.end = path, {}, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.end.is_set():
            try:
                self.all.update(states(self.path))
            except sqlite3.OperationalError:
                pass  # not there yet
            time.sleep(0.005)

    def close(self):
        self.end.set()
        self.thread.join()


def command(folder, *arguments):
    return subprocess.run([POLYKERN, *map(str, arguments)], cwd=folder, text=True, capture_output=True)


def test_a_backup_taken_while_clients_send_is_a_step_that_existed(federation):
    f = federation("pof-mkl", steps=150)
    seen = Seen(f.folder / "store.db")
    f.serve()
    for k in range(len(f.names)):
        f.join(k)
    made = 0
    while not f.reached(150):
        done = command(f.folder, "store", "backup", ".", f"copy-{made}.db")
        assert done.returncode == 0, done.stderr
        made += 1
    f.wait()
    seen.close()
    f.check_predictions()  # nobody noticed
    compared = 0
    for n in range(made):
        copy = states(f.folder / f"copy-{n}.db")
        for steps, checksum in copy.items():
            if steps in seen.all:
                compared += 1
                assert seen.all[steps] == checksum
    assert made >= 2 and compared >= 2

    refused = command(f.folder, "store", "restore", ".", "copy-0.db")
    assert refused.returncode == 1 and "stop it first" in refused.stderr
    kill(f.server)
    steps = max(states(f.folder / "copy-0.db"), default=0)
    done = command(f.folder, "store", "restore", ".", "copy-0.db")
    assert done.returncode == 0 and f"after {steps} step" in done.stdout, done.stderr
    assert f.step() == steps
    assert max(states(f.folder / "store.db-before")) == 150
    assert f", step {steps}," in f.serve()

    g = federation("pof-mkl", steps=1, clients=2)
    g.serve()
    g.join(0)
    g.join(1)
    g.wait()
    kill(g.server)
    done = command(g.folder, "store", "restore", ".", f.folder / "copy-0.db")
    assert done.returncode == 1 and "the backup is of another federation (" in done.stderr
    assert done.stderr.count("\n") == 1 and g.step() == 1


@pytest.mark.long
def test_backups_beside_a_hundred_clients_restore(tmp_path):
    load = subprocess.Popen([POLYKERN, "load", "--clients", "100", "--seconds", "20", "--folder", tmp_path],
                            stdout=subprocess.PIPE, text=True)
    made = []
    while load.poll() is None:
        for store in glob.glob(f"{tmp_path}/*/store.db"):
            done = command(tmp_path, "store", "backup", store, f"copy-{len(made)}.db")
            if done.returncode == 0:
                made.append(tmp_path / f"copy-{len(made)}.db")
        time.sleep(0.2)
    print(load.stdout.read(), f"{len(made)} backups meanwhile")
    assert load.returncode == 0 and len(made) >= 5
    steps = [max(states(copy), default=0) for copy in made]
    assert steps == sorted(steps) and steps[-1] > steps[0]
    for copy in made:
        assert command(tmp_path, "store", "restore", f"{copy}.restored", copy).returncode == 0
        assert states(f"{copy}.restored") == states(copy)

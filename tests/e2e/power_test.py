"""The server's machine loses its power, again and again: what was not waited for is not on its disk."""

import json
import random
import time

import pytest

from federation import kill
from power import Disk


def heard(f):
    """The newest model that any agent has."""
    newest = 0
    for k in range(len(f.names)):
        lines = (f.folder / f"{k}.out").read_text().splitlines()
        newest = max([newest, *(json.loads(line)["step"] for line in lines if line.endswith("}"))])
    return newest


def lose_power_often(f, points, seed):
    """After each loss the store opens and has every step that anybody heard of; in the end all have learnt what they should."""
    chance = random.Random(seed)
    disk_folder = f.folder / "disk"
    disk_folder.mkdir()
    losses, lost = 0, 0
    for k in range(len(f.names)):
        (f.folder / f"{k}.out").touch()
    while losses < points:
        disk = Disk(disk_folder, f.folder / "power.log", chance)
        began = f.serve("--store", "disk/store.db", env=disk.environment(chance.randint(1, 150)))
        if began and not f.agents:
            for k in range(len(f.names)):
                f.join(k)
        end = time.time() + 60
        while f.server.poll() is None and time.time() < end:
            time.sleep(0.005)
        assert f.server.poll() == -9, "the federation ended before its power was lost as often as it should be"
        told = heard(f)
        lost += disk.lose_power()
        losses += 1
        assert f.step("disk/store.db") >= told, (losses, told)
    f.serve("--store", "disk/store.db")
    f.wait()
    f.check_predictions()
    kill(f.server)
    return lost


def test_no_step_that_anybody_heard_of_is_lost_with_the_power(federation):
    assert lose_power_often(federation("pof-mkl", steps=150, clients=3), 5, seed=1) > 0


def make_stores(f, points, seed):
    """Where the power was lost while a store was made, the next server makes or opens it."""
    chance = random.Random(seed)
    for loss in points:
        folder = f.folder / f"disk-{loss}-{seed}"
        folder.mkdir()
        disk = Disk(folder, f.folder / "power.log", chance)
        if f.serve("--store", f"{folder.name}/store.db", env=disk.environment(loss)):
            kill(f.server)  # it was made before
        disk.lose_power()
        assert ", step 0," in f.serve("--store", f"{folder.name}/store.db"), loss
        kill(f.server)


def test_a_store_that_was_being_made_is_made_again(federation):
    make_stores(federation("pof-mkl", steps=1, clients=2), random.Random(1).sample(range(1, 25), 5), seed=1)


@pytest.mark.long
def test_a_store_is_made_again_wherever_the_power_was_lost(federation):
    f = federation("pof-mkl", steps=1, clients=2)
    for seed in range(4):
        make_stores(f, range(1, 25), seed)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["pof-mkl", "pof-gram"])
def test_nor_at_fifty_random_points(federation, algorithm):
    lost = lose_power_often(federation(algorithm, steps=1500, clients=4), 50, seed=2)
    print(f"{algorithm}: {lost} sectors lost")
    assert lost > 0

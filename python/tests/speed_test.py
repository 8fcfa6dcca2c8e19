"""`simulate` costs what the C++ program costs, and other threads go on meanwhile."""

import json
import os
import subprocess
import threading
import time

import numpy as np
import pytest

import polykern as pk

pytestmark = pytest.mark.skipif(os.environ.get("POLYKERN_OPTIMISED") == "0", reason="not an optimised build")


def test_simulate_on_airs_shape_takes_the_programs_time(tmp_path):
    data = pk.load("synthetic", clients=240, steps=500, dimension=14)
    X, Y = data.X, data.Y
    algorithm = pk.PofMkl(pk.KernelBank.rbf(14, 100, pk.paper_bandwidths()))

    def program():
        subprocess.run([os.environ["POLYKERN"], "run", "--algorithm", "pof-mkl", "-M", "1", "--clients", "240", "--steps", "500",
                        "--dimension", "14", "--repetitions", "1", "--threads", "1", "--out", tmp_path], check=True,
                       stdout=subprocess.DEVNULL)
        run = json.loads((tmp_path / "result.json").read_text())["runs"][0]
        return run["seconds"], run["fingerprint"]

    def package():
        start = time.perf_counter()
        result = pk.simulate(X, Y, algorithm, threads=1)
        return time.perf_counter() - start, result.fingerprint

    # The best of several: whatever else the machine does only adds. On a busy one, more tries.
    theirs, ours = [], []
    for tries in range(12):
        theirs.append(program())
        ours.append(package())
        if tries >= 2 and min(ours)[0] < 1.05 * min(theirs)[0]:
            break
    print(f"program {min(theirs)[0]:.3f} s, simulate {min(ours)[0]:.3f} s")
    assert {fingerprint for _, fingerprint in theirs + ours} == {theirs[0][1]}
    assert min(ours)[0] < 1.05 * min(theirs)[0]


def test_another_thread_makes_progress_meanwhile():
    chance = np.random.default_rng(0)
    X, Y = chance.normal(size=(1500, 64, 8)), chance.uniform(size=(1500, 64))
    algorithm = pk.PofMkl(pk.KernelBank.rbf(8, 50, pk.paper_bandwidths()), kernels_per_upload=5)
    model = pk.OnlineRegressor(kernels=8, features=60)
    for long_call in (lambda: pk.simulate(X, Y, algorithm, threads=1), lambda: model.fit(X[:, 0], Y[:, 0])):
        counts = []

        def count():
            while not done.is_set():
                counts.append(1)
                time.sleep(0.0005)

        done = threading.Event()
        thread = threading.Thread(target=count)
        thread.start()
        while not counts:
            time.sleep(0.001)
        before, start = len(counts), time.perf_counter()
        long_call()
        gone, seen = time.perf_counter() - start, len(counts) - before
        done.set()
        thread.join()
        # With the GIL held it would be 0 or 1; a turn takes the other thread some ms on a busy machine.
        assert gone > 0.02 and seen > 5, (gone, seen)


def test_arrays_are_read_where_they_lie():
    # A quarter of a gigabyte whose copy would be seen.
    X = np.zeros((200, 160, 1000), dtype=np.float64)[:, ::2]
    Y = np.zeros((200, 160))[:, ::2]
    algorithm = pk.Ofskl(pk.KernelBank.rbf(1000, 1, [10]))

    def most():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

    pk.simulate(X[:2], Y[:2], algorithm)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark begins anew
    before = most()
    pk.simulate(X, Y, algorithm)
    assert most() - before < 150e6  # zeros take no memory until they are read: no page of X is written

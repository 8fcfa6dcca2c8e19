"""docs/develop/protocol.md is enough to write a client that learns: one in Python's standard library alone, beside agents."""

import csv
import json
import os
import statistics
import subprocess

import pytest
from plain_client import PlainClient
from raw_client import tls

STEPS = 60


def samples(f, k):
    with open(f.folder / f"{k}.csv") as file:
        rows = list(csv.reader(file))[1:]
    return [([float(n) for n in row[:-1]], float(row[-1])) for row in rows]


def goes_through(client, f, k):
    """Predictions of all samples, one each step."""
    made = []
    for step, (x, y) in enumerate(samples(f, k)):
        assert client.step == step
        made.append(client.predict(x))
        client.learn(y)
        client.next_step()
    assert client.finished
    client.close()
    return made


def test_a_client_of_the_standard_library_learns_beside_agents(federation):
    """What it predicts is what the simulator's client does, up to what floats round, and each update counts."""
    f = federation("pof-mkl", steps=STEPS, clients=3)
    f.serve()
    f.join(0)
    f.join(1)
    made = goes_through(PlainClient(f.port, tls(f, "station-2")), f, 2)
    f.wait()
    expected = [float(line) for line in (f.folder / "2.txt").read_text().split()]
    assert made == pytest.approx(expected, abs=1e-4)
    assert max(map(abs, expected)) > 0.3  # something was learnt
    shown = json.loads(subprocess.run([os.environ["POLYKERN"], "store", "show", "store.db", "--format", "json"],
                                      cwd=f.folder, capture_output=True, text=True, check=True).stdout)
    plain = next(c for c in shown["clients"] if c["name"] == "station-2")
    assert (plain["accepted"], plain["rejected"]) == (STEPS, 0)


@pytest.mark.parametrize("exploration", [1, 0.3])
def test_it_learns_with_labels_of_its_own_unit_and_drawn_bins(federation, exploration):
    f = federation("pof-mkl", steps=STEPS, clients=1)
    f.kernels = ["--kernels", 12, "--features", 8, "--exploration", exploration, "--kernels-per-upload", 3]
    f.serve("--target-range", "-1:3")
    client = PlainClient(f.port, tls(f))
    made = goes_through(client, f, 0)
    errors = [(p - y) ** 2 for p, (_, y) in zip(made, samples(f, 0))]
    assert statistics.mean(errors[-15:]) < 0.3 * statistics.mean(errors[:5])
    f.server.terminate()
    f.server.wait()
    f.serve("--target-range", "-1:3")  # the same model after a restart
    again = PlainClient(f.port, tls(f))
    assert again.finished and again.theta == client.theta
    again.close()

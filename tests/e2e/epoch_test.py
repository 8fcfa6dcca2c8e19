"""New epochs: what is left to do when a helper's file or a client's state was lost or put back."""

import shutil
import signal
import subprocess

from federation import CLIENTS, POLYKERN, kill
from masked_test import Helper, serve
from pairwise_test import PAIRWISE


def stop(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def log_of(f, name):
    return (f.folder / f"{name}.log").read_text()


def test_a_helper_whose_file_was_put_back_works_on_in_a_new_epoch(federation):
    f = federation("pof-gram", steps=165, least_clients=2)
    f.steps = 160  # the step that was open is answered twice
    helper = Helper(f).start()
    serve(f, helper)
    for k in range(CLIENTS):
        f.join(k, "--masked")
    f.until(lambda: f.reached(12))
    stop(helper.process)
    shutil.copy(f.folder / "helper.db", f.folder / "backup.db")
    helper.start()
    f.until(lambda: f.reached(40))
    refused = subprocess.run([POLYKERN, "store", "epoch", "store.db"], cwd=f.folder, capture_output=True, text=True)
    assert refused.returncode == 1 and "store.db" in refused.stderr, refused.stderr  # its server runs
    stop(helper.process)
    for file in f.folder.glob("helper.db*"):
        file.unlink()
    shutil.copy(f.folder / "backup.db", f.folder / "helper.db")
    helper.start()
    f.until(lambda: "start a new epoch" in log_of(f, "server"))
    stop(f.server)
    begun = subprocess.run([POLYKERN, "store", "epoch", "store.db"], cwd=f.folder, capture_output=True, text=True, check=True)
    assert begun.stdout.startswith("epoch      2 begins"), begun.stdout
    before = log_of(f, "server").count("discarded")
    serve(f, helper)
    f.wait()
    assert log_of(f, "server").count("discarded") == before
    assert "answered: release 0 of epoch 2" in log_of(f, "helper")


def test_pairs_continue_in_a_new_epoch_without_the_state_that_was_lost(federation):
    f = federation("pof-gram", steps=125, clients=3, least_clients=3)
    f.steps = 120
    f.serve(*PAIRWISE)
    for k in range(3):
        f.join(k)
    f.until(lambda: f.reached(60))
    kill(f.agents[0])
    (f.folder / "0.state").unlink()
    stop(f.server)
    f.do("store", "epoch", "store.db")
    f.serve(*PAIRWISE)
    f.join(0)
    f.wait()
    assert f.step() == 120
    assert "discarded" not in log_of(f, "server")


def test_what_has_no_epochs_says_so(polykern, federation):
    f = federation("pof-mkl", steps=2, clients=2)
    f.serve()
    stop(f.server)
    done = polykern("store", "epoch", f.folder / "store.db")
    assert done.code == 1 and "nothing is masked in this federation, so there are no epochs" in done.err, done.err
    done = polykern("store", "epoch", "nowhere.db")
    assert done.code == 1 and len(done.err.strip().splitlines()) == 1, done.err

"""A federation whose store is a PostgreSQL database: the store's contract, the simulator's bits, one clear line otherwise."""

import contextlib
import json
import os
import random
import re
import subprocess
import time

import pytest

from database import Database, programs
from federation import CLIENTS, POLYKERN, kill


@pytest.fixture(scope="module")
def database():
    made = Database()
    yield made
    made.close()


def test_it_keeps_the_contract_of_every_store(database):
    shown = subprocess.run([os.environ["POLYKERN_NET_TEST"], "--gtest_filter=*Store*/Postgresql:FrontsOf*:RoundsOfFronts*:TablesOf*:AConnection*:AStepEnder*", "--gtest_brief=1"],
                           env={**os.environ, "POLYKERN_POSTGRESQL": database.url()},
                           capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout
    assert int(re.search(r"(\d+) tests", shown.stdout)[1]) >= 80, shown.stdout
    assert "SKIPPED" not in shown.stdout


def test_kills_of_the_server_change_no_bit(database, federation):
    database.query("CREATE DATABASE kills")
    url = database.url("kills")
    f = federation("pof-gram", steps=60)
    chance = random.Random(5)
    f.serve("--store", url)
    for k in range(CLIENTS):
        f.join(k)
    for n in range(5):
        while int(database.query("SELECT coalesce(max(steps), 0) FROM polykern_state", "kills")) < 5 + 10 * n:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.02))
        kill(f.server)
        f.serve("--store", url)
    f.wait()
    f.check_predictions()
    store = json.loads(subprocess.run([POLYKERN, "store", "show", url, "--format", "json"],
                                      capture_output=True, text=True, check=True).stdout)
    assert store["steps"] == 60
    for client in store["clients"]:  # nothing is counted twice
        assert (client["accepted"], client["next_step"], client["rejected"]) == (60, 60, 0)


def test_a_crash_of_the_database_changes_no_bit(database, federation):
    database.query("CREATE DATABASE crash")
    url = database.url("crash")
    f = federation("pof-mkl")
    f.serve("--store", url)
    for k in range(CLIENTS):
        f.join(k)
    steps = 0
    while steps < 10:
        time.sleep(0.01)
        steps = int(database.query("SELECT coalesce(max(steps), 0) FROM polykern_state", "crash"))
    database.kill()
    time.sleep(1)
    database.start()
    assert int(database.query("SELECT max(steps) FROM polykern_state", "crash")) >= steps
    f.wait()  # the server has waited for it
    assert re.search(r"trouble.*(the database is away|no connection) \(", (f.folder / "server.log").read_text())
    f.check_predictions()


SERVE = ["serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--dimension", 3, "--target-range", "none", "--insecure", "--store"]
NEWER = "CREATE TABLE polykern_format(version bigint); INSERT INTO polykern_format VALUES(3)"


@contextlib.contextmanager
def lock_held(database, name, seconds):
    """Another process has the lock of the store in a new database, for so long."""
    database.query(f"CREATE DATABASE {name}")
    lock = "pg_advisory_lock(hashtext('polykern store'), hashtext(current_schema()))"
    holder = subprocess.Popen([programs() / "psql", "-d", database.url(name), "-c", f"SELECT {lock}, pg_sleep({seconds})"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    held = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND granted"
    while database.query(f"{held} AND datname = current_database()", name) == "0":
        time.sleep(0.01)
    yield database.url(name)
    holder.kill()
    holder.wait()


def test_a_second_writer_is_refused(database, polykern):
    with lock_held(database, "in_use", 60) as url:  # one that has the store for itself
        outcome = polykern(*SERVE, url)
    assert outcome.code == 1 and outcome.err.count("\n") == 1
    assert outcome.err.endswith(": another process is using the store; stop it first\n")


def test_it_waits_for_a_writer_that_has_just_ended(database, federation):
    """The database may notice a moment later that it has."""
    with lock_held(database, "just_ended", 1) as url:
        federation("pof-mkl").serve("--store", url)


@pytest.mark.parametrize("how, says", [
    ("no database", "postgresql: no connection ("),
    ("no such user", 'postgresql: no connection ('),
    ("wrong password", 'failed: FATAL:  password authentication failed for user "locked"); check the URL'),
    ("no store", ": there is no store here; check the URL"),
    ("newer", "the store has version 3, this polykern knows 2; upgrade this polykern"),
    ("no right", "the store failed (permission denied for schema public"),
])
def test_bad_input_gets_one_line(database, polykern, how, says):
    name = how.replace(" ", "_")
    url = database.url(name)
    if how != "no database":
        database.query(f"CREATE DATABASE {name}")
    command = [*SERVE, url]
    if how == "no such user":
        command = [*SERVE, database.url(name, user="nobody_known")]
    elif how == "wrong password":
        database.query("CREATE USER locked PASSWORD 'right'")
        database.ask_password("locked")
        command = [*SERVE, database.tcp_url(name).replace("polykern@", "locked:wrong@")]
    elif how == "no store":
        command = ["store", "show", url]
    elif how == "newer":
        database.query(NEWER, name)
    elif how == "no right":
        database.query("CREATE USER reader", name)
        command = [*SERVE, database.url(name, user="reader")]
    outcome = polykern(*command)
    assert outcome.code == 1 and outcome.out == ""
    assert says in outcome.err and outcome.err.count("\n") == 1, outcome.err

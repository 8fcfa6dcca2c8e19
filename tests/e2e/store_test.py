"""polykern store, as a user types it, on files of format version 1 that Python's sqlite3 writes."""

import hashlib
import json
import re
import sqlite3
import struct
import time

import pytest

SCHEMA = """
  CREATE TABLE configuration(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE step(steps INTEGER PRIMARY KEY, participants INTEGER NOT NULL, time INTEGER NOT NULL);
  CREATE TABLE state(steps INTEGER PRIMARY KEY REFERENCES step(steps), sum BLOB NOT NULL,
                     numbers BLOB NOT NULL);
  CREATE TABLE client(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                      first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL,
                      accepted INTEGER NOT NULL DEFAULT 0, rejected INTEGER NOT NULL DEFAULT 0,
                      answered INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE event(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, client TEXT NOT NULL,
                     event TEXT NOT NULL, detail TEXT NOT NULL);
"""
NOW = int(time.time())
DAY = 86400
STATE = [0.1, -1 / 3, 1e-300, 2.0, 5e-324]


def make(path, steps=100, version=1, application=0x706B7374):
    """A store with a step per day, the last one now."""
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode = WAL")
    store.executescript(SCHEMA)
    store.execute(f"PRAGMA application_id = {application}")
    store.execute(f"PRAGMA user_version = {version}")
    store.execute("BEGIN")
    store.executemany("INSERT INTO configuration VALUES(?, ?)", [("algorithm", "pof-mkl"), ("seed", "7")])
    for n in range(1, steps + 1):
        store.execute("INSERT INTO step VALUES(?, 2, ?)", (n, NOW - (steps - n) * DAY))
        store.execute("INSERT INTO event(time, client, event, detail) VALUES(?, 'a', 'connected', ?)",
                      (NOW - (steps - n) * DAY, "x" * 2000))
    for n in [steps - 1, steps][-steps:]:
        blob = struct.pack("=5d", *STATE)
        store.execute("INSERT INTO state VALUES(?, ?, ?)", (n, hashlib.sha256(blob).digest(), blob))
    store.executemany("INSERT INTO client VALUES(?, ?, ?, ?, ?, ?, ?)",
                      [(0, "north", NOW - DAY, NOW, 100, 3, steps), (1, "south", NOW, NOW, 0, 0, 0)])
    store.execute("COMMIT")
    return store


@pytest.fixture
def store(tmp_path):
    (tmp_path / "federation").mkdir()
    make(tmp_path / "federation/store.db").close()
    return tmp_path / "federation/store.db"


def test_show_says_what_is_there(polykern, store):
    done = polykern("store", "show", "federation")
    assert done.code == 0, done.err
    assert "100 steps committed" in done.out and "algorithm = pof-mkl" in done.out
    assert re.search(r"^north +0 +100 +3 +99 ", done.out, re.M), done.out
    shown = json.loads(polykern("store", "show", "federation/store.db", "--format", "json").out)
    assert shown["configuration"] == {"algorithm": "pof-mkl", "seed": "7"}
    assert (shown["steps"], shown["participants"], shown["state_numbers"]) == (100, 2, 5)
    assert [c["name"] for c in shown["clients"]] == ["north", "south"]
    assert shown["clients"][0]["accepted"] == 100 and shown["clients"][1]["next_step"] == 0


def test_export_as_json_gives_every_bit_of_the_state(polykern, store, tmp_path):
    done = polykern("store", "export", "federation", "--format", "json")
    exported = json.loads(done.out)
    assert exported["state"] == STATE and exported["steps"] == 100
    assert exported["configuration"]["seed"] == "7"
    assert polykern("store", "export", "federation", "--format", "json", "--out", "model.json").code == 0
    assert (tmp_path / "model.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "model.json").read_text() == done.out


def test_prune_forgets_the_old_and_keeps_the_model(polykern, store):
    size = store.stat().st_size
    done = polykern("store", "prune", "federation", "--keep-days", "10.5")
    assert done.code == 0 and "pruned     89 steps, 89 events" in done.out, done.out + done.err
    assert store.stat().st_size < size
    done = polykern("store", "prune", "federation", "--keep-steps", "3")
    assert "pruned     8 steps, 0 events" in done.out
    assert json.loads(polykern("store", "export", "federation", "--format", "json").out)["state"] == STATE
    shown = json.loads(polykern("store", "show", "federation", "--format", "json").out)
    assert shown["step_records"] == 3 and len(shown["clients"]) == 2


def test_a_store_in_use_can_be_shown(polykern, tmp_path):
    held = make(tmp_path / "live.db")
    held.execute("BEGIN IMMEDIATE")
    held.execute("INSERT INTO client VALUES(2, 'unseen', 0, 0, 0, 0, 0)")
    done = polykern("store", "show", "live.db")
    assert done.code == 0 and "100 steps" in done.out and "unseen" not in done.out
    held.close()


def test_a_flipped_bit_in_the_model_is_noticed(polykern, store):
    with sqlite3.connect(store) as database:
        database.execute("UPDATE state SET numbers = ? WHERE steps = 100", (struct.pack("=5d", *STATE[::-1]),))
    done = polykern("store", "export", "federation")
    assert done.code == 1 and "the state after step 100 is damaged" in done.err


def test_bad_input_gets_one_clear_line(polykern, tmp_path):
    make(tmp_path / "newer.db", version=2).close()
    make(tmp_path / "other.db", application=1).close()
    (tmp_path / "text.db").write_text("no database at all " * 300)
    (tmp_path / "empty.db").write_text("")
    for arguments, code, words in [
        (["store"], 2, "show, export, backup, restore, copy, epoch, prune"),
        (["store", "show"], 2, "PATH is required"),
        (["store", "show", "none.db"], 1, "none.db: there is no store here"),
        (["store", "show", "."], 1, "store.db: there is no store here"),
        (["store", "show", "newer.db"], 1, "version 2, made by a newer polykern"),
        (["store", "prune", "newer.db", "--keep-days", "1"], 1, "version 2, made by a newer polykern"),
        (["store", "show", "other.db"], 1, "is not a store of polykern"),
        (["store", "show", "text.db"], 1, "is not a store of polykern"),
        (["store", "show", "empty.db"], 1, "is not a store of polykern"),
        (["store", "prune", "newer.db", "--keep-days", "-1"], 2, "--keep-days"),
    ]:
        done = polykern(*arguments)
        assert (done.code, done.out) == (code, ""), (arguments, done.err)
        assert done.err.count("\n") == 1 and words in done.err, done.err


@pytest.mark.parametrize("command", ["show", "export", "prune"])
def test_every_command_has_help_with_an_example(polykern, command):
    done = polykern("store", command, "--help")
    assert done.code == 0 and f"Example: polykern store {command}" in done.out

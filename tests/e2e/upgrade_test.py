"""What an older program left behind works, and gives the bits that the older one would have given."""

import hashlib
import json
import os
import re
import sqlite3
import time

import pytest
from upgrade import HALF, INPUTS, NAMES, REPRODUCE, RUNS, SERVE, STEPS, bits, copy, figures, words

ROUNDS = ["--clients", ",".join(NAMES), "--steps", str(STEPS)]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def configuration(folder):
    store = sqlite3.connect(f"file:{folder}/store.db?mode=ro", uri=True)
    try:
        return dict(store.execute("SELECT key, value FROM configuration"))
    finally:
        store.close()


def resume(f, expected, *options):
    """To the end; every bit must be the older program's."""
    line = f.serve(*options)
    assert f"step {HALF}, {len(NAMES)} clients" in line, line + (f.folder / "server.log").read_text()
    for k in range(len(NAMES)):
        f.join(k)
    f.wait()
    for k, done in enumerate(expected["done"]):
        whole = [[n + 2, n, p] for n, p in enumerate(expected["predictions"][k])]
        assert f.predictions(k) == whole[done:]
    said = f.stop()
    assert f"stopped at step {STEPS}: {len(NAMES) * (STEPS - HALF)} updates counted, 0 too late, 0 sent twice, 0 rejected" in said
    assert f.store("export")["state"] == expected["state"]
    for client in f.store("show")["clients"]:
        assert (client["accepted"], client["next_step"], client["rejected"]) == (STEPS, STEPS, 0)


@pytest.mark.parametrize("name", SERVE)
def test_a_federation_resumes_with_the_same_command(left_behind, name):
    f, expected = left_behind(name)
    resume(f, expected, *words(SERVE[name]), *ROUNDS)


CONFLICTS = [
    ("pof-mkl", "--seed", 5), ("pof-mkl", "--features", 5), ("pof-mkl", "--learning-rate", 0.25),
    ("pof-mkl", "--algorithm", "pof-adagrad"), ("pof-mkl", "--dictionary", "gaussian"), ("pof-mkl", "--loss", "squared"),
    ("pof-mkl", "--horizon", 200), ("pof-newton", "--forgetting", 1), ("pof-newton", "--experts", "federated,local"),
    ("pof-newton", "--exploration", 0.5), ("pof-newton", "--dimension", 3),
]


def check_refused(f, option, options):
    """In one line, by the option's name; nothing changes."""
    before = digest(f.folder / "store.db")
    assert f.serve(*options) == ""
    assert f.server.wait(20) == 1
    said = (f.folder / "server.log").read_text()
    assert said.count("\n") == 1 and re.search(option.strip("-").replace("-", "[-_]"), said), said
    assert digest(f.folder / "store.db") == before


@pytest.mark.parametrize("name, option, value", CONFLICTS)
def test_another_value_of_one_option_is_refused_by_its_name_and_changes_nothing(left_behind, name, option, value):
    f, _ = left_behind(name)
    check_refused(f, option, [*words(SERVE[name] | {option: value}), *ROUNDS])


def test_another_range_is_refused_by_the_columns_name(left_behind):
    f, _ = left_behind("pof-mkl")
    check_refused(f, "heat", [*words(SERVE["pof-mkl"] | {"--range": "wind=0:20,heat=-40:61"}), *ROUNDS])


@pytest.mark.parametrize("name", SERVE)
def test_a_federation_resumes_from_its_store_alone(left_behind, name):
    f, expected = left_behind(name)
    resume(f, expected)


@pytest.mark.parametrize("name", SERVE)
def test_options_may_be_given_again_and_the_others_come_from_the_store(left_behind, name):
    f, expected = left_behind(name)
    given = {option: SERVE[name][option] for option in ("--algorithm", "--kernels", "--target")}
    resume(f, expected, *words(given), "--steps", str(STEPS))


@pytest.mark.parametrize("name, option, value", CONFLICTS)
def test_only_what_is_given_can_conflict(left_behind, name, option, value):
    f, _ = left_behind(name)
    check_refused(f, option, words({option: value}))


def test_an_agents_state_of_another_federation_is_refused_by_the_name_of_what_differs(left_behind):
    f, _ = left_behind("pof-newton")
    (f.folder / "store.db").unlink()
    assert f.serve(*words(SERVE["pof-newton"] | {"--ridge": 0.004}), *ROUNDS)
    before = digest(f.folder / "0.state")
    f.join(0)
    assert f.agents[0].wait(20) == 1
    said = (f.folder / "agent-0.log").read_text()
    assert "ridge" in said and not re.search("forgetting|experts|seed", said), said
    assert digest(f.folder / "0.state") == before


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_takes_over_what_was_finished(polykern, tmp_path, name):
    expected = copy(name, tmp_path)
    kept = len(list((tmp_path / "out/partial").iterdir()))
    every = sum(run["repetitions"] for run in expected["runs"])
    done = polykern(*RUNS[name], "out")
    assert done.code == 0 and f"polykern: {kept} of {every} repetitions" in done.err, done.err
    assert bits(json.loads((tmp_path / "out/result.json").read_text())) == bits(expected)
    assert not (tmp_path / "out/partial").exists()


@pytest.mark.skipif("POLYKERN_DATA" not in os.environ, reason="POLYKERN_DATA is not set")
def test_the_papers_runs_that_were_finished_are_taken_over(polykern, tmp_path):
    expected = copy("paper", tmp_path)
    kept = len(list((tmp_path / "out/runs").iterdir()))
    (tmp_path / "data").symlink_to(os.environ["POLYKERN_DATA"])
    done = polykern(*REPRODUCE, "out")
    assert done.code == 0 and f"polykern: {kept} of {len(expected)} runs" in done.err, done.err
    assert figures(json.loads((tmp_path / "out/result.json").read_text())) == expected


def test_a_report_shows_old_results(polykern, tmp_path):
    for name in RUNS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_bytes((INPUTS / name / "expected.json").read_bytes())
    done = polykern("report", *RUNS, "--out", "both.html")
    assert (done.code, done.err) == (0, ""), done.err
    page = (tmp_path / "both.html").read_text()
    for name in RUNS:
        for run in json.loads((INPUTS / name / "expected.json").read_text())["runs"]:
            assert run["fingerprint"] in page


def test_what_an_old_agent_was_about_to_send_counts_with_every_bit(left_behind, raw, v1):
    from polykern.v1 import agent_state_pb2

    f, expected = left_behind("pof-newton")
    state = agent_state_pb2.AgentState.FromString((f.folder / "0.state").read_bytes())
    assert (state.format, state.answered) == (2, HALF + 1)
    assert f.serve(*words(SERVE["pof-newton"]), *ROUNDS)
    peer = raw(f, NAMES[0], certificates="insecure")
    welcome = peer.read().welcome
    assert (welcome.client, welcome.answered, welcome.model.step) == (0, HALF, HALF)
    f.join(1)
    f.join(2)
    peer.send(state.update)
    message = peer.read()
    assert message.WhichOneof("kind") == "model" and message.model.step == HALF + 1, message
    end = time.time() + 20
    while len(f.predictions(2)) < 2 and time.time() < end:
        time.sleep(0.01)
    assert f.predictions(2) == [[n + 2, n, expected["predictions"][2][n]] for n in (HALF, HALF + 1)]

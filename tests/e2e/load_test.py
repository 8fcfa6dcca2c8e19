"""polykern load: many clients in one process."""

import json

import pytest


def test_it_measures_a_server_of_its_own(polykern):
    done = polykern("load", "--clients", 5, "--seconds", 0.5, "--warm-up", 0.1, "--format", "json")
    assert done.code == 0, done.err
    figures = json.loads(done.out)
    assert figures["clients"] == 5 and figures["rejected"] == 0
    assert figures["steps"] > 0 and figures["updates"] >= 5 * (figures["steps"] - 2)
    assert 0 < figures["latency_p50_ms"] <= figures["latency_p99_ms"]
    assert 160 < figures["bytes_up"] < 4100  # one kernel of 40 numbers, or 25 of them
    assert 160 < figures["bytes_down"] < 8300  # all 51 of them, or fewer
    assert figures["server_bytes_per_client"] > 0


def test_it_says_the_same_in_words(polykern):
    done = polykern("load", "--clients", 2, "--seconds", 0.2, "--algorithm", "pof-newton", "--mode", "async")
    assert (done.code, done.err) == (0, "")
    for words in ("2 clients, connected in", "updates/s", "step latency p50", "per client and step",
                  "server memory per client"):
        assert words in done.out


def test_it_warns_of_no_option_that_was_not_given(polykern):
    few = ("load", "--clients", 2, "--steps", 1, "--algorithm", "pof-gram")
    done = polykern(*few)
    assert (done.code, done.err) == (0, "")
    done = polykern(*few, "--kernels-per-upload", 3)
    assert (done.code, done.err) == (0, "polykern: --kernels-per-upload has no effect with pof-gram\n")


def test_it_loads_another_server_with_its_clients(polykern, federation):
    f = federation("pof-mkl", clients=3)
    f.steps = 0
    f.serve()
    done = polykern("load", "--server", f"127.0.0.1:{f.port}", "--certificates", f.folder / "pki/clients",
                    "--clients", 3, "--seconds", 0.3, "--format", "json")
    assert done.code == 0, done.err
    figures = json.loads(done.out)
    assert figures["updates"] > 0 and figures["server_bytes_per_client"] is None
    assert f.step() >= figures["steps"]


def test_its_clients_may_be_masked(polykern):
    figures = {}
    for masking in ("none", "helper"):
        done = polykern("load", "--clients", 6, "--steps", 5, "--algorithm", "pof-gram", "--masking", masking,
                        "--format", "json")
        assert done.code == 0, done.err
        figures[masking] = json.loads(done.out)
        assert figures[masking]["rejected"] == 0 and figures[masking]["updates"] > 0
    assert figures["none"]["helper_microseconds_per_update"] is None
    assert figures["helper"]["helper_microseconds_per_update"] >= 0


@pytest.mark.parametrize("options, words", [
    (["--masking", "helper"], "the server did not start"),  # pof-mkl cannot be masked, which the server says
    (["--server", "127.0.0.1:1"], "--server needs --certificates"),
    (["--server", "127.0.0.1:1", "--certificates", "."], "there are 0 clients' folders, not 100"),
    (["--folder", "nowhere"], "nowhere: no folder can be created there"),
    (["--algorithm", "none"], "the server did not start"),
])
def test_what_cannot_work_is_said_in_a_line(polykern, options, words):
    done = polykern("load", *options)
    assert done.code == 1 and words in done.err.splitlines()[-1], done.err

"""polykern join, where the server will not have it, or talks nonsense."""

import json
import os
import re
import shutil
import struct
import subprocess
import time

import pytest

import websocket
from federation import POLYKERN
from raw_client import VERSION
from websocket import BINARY, CLOSE, REFUSED
from websocket import VERSION as OTHER_VERSION


class Answering:
    """A server that answers every connection in one way, and remembers when."""

    def __init__(self, opcode, payload):
        self.times = []

        def answer(peer):
            self.times.append(time.monotonic())
            peer.write(opcode, payload)

        self.server = websocket.Server(answer)


def test_an_agent_that_hears_nonsense_comes_back_later_and_later():
    nonsense = Answering(BINARY, b"nonsense")
    agent = subprocess.Popen([POLYKERN, "join", "--server", f"127.0.0.1:{nonsense.server.port}", "--insecure", "--name",
                              "mill"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while len(nonsense.times) < 6 and time.monotonic() < end:
            time.sleep(0.05)
        # 0.1 s, doubled four times, each at least half of it.
        assert nonsense.times[5] - nonsense.times[4] > 0.75
    finally:
        agent.kill()
        agent.communicate()
        nonsense.server.close()


@pytest.mark.parametrize("code, words, told", [
    (REFUSED, "the certificate is revoked", "; it needs another certificate (polykern pki issue)"),
    (REFUSED, "'mill' is not a client of this federation", ", or its name among the server's"),
    (OTHER_VERSION, "you speak version 2 of the protocol", "version 2 of the protocol; predicting"),
    (None, "the server's federation is not the one this agent has learnt with", "algorithm: pof-mkl -> other"),
])
def test_a_refused_agent_says_so_once_predicts_on_and_asks_again_slowly(trial, v1, code, words, told):
    trial.serve("--dimension", "1")
    assert trial.join("x,y\n0.5,0.5\n", "--state", "mill.state")[0].returncode == 0
    other = v1.ServerMessage(welcome=v1.Welcome(version=VERSION, configuration={"algorithm": b"other"}))
    refusing = (Answering(BINARY, other.SerializeToString()) if code is None else
                Answering(CLOSE, struct.pack("!H", code) + words.encode()))
    trial.f.port = refusing.server.port
    try:
        # Without a model of its own, or told to wait for one, it ends.
        for options in [["--state", "mill.state", "--wait"], []][:2 if code else 1]:
            done, made = trial.join("x,y\n0.5,0.5\n", *options)
            assert done.returncode == 1 and made == [] and words in done.stderr and done.stderr.count("\n") == 1
        refusing.times.clear()
        with subprocess.Popen(trial.arguments("--state", "mill.state", "--ask-again", 1), cwd=trial.f.folder, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
            trial.f.processes.append(agent)
            agent.stdin.write("x,y\n")
            end = time.monotonic() + 60
            while len(refusing.times) < 4 and time.monotonic() < end:
                agent.stdin.write("0.5,\n")
                agent.stdin.flush()
                assert json.loads(agent.stdout.readline())["step"] == 0  # at once
                time.sleep(0.02)
            agent.stdin.close()
            said = agent.stderr.read()
        assert all(b - a >= 0.5 for a, b in zip(refusing.times, refusing.times[1:]))
        assert agent.returncode == 1
        first, last = said.splitlines()  # the last says why it ends with 1
        assert words in first and told in first and "; predicting with the model of step 0, and reconnecting" in first
        assert words in last
    finally:
        refusing.server.close()


def test_an_agent_says_that_a_server_is_not_polykerns(trial, tmp_path):
    web = subprocess.Popen(["python3", "-m", "http.server", "--bind", "127.0.0.1", "0"], cwd=tmp_path, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    trial.f.processes.append(web)
    trial.f.port = int(re.search(r"port (\d+)", web.stdout.readline()).group(1))
    done, made = trial.join("x,y\n0.5,0.5\n")
    assert done.returncode == 1 and made == [] and done.stderr.count("\n") == 1
    assert "it answers with HTTP 404; is it a polykern server?" in done.stderr


def test_a_wrong_host_port_name_and_protocol_each_say_what_to_do(federation):
    f = federation("pof-mkl", clients=1)
    f.do("pki", "init", "--renew", "--server", "learn.example.org")

    def said(server, *options):
        done = subprocess.run([POLYKERN, "join", "--server", server, "--input", "0.csv", "--give-up", "1", *options],
                              cwd=f.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr.splitlines()[0]

    mutual = ["--certificates", "pki/clients/station-0"]
    plain = ["--insecure", "--name", "station-0"]
    f.serve()
    here = f"127.0.0.1:{f.port}"
    assert "no.such.invalid:7433: this name is not known; check it" in said("no.such.invalid", *mutual)
    assert "127.0.0.1:1: nothing listens there; is it running, and is the port right?" in said("127.0.0.1:1", *mutual)
    assert (f"{here}: the server's certificate is not for 127.0.0.1; connect to a name that it is for, or "
            "make one for this name: polykern pki init --renew --server 127.0.0.1") in said(here, *mutual)
    assert "; if the server has certificates, add --certificates" in said(here, *plain)
    subprocess.run([POLYKERN, "pki", "init", "--dir", "other", "--server", "127.0.0.1"], cwd=f.folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([POLYKERN, "pki", "issue", "--dir", "other", "station-0"], cwd=f.folder, check=True, stdout=subprocess.DEVNULL)
    theirs = ["--certificates", "other/clients/station-0"]
    assert "the server's certificate is not from this federation's authority; is it the right server" in said(here, *theirs)
    f.do("pki", "init", "--renew", "--server", "127.0.0.1")
    f.server.kill()
    f.server.wait()
    f.serve()
    (f.folder / "other/clients/station-0/ca.crt").write_bytes((f.folder / "pki/ca.crt").read_bytes())
    assert "the server does not accept this agent's certificate: it is from another authority; get one" in said(here, *theirs)
    f.server.kill()
    f.server.wait()
    (f.folder / "store.db").unlink()
    f.serve("--insecure")
    assert "; is it a polykern server, started without --insecure?" in said(here, *mutual)


def test_an_agent_comes_back_when_it_is_let_in_again(federation):
    f = federation("pof-mkl", clients=1)
    f.steps = 0
    f.serve()
    with subprocess.Popen([POLYKERN, "join", "--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-0",
                           "--ask-again", "0.2"], cwd=f.folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as agent:
        f.processes.append(agent)
        agent.stdin.write("a,b,c,d,e,y\n")

        def sample_until(holds):
            for _ in range(1000):
                agent.stdin.write("0.1,0.2,0.3,0.4,0.5,0.5\n")
                agent.stdin.flush()
                step = json.loads(agent.stdout.readline())["step"]
                if holds(step):
                    return step
                time.sleep(0.02)
            raise AssertionError("it never was so")

        sample_until(lambda step: step >= 3)
        f.do("pki", "revoke", "station-0")
        stopped = []

        def stands_still(step):
            stopped.append(step)
            return len(stopped) > 100 and stopped[-100] == step

        before = sample_until(stands_still)  # it predicts on
        f.do("pki", "issue", "station-0", "--renew")
        sample_until(lambda step: step >= before + 3)
        agent.stdin.close()
        said = agent.stderr.read()
    assert agent.returncode == 0, said
    lines = [line for line in said.splitlines()[:-1] if "not learnt from" not in line]  # told while it happens, too
    joined, refused, again, _ = lines
    unlearnt = said.splitlines()[-1]
    assert joined.startswith("polykern: joined: at step ")
    assert "labels not learnt from" in unlearnt
    assert "the certificate is revoked; it needs another certificate (polykern pki issue)" in refused
    assert again.startswith("polykern: connected again: at step ")


def test_an_agent_whose_certificate_was_renewed_in_time_continues_when_the_old_one_ends(federation):
    f = federation("pof-mkl", clients=1)
    f.steps = 0
    f.serve()
    shutil.copytree(f.folder / "pki", f.folder / "old")  # knows of the old certificate only
    # A refusal would end it (--wait), and if not, last until the test is over (--ask-again).
    with subprocess.Popen([POLYKERN, "join", "--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-0",
                           "--wait", "--ask-again", "1000"], cwd=f.folder, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
        f.processes.append(agent)
        agent.stdin.write("a,b,c,d,e,y\n")

        def sample():
            agent.stdin.write("0.1,0.2,0.3,0.4,0.5,0.5\n")
            agent.stdin.flush()
            return json.loads(agent.stdout.readline())["step"]

        def expelled():
            return (f.folder / "server.log").read_text().count("expelled")

        assert sample() == 0
        f.do("pki", "issue", "station-0", "--renew")
        # Expired or revoked, the server's check does the same, and a test need not wait for a day's end.
        f.do("pki", "revoke", "station-0", "--dir", "old")
        shutil.copy(f.folder / "old/ca.crl", f.folder / "new.crl")
        (f.folder / "new.crl").rename(f.folder / "pki/ca.crl")
        end = time.monotonic() + 60
        while not expelled() and time.monotonic() < end:
            time.sleep(0.02)
        assert expelled() == 1
        assert [sample(), sample()] == [1, 2]
        agent.stdin.close()
        said = agent.stderr.read()
    assert agent.returncode == 0, said

"""polykern join, where the server will not have it, or talks nonsense."""

import concurrent.futures
import json
import shutil
import subprocess
import time

import grpc
import pytest

from federation import POLYKERN


class Nonsense(grpc.GenericRpcHandler):
    """Answers every call with bytes that are no message; remembers when."""

    def __init__(self):
        self.times = []

    def service(self, _):
        def answer(*_):
            self.times.append(time.monotonic())
            yield b"nonsense"

        return grpc.stream_stream_rpc_method_handler(answer)


def test_an_agent_that_hears_nonsense_comes_back_later_and_later():
    nonsense = Nonsense()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((nonsense,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    agent = subprocess.Popen([POLYKERN, "join", "--server", f"127.0.0.1:{port}", "--insecure", "--name", "mill"],
                             stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while len(nonsense.times) < 6 and time.monotonic() < end:
            time.sleep(0.05)
        # 0.1 s, doubled four times, each at least half of it.
        assert nonsense.times[5] - nonsense.times[4] > 0.75
    finally:
        agent.kill()
        agent.communicate()
        server.stop(None)


class Refusing(grpc.GenericRpcHandler):
    """Refuses every call, or welcomes it to another federation; remembers when."""

    def __init__(self, code, words, welcome):
        self.code, self.words, self.welcome, self.times = code, words, welcome, []

    def service(self, _):
        def answer(_, context):
            self.times.append(time.monotonic())
            if self.code is None:
                yield self.welcome
            else:
                context.abort(self.code, self.words)

        return grpc.stream_stream_rpc_method_handler(answer)


@pytest.mark.parametrize("code, words, told", [
    (grpc.StatusCode.UNAUTHENTICATED, "the certificate is revoked", "; it needs another certificate (polykern pki issue)"),
    (grpc.StatusCode.PERMISSION_DENIED, "'mill' is not a client of this federation", ", or its name among the server's"),
    (grpc.StatusCode.FAILED_PRECONDITION, "you speak version 2 of the protocol", "version 2 of the protocol; predicting"),
    (grpc.StatusCode.UNIMPLEMENTED, "no such method", "; is it a polykern server?"),
    (None, "the server's federation is not the one this agent has learnt with", "algorithm: pof-mkl -> other"),
])
def test_a_refused_agent_says_so_once_predicts_on_and_asks_again_slowly(trial, v1, code, words, told):
    trial.serve("--dimension", "1")
    assert trial.join("x,y\n0.5,0.5\n", "--state", "mill.state")[0].returncode == 0
    other = v1.Welcome(version=1, configuration={"algorithm": b"other"})
    refusing = Refusing(code, words, v1.ServerMessage(welcome=other).SerializeToString())
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((refusing,))
    trial.f.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
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
        assert words in first and told in first and "; predicting with the model of step 0, and trying again" in first
        assert words in last
    finally:
        server.stop(None)


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
    refused, again, _, unlearnt = said.splitlines()
    assert "labels not learnt from" in unlearnt
    assert "the certificate is revoked; it needs another certificate (polykern pki issue)" in refused
    assert again == "polykern: connected again"


def test_an_agent_whose_certificate_was_renewed_in_time_goes_on_when_the_old_one_ends(federation):
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

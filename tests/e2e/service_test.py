"""Server, helper and agent as services of systemd: what they tell it, and keys that it hands over."""

import fcntl
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from federation import JOIN, POLYKERN, kill
from manager import Manager


@pytest.fixture
def manager(federation):
    made = []

    def make(f, name):
        made.append(Manager(f.folder, name))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


def check_watched(manager, process):
    """Says that it works again and again; not when it stands still."""
    for _ in range(3):
        manager.hears("WATCHDOG=1")
    process.send_signal(signal.SIGSTOP)
    assert manager.is_silent(1)
    process.send_signal(signal.SIGCONT)
    manager.hears("WATCHDOG=1")


def serve(f, manager, *options):
    f.server = f.start(["serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--dimension", 5, "--target-range", "none", "--algorithm", f.algorithm,
                        *f.kernels, *options], "server", stdout=subprocess.PIPE, env=manager.environment)
    f.port = int(f.server.stdout.readline().split(":")[1])


def test_a_server_and_an_agent_tell_how_they_are_and_take_their_keys_from_credentials(federation, manager):
    f = federation("pof-mkl", clients=1)
    server, agent = manager(f, "serve"), manager(f, "join")
    server.take(f.folder / "pki/server.key")
    client = f.folder / "pki/clients/station-0"
    agent.take(*(client / name for name in ("ca.crt", "client.crt", "client.key", "mask.key")))
    serve(f, server)
    server.hears("READY=1", "STATUS=step 0, 0 clients connected")
    check_watched(server, f.server)
    joined = f.start(["--server", f"127.0.0.1:{f.port}"], "agent", program=JOIN, env=agent.environment, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE)
    agent.hears("READY=1", "STATUS=connecting")
    server.hears("STATUS=step 0, 1 client connected")
    check_watched(agent, joined)  # though no sample comes
    joined.stdin.write("a,b,c,d,e,y\n0.1,0.2,0.3,0.4,0.5,0.5\n")
    joined.stdin.flush()
    server.hears("STATUS=step 1, 1 client connected")
    agent.hears("STATUS=at step 1, 1 label learnt")
    joined.stdin.close()
    assert joined.wait(20) == 0
    agent.hears("STOPPING=1")
    f.server.terminate()
    server.hears("STOPPING=1")
    assert f.server.wait(20) == 0


def test_an_agent_whose_loop_stands_still_is_not_called_alive(federation, manager):
    """Nobody takes its predictions."""
    f = federation("pof-mkl", clients=1)
    agent = manager(f, "join")
    serve(f, manager(f, "serve"))
    joined = f.start(["--server", f"127.0.0.1:{f.port}", "--certificates", "pki/clients/station-0", "--no-wait"], "agent", program=JOIN,
                     env=agent.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    fcntl.fcntl(joined.stdout, fcntl.F_SETPIPE_SZ, 4096)
    samples = threading.Thread(target=lambda: joined.stdin.write("a,b,c,d,e,y\n" + "0.1,0.2,0.3,0.4,0.5,0.5\n" * 20_000 + "\n"))
    agent.hears("WATCHDOG=1")
    samples.start()
    time.sleep(1)
    assert agent.is_silent(2) and joined.poll() is None
    taken = threading.Thread(target=joined.stdout.read)
    taken.start()
    agent.hears("WATCHDOG=1")
    samples.join(20)
    joined.stdin.close()
    assert joined.wait(60) == 0
    taken.join(20)


@pytest.mark.parametrize("words, said", [
    ("serve --columns a --range b=0:1", 'did you mean "a"?'),
    ("serve --columns a --range a=3", "--range 'a=3' is not of the form COLUMN=LOW:HIGH"),
    ("serve --dimension 1 --quorum some", "--quorum 'some'"),
    ("serve --dimension 1 --target-range 3", "--target-range '3' is neither of the form LOW:HIGH nor none"),
    ("serve --dimension 1 --target-range none --insecure --retry-earliest 9 --retry-latest 1", "--retry-latest must not be less than --retry-earliest"),
    ("serve --dimension 1 --target-range none --insecure --listen here", "--listen here: not of the form HOST:PORT"),
    ("serve --dimension 1 --target-range none --clients a/b", "--clients: \"a/b\" is not a client's name"),
    ("helper --clients a,b --least-clients 3", "--least-clients 3 is more than the number of clients"),
    ("join --insecure --name a --server here:x", "--server here:x: not of the form HOST:PORT"),
    ("join --insecure --name a --input tcp://here", "--input tcp://here: not of the form tcp://HOST:PORT"),
    ("join --insecure --name a --output mqtt://here", "--output mqtt://here..: not of the form mqtt://"),
    ("serve --dimension 1 --target-range none --insecure -a best", "unknown algorithm 'best'; --algorithm is one of: pof-mkl, "),
    ("join --insecure --name a --coverage 1", "--coverage is 1; it must lie between 0 and 1"),
    ("join --insecure --name a --renew here", "--renew has no effect with --insecure"),
])
def test_a_wrong_configuration_is_not_tried_again(tmp_path, words, said):
    """Code 2 is what the units' RestartPreventExitStatus names; for people it is 1."""
    for code, more in [(2, {"NOTIFY_SOCKET": "/no/where"}), (1, {})]:
        done = subprocess.run([POLYKERN, *words.split()], cwd=tmp_path, capture_output=True, text=True, timeout=20, env={**os.environ, **more},
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_server_whose_options_are_not_its_stores_is_not_started_again(federation):
    f = federation("pof-mkl", clients=1)
    f.serve()
    f.join(0)
    f.until(lambda: f.reached(1))  # an unused store would take other options over
    kill(f.server)
    done = subprocess.run([POLYKERN, "serve", "--dimension", "6"], cwd=f.folder, capture_output=True, text=True, timeout=20,
                          env={**os.environ, "NOTIFY_SOCKET": "/no/where"})
    assert done.returncode == 2 and "(dimension: 5 -> 6)" in done.stderr and "a new store: another --store\n" in done.stderr, done.stderr


def test_what_may_pass_is_tried_again(federation, manager):
    """Another program at the port of --metrics, and files that are not there yet."""
    f = federation("pof-mkl", clients=1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for words, said in [(["serve", "--dimension", "1", "--target-range", "none", "--listen", "127.0.0.1:0", "--metrics", port],
                             f"--metrics cannot listen on 127.0.0.1:{port}; another program listens there"),
                            (["join", "--certificates", "pki/clients/none"], "client.crt: there is no such file")]:
            done = subprocess.run([POLYKERN, *map(str, words)], cwd=f.folder, capture_output=True, text=True, timeout=20,
                                  env=manager(f, words[0]).environment, stdin=subprocess.DEVNULL)
            assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("missing", ["ca.crt", "client.crt", "client.key"])
def test_a_service_that_lacks_a_file_names_it(federation, manager, missing):
    """Its unit puts an empty line in its place."""
    f = federation("pof-mkl", clients=1)
    agent = manager(f, "join")
    agent.take(*(f.folder / "pki/clients/station-0" / name for name in ("ca.crt", "client.crt", "client.key", "mask.key")))
    (agent.folder / missing).write_text("\n")
    done = subprocess.run([POLYKERN, "join"], cwd=f.folder, capture_output=True, text=True, timeout=20, env=agent.environment,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert done.stderr == (f"polykern: /etc/polykern/join/NAME/{missing}: there is no such file; copy the folder there that "
                           "`polykern pki issue` made\n")


def test_a_helper_tells_how_it_is_and_takes_its_keys_from_credentials(federation, manager):
    f = federation("pof-mkl", clients=2)
    f.do("pki", "helper", "--host", "127.0.0.1")
    helper = manager(f, "helper")
    folder = f.folder / "pki/helpers/helper"
    helper.take(folder / "helper.key", folder / "mask.key")
    process = f.start(["helper", "--listen", "127.0.0.1:0", "--certificates", folder, "--clients", "station-0,station-1"],
                      "helper-process", stdout=subprocess.PIPE, env=helper.environment)
    helper.hears("READY=1", r"STATUS=listening on 127\.0\.0\.1:\d+")
    check_watched(helper, process)
    process.terminate()
    helper.hears("STOPPING=1")
    assert process.wait(20) == 0


def test_without_keys_among_the_credentials_those_of_the_folder_are_used(federation, manager):
    f = federation("pof-mkl", clients=1)
    serve(f, manager(f, "serve"))
    assert f.server.poll() is None


def test_a_socket_that_is_not_there_does_no_harm(federation):
    f = federation("pof-mkl", clients=1)
    done = subprocess.run([POLYKERN, "join", "--server", "127.0.0.1:1", "--certificates", "pki/clients/station-0", "--give-up", "0.5"],
                          cwd=f.folder, env={**os.environ, "NOTIFY_SOCKET": "/no/where", "WATCHDOG_USEC": "what"},
                          capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "no connection for 0.5 s" in done.stderr

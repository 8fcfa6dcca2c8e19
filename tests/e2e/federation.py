"""A real federation in a folder: a server and its agents, as processes, and what they should predict."""

import json
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import threading
import time

POLYKERN = os.environ["POLYKERN"]
SCALED = ["--columns", "wind,heat", "--range", "wind=0:20,heat=-40:60", "--target", "power",
          "--target-range", "0:3000"]
# What an agent is started with; another program may take the options of `polykern join`.
JOIN = os.environ.get("POLYKERN_JOIN", f"{POLYKERN} join").split()
CLIENTS = 8
STEPS = 40
DIMENSION = 5
SEED = 11
# Algorithm: N, D, M; 0: what the algorithm takes by itself.
SETTINGS = {
    "pof-mkl": (12, 8, 5),
    "pof-newton": (6, 6, 3),
    "pof-gram": (12, 8, 1),  # it has sizes of its own
    "pof-adagrad": (12, 8, 5),
    "ofskl": (12, 8, 1),
    "ofmkl-avg": (12, 8, 1),
    "vm-kofl": (12, 8, 1),
    "em-kofl": (12, 8, 1),
    "fomd-oms": (12, 8, 1),
    "fed-poe": (12, 8, 1),
    "perfedavg": (12, 8, 1),
    "local": (12, 8, 1),
    "local-rls": (4, 6, 1),
}


class Federation:
    """A server and its agents in a folder, started and killed at will."""

    def __init__(self, folder, algorithm="pof-mkl", steps=STEPS, clients=CLIENTS, least_clients=1, leaving=0):
        self.folder = folder
        self.algorithm = algorithm
        self.steps = steps
        self.leaving = leaving  # client k has no samples in its last k times so many steps
        self.names = [f"station-{k}" for k in range(clients)]
        self.port = 0
        self.way = None  # the port that agents use; None: the server's
        self.server = None
        self.agents = {}
        self.processes = []
        n, d, m = SETTINGS[algorithm]
        self.kernels = ["--kernels", n, "--features", d, "--kernels-per-upload", m]
        subprocess.run([os.environ["POLYKERN_FLEET"], folder, algorithm, str(clients), str(steps),
                        str(DIMENSION), str(SEED), str(n), str(d), str(m), str(least_clients), str(leaving)],
                       check=True)
        self.do("pki", "init", "--server", "localhost,127.0.0.1")
        for name in self.names:
            self.do("pki", "issue", name)

    def do(self, *arguments):
        subprocess.run([POLYKERN, *map(str, arguments)], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, arguments, name, program=(POLYKERN,), **options):
        log = open(self.folder / f"{name}.log", "a")
        process = subprocess.Popen([*program, *map(str, arguments)], cwd=self.folder, stderr=log,
                                   text=True, **options)
        log.close()
        self.processes.append(process)
        return process

    def start_other(self, arguments):
        """Another program, whose output can be read."""
        process = subprocess.Popen([*map(str, arguments)], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def serve(self, *more, clients=None, env=None):
        """Returns what it says first; None: it was killed before."""
        clients = self.names if clients is None else clients
        roster = ["--clients", ",".join(clients)] if clients else []
        labels = [] if "--target-range" in more else ["--target-range", "none"]
        quorum = [] if {"--quorum", "--config", "async"} & set(more) else ["--quorum", "all"]
        for _ in range(50):  # the port may not be free at once after a kill
            self.server = self.start(
                ["serve", "--listen", f"127.0.0.1:{self.port}", "--algorithm", self.algorithm,
                 "--dimension", DIMENSION, *labels, "--seed", SEED, "--steps", self.steps, *roster,
                 *quorum, *self.kernels, *more], "server", stdout=subprocess.PIPE, env=env)
            line = self.server.stdout.readline()
            found = re.match(r"listening on 127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                return line
            if self.server.wait() == -signal.SIGKILL:
                return None
            time.sleep(0.05)
        raise AssertionError((self.folder / "server.log").read_text())

    def join(self, k, *more, give_up=60):
        with open(self.folder / f"{k}.out", "a") as out:
            self.agents[k] = self.start(
                ["--server", f"127.0.0.1:{self.way or self.port}", "--certificates",
                 f"pki/clients/{self.names[k]}", "--input", f"{k}.csv", "--state", f"{k}.state",
                 "--give-up", give_up, *more], f"agent-{k}", program=JOIN, stdout=out)

    def join_slowly(self, k, pause, *more):
        """Beside a stream of the same samples, one each so many seconds."""
        feed = subprocess.Popen(
            ["bash", "-c", f"while IFS= read -r line; do echo \"$line\"; sleep {pause}; done < {k}.csv"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.processes.append(feed)
        with open(self.folder / f"{k}.out", "a") as out:
            self.agents[k] = self.start(
                ["--server", f"127.0.0.1:{self.way or self.port}", "--certificates", f"pki/clients/{self.names[k]}",
                 "--state", f"{k}.state", "--wait", "--give-up", 60, *more], f"agent-{k}", program=JOIN,
                stdin=feed.stdout, stdout=out)
        feed.stdout.close()

    def wait(self, timeout=120):
        end = time.time() + timeout
        for k, agent in self.agents.items():
            code = agent.wait(max(1, end - time.time()))
            assert code == 0, (self.folder / f"agent-{k}.log").read_text()

    def until(self, holds, seconds=60):
        end = time.time() + seconds
        while not holds():
            assert time.time() < end, "".join(p.read_text() for p in sorted(self.folder.glob("*.log")))
            time.sleep(0.01)

    def step(self, store="store.db"):
        shown = subprocess.run([POLYKERN, "store", "show", store, "--format", "json"],
                               cwd=self.folder, capture_output=True, text=True)
        return json.loads(shown.stdout)["steps"] if shown.returncode == 0 else 0

    def reached(self, step):
        """Whether so many steps are committed; asks the file itself, which takes less than to start the program."""
        try:
            store = sqlite3.connect(f"file:{self.folder}/store.db?mode=ro", uri=True)
            try:
                return (store.execute("SELECT max(steps) FROM state").fetchone()[0] or 0) >= step
            finally:
                store.close()
        except sqlite3.OperationalError:  # not there yet
            return False

    def check_predictions(self, missing=0):
        """Every prediction of every agent, however often it was made, has the simulator's bits; the first agent's may lack so many."""
        for k in range(len(self.names)):
            expected = [float(line) for line in (self.folder / f"{k}.txt").read_text().split()]
            made = [json.loads(line) for line in (self.folder / f"{k}.out").read_text().splitlines()]
            lacks = set(range(max(1, self.steps - k * self.leaving))) - {p["step"] for p in made}
            assert len(lacks) <= (missing if k == 0 else 0), (k, lacks)
            for p in made:
                assert p["id"] == p["step"] + 2  # the header is line 1
                assert p["prediction"] == expected[p["step"]], (k, p)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


class BadLink:
    """Between agents and server: delays everything, cuts connections or lets them go silent."""

    def __init__(self, port, chance):
        self.port = port  # the server's
        self.chance = chance
        self.pairs = []
        self.silent = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.way = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            pair = (near, far)
            self.pairs.append(pair)
            threading.Thread(target=self.carry, args=(pair,), daemon=True).start()

    def carry(self, pair):
        near, far = pair
        try:
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if pair in self.silent:  # half-open: nothing arrives, nobody is told
                        time.sleep(3600)
                    if not data:
                        return
                    if self.chance.random() < 0.2:
                        time.sleep(self.chance.uniform(0, 0.01))
                    (far if ready is near else near).sendall(data)
        except OSError:
            pass
        finally:
            self.pairs.remove(pair)
            for end in pair:
                end.close()

    def cut(self, pair):
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        for pair in list(self.pairs):
            self.cut(pair)


class Trial:
    """A server on the loopback without certificates, and one agent after the other."""

    def __init__(self, federation):
        self.f = federation("pof-mkl", clients=1)
        self.f.names = ["mill"]

    def serve(self, *options, steps=0):
        small = ["--algorithm", "pof-mkl", "--kernels", "5", "--features", "4"]
        labels = [] if "--target-range" in options else ["--target-range", "none"]
        quorum = [] if {"--quorum", "async"} & set(options) else ["--quorum", "all"]
        self.f.port = 0
        self.f.server = self.f.start(["serve", "--insecure", "--listen", "127.0.0.1:0", "--steps", steps, *labels, *quorum,
                                      *([] if "--algorithm" in options else small), *options],
                                     "server", stdout=subprocess.PIPE)
        self.f.port = int(self.f.server.stdout.readline().split(":")[1])

    def arguments(self, *options):
        return [POLYKERN, "join", "--server", f"127.0.0.1:{self.f.port}", "--insecure", "--name", "mill",
                "--give-up", "20", *map(str, options)]

    def join(self, text, *options):
        done = subprocess.run(self.arguments(*options), cwd=self.f.folder, input=text, text=True,
                              capture_output=True, timeout=60)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

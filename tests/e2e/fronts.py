"""Several servers with one PostgreSQL behind them, and agents that know all of their addresses."""

import json
import re
import socket
import subprocess
import threading
import time

from federation import DIMENSION, POLYKERN, SEED, kill


class Fronts:
    """The front ends of a federation (federation.py), each of which may be killed and come back."""

    def __init__(self, federation, database, name, count, *options):
        self.f = federation
        self.database = database
        self.name = name
        self.options = options
        database.query(f"CREATE DATABASE {name}")
        self.urls = [database.url(name)] * count
        self.ports = [0] * count
        self.servers = [None] * count
        self.said = [""] * count

    def start(self, n, *more):
        f = self.f
        labels = [] if "--target-range" in self.options else ["--target-range", "none"]
        quorum = [] if "--quorum" in self.options else ["--quorum", "all"]
        return f.start(["serve", "--listen", f"127.0.0.1:{self.ports[n]}", "--algorithm", f.algorithm,
                        "--dimension", DIMENSION, *labels, "--steps", f.steps,
                        *([] if "--seed" in more else ["--seed", SEED]), "--clients", ",".join(f.names), *quorum, *f.kernels,
                        "--store", self.urls[n], *self.options, *more], f"server-{n}", stdout=subprocess.PIPE)

    def serve(self, n, *more):
        for _ in range(100):  # the port may not be free at once after a kill, nor the database be there
            server = self.start(n, *more)
            self.said[n] = server.stdout.readline()
            found = re.match(r"listening on 127\.0\.0\.1:(\d+)", self.said[n])
            if found:
                self.ports[n] = int(found[1])
                self.servers[n] = server
                return
            server.wait()
            time.sleep(0.1)
        raise AssertionError((self.f.folder / f"server-{n}.log").read_text())

    def serve_all(self):
        for n in range(len(self.servers)):
            self.serve(n)

    def kill(self, n):
        kill(self.servers[n])

    def join(self, k, *more):
        servers = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.f.way = servers.split(":", 1)[1]
        self.f.join(k, *more, give_up=300)  # a database may take its time to recover

    def query(self, sql):
        return self.database.query(sql, self.name)

    def step(self):
        """0 while the database is away, too."""
        try:
            return int(self.query("SELECT step FROM polykern_open"))
        except (subprocess.CalledProcessError, ValueError):
            return 0

    def wait_for_step(self, step, timeout=60):
        end = time.time() + timeout
        while self.step() < step:
            assert time.time() < end, f"step {self.step()} is not {step}"
            time.sleep(0.03)

    def leader(self):
        """Which of them ends steps; None: nobody for now."""
        address = self.query("SELECT address FROM polykern_front, polykern_open WHERE id = leader")
        ports = [n for n, port in enumerate(self.ports) if address.endswith(f":{port}")]
        return ports[0] if ports else None

    def clients(self):
        shown = subprocess.run([POLYKERN, "store", "show", self.database.url(self.name), "--format", "json"],
                               capture_output=True, text=True, check=True)
        return json.loads(shown.stdout)


class Forwarder:
    """Between two of them: may stop to carry anything, and no end is told; or cut all connections."""

    def __init__(self, target):
        self.target = target  # (host, port)
        self.stopped = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target)
            except OSError:
                near.close()
                continue
            self.ends += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, a, b):
        try:
            while data := a.recv(65536):
                while self.stopped:
                    time.sleep(0.02)
                b.sendall(data)
        except OSError:
            pass
        for end in (a, b):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Ends all connections of now."""
        for end in self.ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.stopped = False
        self.listener.close()
        for end in self.ends:
            end.close()

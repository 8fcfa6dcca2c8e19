"""Clients that mean harm, in a process of their own: hostile.py FOLDER PORT, until it is killed.

Prints how often it did what, once a second, as JSON."""

import collections
import json
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

from raw_client import M, N, WIDTH, Raw, messages, tls, update
from websocket import Closed


class Target:
    def __init__(self, folder, port):
        self.folder = pathlib.Path(folder)
        self.port = port


target = Target(sys.argv[1], int(sys.argv[2]))
v1 = messages(tempfile.mkdtemp())
counts = collections.Counter()


def repeat(action, pause):
    """Again and again, whatever comes of it."""
    chance = random.Random(action.__name__)
    while True:
        try:
            action(chance)
        except (OSError, Closed) as error:
            counts[f"{action.__name__}: {type(error).__name__}"] += 1
        counts[action.__name__] += 1
        time.sleep(pause)


held = collections.deque()


def connect(chance):
    """Random bytes, an HTTP request, or nothing; some connections are kept open."""
    s = socket.create_connection(("127.0.0.1", target.port), timeout=5)
    s.sendall(chance.choice([b"", chance.randbytes(chance.randrange(1, 500)), b"GET / HTTP/1.1\r\n\r\n"]))
    held.append(s)
    if len(held) > 100:
        held.popleft().close()


def noise_within_tls(chance):
    """A good certificate, and then bytes that are no HTTP."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=5) as s:
        with tls(target, "stranger").wrap_socket(s, server_hostname="127.0.0.1") as secure:
            secure.sendall(b"GET / HTTP/1.1\r\n\r\n" * chance.randrange(2) + chance.randbytes(300))
            secure.settimeout(0.2)
            secure.recv(1000)


def stranger(chance):
    """Has a certificate, but is not a client here."""
    client = Raw(v1, target, "stranger", hello=chance.choice([0, 4, 5, 99]))
    client.status()
    client.close()


def bad_numbers(chance):
    """A client that was let in and sends what may not be, until it is sent away."""
    client = Raw(v1, target, f"bad-{chance.randrange(2)}")
    try:
        step = client.read().welcome.model.step
        for n in range(100):
            client.send([
                lambda: update(v1, step, range(M), [chance.choice([float("nan"), float("inf")])] * (M * WIDTH)),
                lambda: update(v1, step, range(M), [chance.choice([1e30, -513.0])] * (M * WIDTH)),
                lambda: update(v1, step, [0] * M, [0.1] * (M * WIDTH)),
                lambda: update(v1, step, [N + 7], [0.1] * WIDTH),
                lambda: chance.randbytes(50),
            ][n % 5]())
            reply = client.read()
            if reply.HasField("model"):  # that was late
                step = reply.model.step
    finally:
        client.close()


def slow_reader(_):
    """Was let in, and neither reads nor answers."""
    client = Raw(v1, target, "slow")
    time.sleep(5)
    client.close()


for action, pause in ((connect, 0.01), (noise_within_tls, 0.1), (stranger, 0.1), (bad_numbers, 1), (slow_reader, 0.1)):
    threading.Thread(target=repeat, args=(action, pause), daemon=True).start()
while True:
    print(json.dumps(counts), flush=True)
    time.sleep(1)

"""One attacker, with one thread and at most one stolen certificate: attack.py NAME FOLDER PORT SECONDS.

Prints how often it did what as JSON."""

import collections
import functools
import json
import os
import pathlib
import resource
import socket
import ssl
import subprocess
import sys
import time

import websocket
from raw_client import tls
from websocket import Closed, frame

MASK = b"\1\2\3\4"
counts = collections.Counter()


class Target:
    def __init__(self, folder, port):
        self.folder, self.port = pathlib.Path(folder), port


@functools.cache
def context(target, name):
    return tls(target, name)


def connected(target, name):
    return websocket.Client(target.port, context(target, name), timeout=2)


def flood(client, payload):
    """As much as it takes, until the server has had enough."""
    client.socket.settimeout(2)
    while time.monotonic() < END:
        client.socket.sendall(payload)
        counts["bytes"] += len(payload)


def oversized(target, name):
    """A message of 600 MB where a thousand bytes are the most."""
    flood_after(target, name, frame(2, b"", MASK, length=600_000_000))


def claims_4_gb(target, name):
    flood_after(target, name, frame(2, b"", MASK, length=1 << 32))


def flood_after(target, name, header):
    client = connected(target, name)
    client.socket.sendall(header)
    flood(client, os.urandom(65536))


def pings(target, name):
    flood(connected(target, name), frame(9, b"", MASK) * 2000)


def big_pings(target, name):
    flood(connected(target, name), frame(9, b"x" * 125, MASK) * 500)


def empty_fragments(target, name):
    client = connected(target, name)
    client.socket.sendall(frame(2, b"", MASK, last=False))
    flood(client, frame(0, b"", MASK, last=False) * 2000)


def endless_fragments(target, name):
    client = connected(target, name)
    client.socket.sendall(frame(2, b"x", MASK, last=False))
    flood(client, frame(0, b"x" * 100, MASK, last=False) * 100)


def empty_messages(target, name):
    flood(connected(target, name), frame(2, b"", MASK) * 2000)


def unmasked(target, name):
    flood(connected(target, name), frame(2, b"x" * 50) * 100)


def text_messages(target, name):
    flood(connected(target, name), frame(1, b"x" * 50, MASK) * 100)


def endless_head(target, name):
    """Lines of HTTP without an end."""
    client = websocket.Client(target.port, context(target, name), timeout=2, open=False)
    client.socket.sendall(b"GET /polykern HTTP/1.1\r\n")
    flood(client, b"x-line: some text that goes on and on\r\n" * 100)


def http2(target, name):
    """An old peer's opening, and resets as fast as they go."""
    old = context(target, name)
    old.set_alpn_protocols(["h2"])
    client = websocket.Client(target.port, old, timeout=2, open=False)
    client.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    flood(client, bytes([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]) * 1000)


def connects(target, name):
    """A whole handshake each time, some 500 a second if it can."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=2) as s:
        with context(target, name).wrap_socket(s, server_hostname="127.0.0.1"):
            counts["handshakes"] += 1


def garbage(target, _):
    with socket.create_connection(("127.0.0.1", target.port), timeout=2) as s:
        s.sendall(os.urandom(300))


held = []


def nothing(target, _):
    """Connections that say nothing, as many as there are descriptors for, up to 10,000."""
    if len(held) >= min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100):
        time.sleep(0.1)
        return
    for _ in range(100):
        held.append(socket.create_connection(("127.0.0.1", target.port), timeout=2))
    counts["held"] = len(held)


def slowloris(target, _):
    """A byte of a TLS record now and then, on 200 connections."""
    if len(held) < 200:
        held.append(socket.create_connection(("127.0.0.1", target.port), timeout=2))
        held[-1].sendall(b"\x16\x03\x01\x02\x00")
        return
    for s in held:
        try:
            s.sendall(b"\1")
        except OSError:
            counts["ended"] += 1
            held.remove(s)
    time.sleep(0.2)


def renegotiation(target, name):
    """TLS 1.2, and a new handshake on the same connection ("R") again and again."""
    folder = target.folder / "pki/clients" / name
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{target.port}", "-tls1_2", "-CAfile",
                           folder / "ca.crt", "-cert", folder / "client.crt", "-key", folder / "client.key"],
                          input="R\n" * 50, text=True, capture_output=True, timeout=20)
    counts["no renegotiation"] += "no renegotiation" in done.stderr
    time.sleep(0.05)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    what, target = sys.argv[1], Target(sys.argv[2], int(sys.argv[3]))
    END = time.monotonic() + float(sys.argv[4])
    while time.monotonic() < END:
        try:
            globals()[what](target, "thief-" + what.replace("_", "-"))
        except (OSError, Closed, ssl.SSLError) as error:
            counts[type(error).__name__] += 1
        counts["times"] += 1
    print(json.dumps(counts), flush=True)
    os._exit(0)  # without closing ten thousand sockets one by one

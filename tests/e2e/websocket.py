"""WebSockets (RFC 6455) by Python's standard library alone: a client that sends what it likes, and a small server."""

import base64
import hashlib
import os
import socket
import ssl
import struct
import threading

BINARY, CLOSE, PING, PONG = 2, 8, 9, 10

# How a connection ends (docs/develop/protocol.md); LOST: without a word.
LOST, FINISHED, STOPPING, BROKEN, REFUSED, VERSION, BUSY, REPLACED, SILENT = (
    None, 1000, 1001, 1002, 4001, 4002, 4003, 4004, 4005)


class Closed(Exception):
    def __init__(self, code, reason):
        super().__init__(code, reason)
        self.code, self.reason = code, reason


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


def masked(payload, mask):
    return bytes(b ^ mask[i % 4] for i, b in enumerate(payload)) if len(payload) < 64 else (
        int.from_bytes(payload, "big") ^ int.from_bytes((mask * (len(payload) // 4 + 1))[:len(payload)], "big")
    ).to_bytes(len(payload), "big")


def frame(opcode, payload, mask=b"", last=True, length=None):
    """One frame; `length`: what its header says, if that is not true."""
    length = len(payload) if length is None else length
    short = length if length < 126 else 126 if length < 65536 else 127
    header = bytes([opcode | (0x80 if last else 0), short | (0x80 if mask else 0)])
    header += {126: struct.pack("!H", length & 0xFFFF), 127: struct.pack("!Q", length)}.get(short, b"")
    return header + mask + (masked(payload, mask) if mask else payload)


class Frames:
    """Frames from and to a socket."""

    def __init__(self, s, masks):
        self.socket, self.masks = s, masks

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise Closed(LOST, "the connection was cut")
            data += more
        return data

    def head(self):
        data = b""
        while not data.endswith(b"\r\n\r\n"):
            data += self.exactly(1)
        first, *lines = data.decode().split("\r\n")
        return first, {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def read_frame(self):
        first, second = self.exactly(2)
        length = second & 0x7F
        if length == 126:
            length, = struct.unpack("!H", self.exactly(2))
        elif length == 127:
            length, = struct.unpack("!Q", self.exactly(8))
        mask = self.exactly(4) if second & 0x80 else b""
        payload = self.exactly(length)
        return first & 15, masked(payload, mask) if mask else payload

    def read(self):
        """The next message; Closed when there is none."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == PING:
                self.write(PONG, payload)
            elif opcode == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if payload else FINISHED
                self.write(CLOSE, payload[:2])
                raise Closed(code, payload[2:].decode())
            elif opcode == BINARY:
                return payload

    def write(self, opcode, payload):
        self.socket.sendall(frame(opcode, payload, os.urandom(4) if self.masks else b""))


class Client(Frames):
    def __init__(self, port, context=None, target="/polykern", fields=(), timeout=20, receive_buffer=None, open=True):
        s = socket.socket()
        s.settimeout(timeout)
        if receive_buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        s.connect(("127.0.0.1", port))
        super().__init__(context.wrap_socket(s, server_hostname="127.0.0.1") if context else s, True)
        if open:
            self.open(target, fields)

    def open(self, target="/polykern", fields=()):
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {target} HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key.decode()}", "Sec-WebSocket-Version: 13", *(f"{n}: {v}" for n, v in fields)]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status, answer = self.head()
        if " 101 " not in status or answer["sec-websocket-accept"] != accept_key(key).decode():
            raise Closed(LOST, status)


class Server:
    """Upgrades every connection and hands it to `answer`, in a thread; anything that raises ends the connection."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.answer = answer
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with s:
            peer = Frames(s, False)
            try:
                _, fields = peer.head()
                s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          b"Sec-WebSocket-Accept: " + accept_key(fields["sec-websocket-key"].encode()) + b"\r\n\r\n")
                self.answer(peer)
                peer.read()
            except (OSError, Closed, ssl.SSLError):
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

"""A client of a federation that shares no code with polykern, and sends what it likes."""

import pathlib
import ssl
import subprocess
import sys

import websocket
from websocket import LOST, Closed

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
N, D, M = 12, 8, 5  # of pof-mkl in federation.py
WIDTH = 2 * D
VERSION = 5  # of the protocol


def messages(folder):
    """The protocol's messages, made by protoc from the same file as everybody's; an agent's state is beside them."""
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", "polykern/v1/federation.proto",
                    "polykern/v1/agent_state.proto"], check=True)
    sys.path.insert(0, str(folder))
    from polykern.v1 import federation_pb2

    return federation_pb2


def tls(f, name="station-0", certificates=None):
    """What a client of this name connects with; "none": no certificate."""
    folder = certificates or f.folder / "pki/clients" / name
    context = ssl.create_default_context(cafile=f.folder / "pki/ca.crt")
    if folder != "none":
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


class Raw:
    """One connection that sends what it likes. What goes wrong while it connects is told by read and status."""

    def __init__(self, v1, f, name="station-0", certificates=None, fields=(), hello=VERSION, **options):
        self.v1, self.wire, self.end = v1, None, None
        if certificates == "insecure":
            context, fields = None, (*fields, ("polykern-client", name))
        else:
            context = tls(f, name, certificates)
        try:
            self.wire = websocket.Client(f.port, context, fields=fields, **options)
            if hello is not None:
                self.send(v1.ClientMessage(hello=v1.Hello(version=hello)))
        except OSError as error:
            self.end = Closed(LOST, str(error))
        except Closed as closed:
            self.end = closed

    def send(self, message):
        if self.end is None:
            try:
                self.wire.write(websocket.BINARY, message if isinstance(message, bytes) else message.SerializeToString())
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                pass  # reading tells why

    def read(self):
        if self.end is None:
            try:
                return self.v1.ServerMessage.FromString(self.wire.read())
            except Closed as closed:
                self.end = closed
            except OSError as error:
                self.end = Closed(LOST, str(error))
        raise self.end

    def status(self):
        """Reads to the end; how the server ended it."""
        try:
            while True:
                self.read()
        except Closed as closed:
            return closed.code, closed.reason

    def answers(self):
        """Is it still connected? The server answers a ping."""
        self.wire.write(websocket.PING, b"there?")
        return self.wire.read_frame() == (websocket.PONG, b"there?")

    def close(self):
        if self.wire is not None:
            self.wire.socket.close()


def update(v1, step=0, kernels=(0, 3), values=None, losses=()):
    values = [0.01] * (WIDTH * len(kernels)) if values is None else values
    return v1.ClientMessage(update=v1.Update(step=step, kernels=kernels, values=values, losses=losses))

"""A client of a federation that shares no code with polykern, and sends what it likes."""

import pathlib
import queue
import subprocess
import sys

import grpc

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
N, D, M = 12, 8, 5  # of pof-mkl in federation.py
WIDTH = 2 * D


def messages(folder):
    """The protocol's messages, made by protoc from the same file as everybody's; an agent's state is beside them."""
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", "polykern/v1/federation.proto",
                    "polykern/v1/agent_state.proto"], check=True)
    sys.path.insert(0, str(folder))
    from polykern.v1 import federation_pb2

    return federation_pb2


class Raw:
    """One connection that sends what it likes."""

    def __init__(self, v1, f, name="station-0", certificates=None, metadata=(), hello=1, options=()):
        self.v1 = v1
        if certificates == "insecure":
            metadata = (*metadata, ("polykern-client", name))
            self.channel = grpc.insecure_channel(f"127.0.0.1:{f.port}", options)
        else:
            self.channel = grpc.secure_channel(f"127.0.0.1:{f.port}", self.credentials(f, name, certificates), options)
        self.out = queue.Queue()
        call = self.channel.stream_stream("/polykern.v1.Federation/Join")
        self.replies = call(iter(self.out.get, None), metadata=metadata, timeout=20)
        if hello is not None:
            self.send(v1.ClientMessage(hello=v1.Hello(version=hello)))

    def credentials(self, f, name, certificates):
        folder = certificates or f.folder / "pki/clients" / name
        root = (f.folder / "pki/ca.crt").read_bytes()
        if folder == "none":
            return grpc.ssl_channel_credentials(root)
        return grpc.ssl_channel_credentials(
            root, (folder / "client.key").read_bytes(), (folder / "client.crt").read_bytes())

    def send(self, message):
        self.out.put(message if isinstance(message, bytes) else message.SerializeToString())

    def read(self):
        return self.v1.ServerMessage.FromString(next(self.replies))

    def status(self):
        """Reads to the end; how the server ended it."""
        try:
            for _ in self.replies:
                pass
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()

    def close(self):
        self.out.put(None)
        self.channel.close()


def update(v1, step=0, kernels=(0, 3), values=None, losses=()):
    values = [0.01] * (WIDTH * len(kernels)) if values is None else values
    return v1.ClientMessage(update=v1.Update(step=step, kernels=kernels, values=values, losses=losses))

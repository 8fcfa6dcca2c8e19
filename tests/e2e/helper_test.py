"""polykern helper: what it unmasks and what it refuses, judged by a server and clients that share no code with it."""

import hashlib
import hmac
import os
import pathlib
import re
import secrets
import signal
import ssl
import struct
import subprocess
import sys

import pytest
import websocket
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from raw_client import PROTO

POLYKERN = os.environ["POLYKERN"]
FEDERATION, EPOCH, KIND, UNIT = "0123456789abcdef", 3, 7, 2.0 ** -36
NUMBERS = 50


@pytest.fixture(scope="session")
def messages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("helper_proto")
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", "polykern/v1/helper.proto"], check=True)
    sys.path.insert(0, str(folder / "polykern/v1"))
    import helper_pb2

    return helper_pb2


def number(value):
    return struct.pack("<Q", value)


def text(value):
    return number(len(value)) + value.encode()


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def raw_public(key):
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


class Client:
    """Masks as docs/develop/protocol-masks.md says."""

    kind, unit = KIND, UNIT

    def __init__(self, folder, name, helper_key, further=b""):
        self.name = name
        read = lambda file: serialization.load_pem_private_key((folder / file).read_bytes(), None)
        secret, certificate_key = read("mask.key"), read("client.key")
        public = raw_public(secret.public_key())
        signed = b"polykern mask key 1" + struct.pack("!I", len(name)) + name.encode() + public
        self.key = dict(certificate=(folder / "client.crt").read_text(), key=public,
                        signature=certificate_key.sign(signed, ec.ECDSA(hashes.SHA256())))
        shared = secret.exchange(x25519.X25519PublicKey.from_public_bytes(helper_key))
        info = text("polykern pair key 1") + text(FEDERATION) + number(EPOCH) + text(name) + text("auditor") + number(len(further)) + further
        self.pair = HKDF(hashes.SHA256(), 32, b"".join(sorted([public, helper_key])), info).derive(shared)

    def send(self, step, samples, releases=0):
        """What it sends of a sum, and its numbers, masked and not."""
        nonce = secrets.token_bytes(16)
        plain = [secrets.randbits(64) for _ in range(NUMBERS)]
        fields = [EPOCH, 64, bits_of(self.unit), step, self.kind, NUMBERS, samples,
                  6 * samples, 6 * samples, releases]
        key = hmac.digest(self.pair, b"polykern mask 1\0" + b"".join(map(number, fields)) + nonce, hashlib.sha256)
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor().update(bytes(8 * NUMBERS))
        masked = [(a + b) % 2 ** 64 for a, b in zip(plain, struct.unpack(f"<{NUMBERS}Q", stream))]
        return dict(client=self.name, step=step, samples=samples, unknowns=6 * samples, new_unknowns=6 * samples,
                    releases=releases, nonce=nonce), plain, masked


def added(rows):
    return [sum(column) % 2 ** 64 for column in zip(*rows)]


class Helped:
    """A folder with an authority, a helper that runs, and three clients."""

    kind, unit = KIND, UNIT

    def __init__(self, folder, v1):
        self.folder, self.v1, self.helper, self.port = folder, v1, None, 0
        self.do("pki", "init", "--server", "127.0.0.1")
        self.do("pki", "helper", "auditor", "--host", "127.0.0.1")
        self.names = ["a", "b", "c"]
        for name in self.names:
            self.do("pki", "issue", name)
        (folder / "clients.txt").write_text("# ours\nb\n\nc\r\n")
        self.start()

    def do(self, *arguments):
        subprocess.run([POLYKERN, *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def command(self):
        return [POLYKERN, "helper", "--listen", f"127.0.0.1:{self.port}", "--certificates", "pki/helpers/auditor",
                "--store", "helper.db", "--clients", "a,@clients.txt", "--log", "helper.log"]

    def start(self):
        self.helper = subprocess.Popen(self.command(), cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.said = self.helper.stdout.readline()
        self.port = int(re.match(r"listening on 127\.0\.0\.1:(\d+): auditor, helper of 3 clients$", self.said)[1])
        self.seen = self.helper.stdout.readline()

    def kill(self):
        self.helper.kill()
        self.helper.wait()

    def connect(self, own="pki/server"):
        """As whoever has this certificate."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # Python knows no role of helpers
        context.load_cert_chain(self.folder / f"{own}.crt", self.folder / f"{own}.key")
        wire = websocket.Client(self.port, context, target="/polykern-helper")
        hello = self.v1.HelperHello(version=1, federation=FEDERATION, epoch=EPOCH, noise=self.noise())
        wire.write(websocket.BINARY, self.v1.ToHelper(hello=hello).SerializeToString())
        welcome = self.v1.FromHelper.FromString(wire.read()).welcome
        return wire, welcome

    def noise(self):
        return None

    def clients(self, welcome):
        return [Client(self.folder / "pki/clients" / name, name, welcome.key.key) for name in self.names]

    def release(self, number, sent, clients=()):
        names = sorted({message["client"] for message in sent})
        release = self.v1.Release(
            id=number + 10, federation=FEDERATION, epoch=EPOCH, number=number, kind=self.kind, numbers=NUMBERS, bits=64,
            unit=self.unit, noise=self.noise(), clients=names, client=[names.index(message["client"]) for message in sent],
            nonces=b"".join(message["nonce"] for message in sent),
            **{field: [message[field] for message in sent]
               for field in ("step", "samples", "unknowns", "new_unknowns", "releases")})
        for client in clients:
            release.keys.add(client=client.name, key=self.v1.SignedMaskKey(**client.key))
        return self.v1.ToHelper(release=release).SerializeToString()

    def ask(self, wire, request):
        wire.write(websocket.BINARY, request)
        return self.v1.FromHelper.FromString(wire.read()).answer


@pytest.fixture
def helped(tmp_path, messages):
    made = Helped(tmp_path, messages)
    yield made
    made.kill()


def unmasked(masked, answer):
    return [(a - b) % 2 ** 64 for a, b in zip(masked, answer.streams)]


def test_a_helper_unmasks_sums_once_however_often_it_is_killed(helped):
    wire, welcome = helped.connect()
    clients = helped.clients(welcome)
    for release in range(4):
        sent, plain, masked = zip(*(client.send(step=release, samples=40, releases=release) for client in clients))
        request = helped.release(release, sent, clients if release == 0 else ())
        answer = helped.ask(wire, request)
        assert not answer.refusal and answer.id == release + 10
        assert unmasked(added(masked), answer) == added(plain)
        helped.kill()
        helped.start()
        wire, welcome = helped.connect()
        assert welcome.releases == release + 1
        assert helped.ask(wire, request).streams == answer.streams
        other = helped.ask(wire, helped.release(release, sent[1:]))
        assert "the helper has already made it for another request" in other.refusal and not other.streams and not other.later
    helped.helper.send_signal(signal.SIGTERM)
    out, _ = helped.helper.communicate(timeout=60)
    assert helped.helper.returncode == 0
    assert out == "stopped: 0 releases answered, 1 answered again, 1 refused\n"
    log = (helped.folder / "helper.log").read_text()
    assert "release 3 of epoch 3: 50 numbers of kind 7, 3 clients, 120 samples" in log


def test_a_helper_restored_from_a_backup_asks_for_a_new_epoch(helped):
    wire, welcome = helped.connect()
    clients = helped.clients(welcome)
    requests = []
    for release in range(2):
        sent, _, _ = zip(*(client.send(release, 40, releases=release) for client in clients))
        requests.append(helped.release(release, sent, clients))
    assert not helped.ask(wire, requests[0]).refusal
    helped.kill()
    kept = {path: path.read_bytes() for path in helped.folder.glob("helper.db*")}
    helped.start()
    wire, _ = helped.connect()
    assert not helped.ask(wire, requests[1]).refusal
    helped.kill()
    for path, content in kept.items():
        path.write_bytes(content)
    helped.start()
    wire, welcome = helped.connect()
    assert welcome.releases == 1
    sent, _, _ = zip(*(client.send(2, 40, releases=2) for client in clients))
    for _ in range(2):
        assert "restored from a backup" in helped.ask(wire, helped.release(1, sent)).refusal
    assert "start a new epoch" in helped.ask(wire, requests[1]).refusal
    with pytest.raises(websocket.Closed, match="start a new epoch"):
        helped.connect()


def test_a_helper_listens_to_the_server_alone_and_notices_revocations(helped):
    for own in ("pki/clients/a/client", "pki/helpers/auditor/helper"):
        with pytest.raises((websocket.Closed, OSError)):
            helped.connect(own)
    wire, welcome = helped.connect()
    clients = helped.clients(welcome)
    sent, plain, masked = zip(*(client.send(step=0, samples=40) for client in clients))
    helped.do("pki", "revoke", "b")
    answer = helped.ask(wire, helped.release(0, sent, clients))
    assert "b: " in answer.refusal and "revoked" in answer.refusal and not answer.later
    rest = [0, 2]
    answer = helped.ask(wire, helped.release(1, [sent[k] for k in rest]))
    assert unmasked(added([masked[k] for k in rest]), answer) == added([plain[k] for k in rest])
    wire.write(websocket.BINARY, b"\xff" * 100)
    with pytest.raises(websocket.Closed) as ended:
        wire.read()
    assert ended.value.code == websocket.BROKEN
    helped.connect()  # and it is there as before


def test_a_helper_has_its_log_to_itself_and_leaves_no_core_file(helped):
    assert "never data" in helped.seen
    limits = pathlib.Path(f"/proc/{helped.helper.pid}/limits").read_text()
    assert re.search(r"Max core file size +0 +0 ", limits)
    port, helped.port = helped.port, 0
    done = subprocess.run(helped.command(), cwd=helped.folder, capture_output=True, text=True, timeout=60)
    helped.port = port
    assert done.returncode == 1 and "another process is using the helper's log" in done.stderr


@pytest.mark.parametrize("arguments, code, words", [
    ((), 2, "--clients is required"),
    (("--clients", "../a"), 1, "is not a client's name"),
    (("--clients", "@missing.txt"), 1, "missing.txt"),
    (("--clients", "a,b", "--least-clients", "1"), 2, "--least-clients"),
    (("--clients", "a,b", "--least-clients", "3"), 1, "nothing would ever be released"),
    (("--clients", "a,b", "--disclosure", "1.5"), 2, "--disclosure"),
    (("--clients", "a,b"), 1, "helper"),  # there are no certificates
    (("--clients", "a,b", "--insecure", "--listen", "0.0.0.0:0"), 1, "--insecure listens on the loopback only"),
])
def test_a_helper_says_what_it_cannot_do(polykern, arguments, code, words):
    done = polykern("helper", *arguments)
    assert done.code == code and words in done.err and done.err.count("\n") == 1

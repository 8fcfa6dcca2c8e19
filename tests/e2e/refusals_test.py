"""What a federation's server refuses, tried by a client that shares no code with polykern."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest

from federation import DIMENSION, POLYKERN
from raw_client import M, N, VERSION, WIDTH, tls, update
from websocket import BROKEN, BUSY, LOST, REFUSED, REPLACED, Closed
from websocket import VERSION as OTHER_VERSION


@pytest.fixture
def served(federation):
    f = federation("pof-mkl", clients=3)
    f.serve("--quorum", "1", "--deadline", "1000")
    return f


def clients_of(f):
    shown = subprocess.run([POLYKERN, "store", "show", "store.db", "--format", "json"], cwd=f.folder,
                           capture_output=True, text=True)
    return {c["name"]: c for c in json.loads(shown.stdout)["clients"]}


def test_a_client_that_shares_no_code_takes_part(served, raw, v1):
    client = raw(served)
    welcome = client.read().welcome
    assert (welcome.version, welcome.client, welcome.model.step) == (VERSION, 0, 0)
    assert welcome.configuration["algorithm"] == b"pof-mkl"
    assert list(welcome.model.kernels) == list(range(N)) and not any(welcome.model.values)
    client.send(update(v1))
    model = client.read().model  # only the kernels that changed, each moved by what was sent
    assert model.step == 1 and list(model.kernels) == [0, 3]
    assert all(abs(v + 0.01) < 1e-7 for v in model.values) and len(model.values) == 2 * WIDTH


def test_no_certificate_and_another_authoritys_are_refused(served, raw, tmp_path):
    assert raw(served, certificates="none").status()[0] == LOST
    for arguments in (["init"], ["issue", "station-0"]):
        subprocess.run([POLYKERN, "pki", *arguments], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    theirs = tmp_path / "pki/clients/station-0"
    assert raw(served, certificates=theirs).status()[0] == LOST
    shutil.copy(served.folder / "pki/ca.crt", theirs / "ca.crt")
    done = subprocess.run([POLYKERN, "join", "--server", f"127.0.0.1:{served.port}", "--certificates", theirs,
                           "--input", served.folder / "0.csv", "--give-up", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "no connection for 1.0 s" in done.stderr and done.stdout == ""
    # An agent does not talk to a server of another authority either.
    shutil.copy(tmp_path / "pki/ca.crt", served.folder / "pki/clients/station-0/ca.crt")
    served.join(0, give_up=1)
    assert served.agents[0].wait(30) == 1
    assert all(c["accepted"] == 0 for c in clients_of(served).values())


def test_an_expired_certificate_is_refused_and_one_that_expires_ends_its_connection(served, raw, tmp_path):
    pki = served.folder / "pki"
    late = tmp_path / "late"
    late.mkdir()
    (late / "ca.cnf").write_text(
        f"[ca]\ndefault_ca=d\n[d]\ndatabase={late}/index\nserial={late}/serial\nnew_certs_dir={late}\n"
        "default_md=sha256\npolicy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n"
        "[x]\nbasicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n"
        "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    (late / "index").write_text("")
    (late / "serial").write_text("1234\n")

    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            "/CN=station-0", "-keyout", late / "client.key", "-out", late / "csr")
    def connect(end):
        (late / "index").write_text("")
        openssl("ca", "-batch", "-config", late / "ca.cnf", "-cert", pki / "ca.crt", "-keyfile", pki / "ca.key", "-in", late / "csr",
                "-out", late / "client.crt", "-startdate", "20200101000000Z", "-enddate", end, "-notext")
        return raw(served, certificates=late)

    for end, good in (("20200201000000Z", False), ("20400101000000Z", True)):
        client = connect(end)
        if good:  # so it was the time, and nothing else
            assert client.read().welcome.client == 0
            continue
        assert client.status()[0] == LOST
        shutil.copy(pki / "ca.crt", late / "ca.crt")
        done = subprocess.run([POLYKERN, "join", "--certificates", late], capture_output=True, text=True)
        assert done.returncode == 1 and "expired on 2020-02-01" in done.stderr

    other = raw(served, "station-1")
    assert other.read().welcome
    soon = time.time() + 3
    client = connect(time.strftime("%Y%m%d%H%M%SZ", time.gmtime(soon)))
    assert client.read().welcome  # in time
    code, why = client.status()
    assert code == REFUSED and "expired" in why
    assert 0 <= time.time() - int(soon) < 3
    assert other.answers()


def test_revocation_works_without_a_restart(served, raw):
    before, other = raw(served), raw(served, "station-1")
    assert before.read().welcome and other.read().welcome
    served.do("pki", "revoke", "station-0")
    code, why = raw(served).status()
    assert code == REFUSED and "revoked" in why
    code, why = before.status()  # it was in already
    assert code == REFUSED and "revoked" in why
    served.join(0)
    assert served.agents[0].wait(30) == 1
    assert "the certificate is revoked" in (served.folder / "agent-0.log").read_text()
    assert other.answers()


def test_no_client_speaks_for_another(served, raw, v1):
    client = raw(served, "station-2", fields=[("polykern-client", "station-0")])
    assert client.read().welcome.client == 2
    client.send(update(v1))
    assert client.read().model.step == 1
    counts = clients_of(served)
    assert (counts["station-2"]["accepted"], counts["station-0"]["accepted"]) == (1, 0)


def test_a_stranger_with_a_certificate_is_refused_if_clients_are_named(served, raw):
    served.do("pki", "issue", "stranger")
    code, why = raw(served, "stranger").status()
    assert code == REFUSED and "'stranger' is not a client" in why


@pytest.mark.parametrize("version", [0, 4, 6, 77])
def test_another_version_of_the_protocol_is_refused_clearly(served, raw, version):
    code, why = raw(served, hello=version).status()
    assert code == OTHER_VERSION
    assert f"you speak version {version}" in why and f"this server speaks {VERSION}" in why


def test_a_peer_of_a_version_over_http2_is_closed_and_named(served):
    old = tls(served, "station-2")
    old.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as s, \
            old.wrap_socket(s, server_hostname="127.0.0.1") as wire:
        wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        try:
            assert wire.recv(100) == b""
        except ConnectionResetError:
            pass
    end = time.monotonic() + 5
    while "HTTP/2" not in (log := (served.folder / "server.log").read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    assert "it speaks HTTP/2, as polykern before 0.2 did (station-2: update it)" in log


def test_an_update_counts_once_and_for_its_step_only(federation, raw, v1):
    f = federation("pof-mkl", clients=3)
    f.serve()  # all must answer
    client = raw(f)
    client.read()
    client.send(update(v1))
    client.send(update(v1))  # replayed
    assert "was answered before" in client.read().verdict.reason
    client.send(update(v1, step=1))  # not begun yet
    assert "the server is at step 0" in client.read().verdict.reason
    again = raw(f)  # replayed on another connection
    again.read()
    again.send(update(v1))
    assert client.status()[0] == REPLACED  # the newer connection took its place
    others = [raw(f, "station-1"), raw(f, "station-2")]
    for other in others:
        other.read()
        other.send(update(v1))
    model = again.read().model
    assert model.step == 1 and all(abs(v + 0.01) < 1e-7 for v in model.values)  # the mean of three
    again.send(update(v1))  # late, and the second time on this connection
    assert "was answered before" in again.read().verdict.reason
    again.send(update(v1, step=1))
    for other in others:
        assert other.read().model.step == 1
        other.send(update(v1, step=1))
    assert again.read().model.step == 2
    assert {c["accepted"] for c in clients_of(f).values()} == {2}
    assert clients_of(f)["station-0"]["rejected"] == 3


def test_bad_updates_are_answered_and_their_sender_sent_away(federation, raw, v1):
    f = federation("pof-mkl", clients=3)
    f.serve("--quorum", "1", "--deadline", "1000")
    bad, good = raw(f), raw(f, "station-1")
    bad.read(), good.read()
    for message, words in [
        (update(v1, values=[float("nan")] * 2 * WIDTH), "not finite"),
        (update(v1, values=[1e30] * 2 * WIDTH), "above 512"),
        (update(v1, kernels=[0, N]), f"no kernel {N}"),
        (update(v1, kernels=[3, 3]), "twice"),
    ]:
        bad.send(message)
        assert words in bad.read().verdict.reason
    bad.send(update(v1, values=[0.1]))
    assert "inconsistent lengths" in bad.read().verdict.reason
    busy = bad.read().busy
    assert "refused for a while" in busy.reason and 0 < busy.earliest_milliseconds <= busy.latest_milliseconds
    assert bad.status()[0] == BUSY
    assert raw(f).status()[0] == BUSY
    good.send(update(v1))
    model = good.read().model  # untouched by all that
    assert model.step == 1 and all(abs(v + 0.01) < 1e-7 for v in model.values)
    assert clients_of(f)["station-0"]["rejected"] == 5


def test_a_flood_of_late_updates_is_answered_and_its_sender_sent_away(federation, raw, v1):
    f = federation("pof-mkl", clients=3)
    f.serve("--quorum", "1", "--deadline", "0")
    good = raw(f, "station-1")
    good.read()
    for step in range(9):
        good.send(update(v1, step=step))
        assert good.read().model.step == step + 1
    for name, steps, words in (("station-0", [8] * 6, "step 8 was answered before"),
                               ("station-2", range(7), "step 2 was over before this connection began at step 9")):
        flood = raw(f, name)
        assert flood.read().welcome.model.step == 9
        for step in steps:
            flood.send(update(v1, step=step))
        assert words in flood.read().verdict.reason
        assert flood.status()[0] == BUSY
        assert raw(f, name).status()[0] == BUSY
    good.send(update(v1, step=9))
    assert good.read().model.step == 10  # it noticed nothing
    counts = clients_of(f)
    assert [counts[n]["rejected"] for n in f.names] == [5, 0, 5]
    assert [counts[n]["accepted"] for n in f.names] == [0, 10, 0]


def test_bytes_that_are_not_a_message_end_the_connection(served, raw, v1):
    for first, bytes_ in [(None, b"\xff" * 40), (None, b""), (VERSION, b"\x12\xff\xff\xff\xff\x0f")]:
        client = raw(served, hello=first)
        client.send(bytes_)
        assert client.status()[0] == BROKEN
    client = raw(served, hello=None)
    client.send(update(v1))
    assert "before the hello" in client.status()[1]


def test_a_message_over_the_limit_is_refused(served, raw, v1):
    largest = raw(served)
    largest.read()
    largest.send(update(v1, kernels=range(M)))
    assert largest.read().model.step == 1
    largest.send(update(v1, step=1, kernels=range(M), values=[0.01] * (WIDTH * M + 2000)))
    code, why = largest.status()
    assert code == BROKEN and "a message of more than" in why


def test_over_load_is_answered_with_a_retry_window(federation, raw):
    f = federation("pof-mkl", clients=3)
    f.serve("--quorum", 1, "--max-connected", 2, "--retry-earliest", 2, "--retry-latest", 5)
    inside = [raw(f, name) for name in f.names[:2]]
    for client in inside:
        assert client.read().welcome
    outside = raw(f, "station-2")
    busy = outside.read().busy
    assert (busy.earliest_milliseconds, busy.latest_milliseconds) == (2000, 5000)
    assert outside.status()[0] == BUSY
    inside[0].close()
    for _ in range(100):  # there is room again when the server has noticed
        again = raw(f, "station-2").read()
        if again.WhichOneof("kind") == "welcome":
            return
        time.sleep(0.05)
    raise AssertionError("it never was let in")


def test_one_client_cannot_fill_the_server_with_connections(served, raw):
    for _ in range(8):
        raw(served, hello=None)  # they say nothing
    turned_away = raw(served).read().busy
    assert "too many connections" in turned_away.reason
    assert 0 < turned_away.earliest_milliseconds <= turned_away.latest_milliseconds
    assert raw(served, "station-1").read().welcome.client == 1  # the others notice nothing


def test_who_does_not_listen_is_not_told_for_ever(served, raw):
    for _ in range(16):
        raw(served, hello=None)  # it reads nothing, not even why it has to go
    with pytest.raises(Closed) as told:  # an end without a message
        raw(served).read()
    assert told.value.code == BUSY and "too many connections" in told.value.reason
    assert raw(served, "station-1").read().welcome.client == 1


def test_a_client_that_does_not_read_gets_the_newest_model_and_no_queue(federation, raw, v1):
    f = federation("pof-mkl", clients=3)
    f.kernels = ["--kernels", 60, "--features", 100, "--kernels-per-upload", 5]
    f.steps = 0
    f.serve("--quorum", 1, "--deadline", 0)
    slow, fast = raw(f, receive_buffer=65536), raw(f, "station-1")
    assert slow.read().welcome and fast.read().welcome
    steps = 300
    for step in range(steps):  # a model of 4 kB each: far more than any window holds
        fast.send(update(v1, step=step, kernels=[(5 * step + i) % 60 for i in range(5)], values=[0.01] * 1000))
        model = fast.read().model
        # Once per step, and only what changed.
        assert model.step == step + 1 and sorted(model.kernels) == sorted((5 * step + i) % 60 for i in range(5))
    seen, largest = [], 0
    while not seen or seen[-1] < steps:
        model = slow.read().model
        seen.append(model.step)
        largest = max(largest, len(model.kernels))
    assert seen == sorted(set(seen)) and len(seen) < steps / 2  # some were on their way; then a jump
    assert largest == 60  # to the newest, with all that it had missed


@pytest.mark.parametrize("listen", ["127.0.0.1:65536", "127.0.0.1:99999", "127.0.0.1:", "127.0.0.1", "127.0.0.1:x"])
def test_an_address_without_a_port_is_not_an_address(listen, tmp_path):
    serve = ["serve", "--dimension", "2", "--target-range", "none", "--store", "s.db", "--insecure", "--listen", listen]
    done = subprocess.run([POLYKERN, *serve], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"polykern: --listen {listen}: not of the form HOST:PORT, port 0 to 65535"
    assert not list(tmp_path.iterdir())


def test_what_is_not_closed_is_said_aloud(federation, tmp_path):
    f = federation("pof-mkl", clients=1)
    serve = ["serve", "--dimension", "2", "--target-range", "none", "--store", "s.db", "--insecure", "--listen"]
    for anywhere in ("0.0.0.0:0", "127.example.org:0"):
        done = subprocess.run([POLYKERN, *serve, anywhere], cwd=f.folder, capture_output=True, text=True)
        assert done.returncode == 1 and "--insecure listens on the loopback only" in done.stderr
    assert "INSECURE" in f.serve("--insecure")
    f.names = ["trial"]
    f.join(0, "--insecure", "--name", "station-0")
    f.wait()
    f.check_predictions()


def test_a_server_and_an_agent_leave_no_core_files(served):
    served.join(0)
    for process in (served.server, served.agents[0]):
        while (limits := pathlib.Path(f"/proc/{process.pid}/limits").read_text()) and process is served.agents[0] \
                and not (served.folder / "0.out").stat().st_size:
            time.sleep(0.01)  # it has not begun
        assert re.search(r"Max core file size +0 +0 ", limits)


def test_a_store_of_another_configuration_is_refused(served):
    served.server.terminate()
    served.server.wait()
    done = subprocess.run([POLYKERN, "serve", "--listen", "127.0.0.1:0", "--dimension", str(DIMENSION), "--seed",
                           "12", "--kernels", "12", "--steps", "40", "-D", "8", "-M", "5"],
                          cwd=served.folder, capture_output=True, text=True)
    assert done.returncode == 1 and "(seed: 11 -> 12)" in done.stderr


@pytest.mark.parametrize("value", [512.0, -512.0, 40.0])
def test_updates_that_no_honest_client_sends_ruin_no_model(federation, raw, v1, value):
    """Where labels have a range, a step is at most as long as the worst label makes it: here 3 bins, eta = 1/sqrt(40)."""
    f = federation("pof-mkl", clients=2)
    f.serve("--quorum", "1", "--target-range", "0:1")
    client = raw(f)
    client.read()
    for _ in range(5):
        client.send(update(v1, values=[value] * (2 * WIDTH)))
        assert "has the norm" in client.read().verdict.reason
    assert client.status()[0] == BUSY
    honest = raw(f, "station-1")
    model = honest.read().welcome.model
    assert model.step == 0 and not any(model.values)
    most = 3 / 40**0.5 * 2  # times the error, 1
    honest.send(update(v1, kernels=[0], values=[most / WIDTH**0.5 * 0.999] * WIDTH))
    assert honest.read().model.step == 1

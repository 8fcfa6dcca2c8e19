"""polykern pki, as a user types it; judged by the openssl program."""

import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest


@pytest.fixture
def openssl(tmp_path):
    def run(*arguments):
        done = subprocess.run(["openssl", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def pki(polykern):
    assert polykern("pki", "init", "--server", "learn.example.org", "192.0.2.7", "::1").code == 0
    return lambda *arguments, **options: polykern("pki", *arguments, **options)


def listed(pki):
    done = pki("list", "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def verify(openssl, certificate, *more):
    return openssl("verify", "-x509_strict", "-CAfile", "pki/ca.crt", "-CRLfile", "pki/ca.crl", "-crl_check", *more, certificate)


def test_the_authority_and_the_server_are_what_they_should_be(pki, openssl):
    code, text = openssl("x509", "-in", "pki/ca.crt", "-noout", "-text")
    assert code == 0
    assert re.search(r"Basic Constraints: critical\s+CA:TRUE, pathlen:0", text)
    assert re.search(r"Key Usage: critical\s+Certificate Sign, CRL Sign", text)
    assert "NIST CURVE: P-256" in text and "Version: 3" in text
    code, text = openssl("x509", "-in", "pki/server.crt", "-noout", "-text")
    assert code == 0
    assert "DNS:learn.example.org, IP Address:192.0.2.7, IP Address:0:0:0:0:0:0:0:1" in text
    assert re.search(r"Basic Constraints: critical\s+CA:FALSE", text)
    assert re.search(r"Extended Key Usage: \s*TLS Web Server Authentication\n", text)
    assert "Subject Key Identifier" in text and "Authority Key Identifier" in text
    assert verify(openssl, "pki/server.crt", "-purpose", "sslserver", "-verify_hostname", "learn.example.org")[0] == 0
    assert verify(openssl, "pki/server.crt", "-purpose", "sslserver", "-verify_ip", "192.0.2.7")[0] == 0
    assert verify(openssl, "pki/server.crt", "-verify_hostname", "other.example.org")[0] != 0
    assert verify(openssl, "pki/server.crt", "-purpose", "sslclient")[0] != 0


def test_a_client_gets_a_folder_it_can_take_away(pki, openssl, tmp_path):
    assert pki("issue", "station-7", "--out", "device", "--days", "30").code == 0
    device = tmp_path / "device"
    assert sorted(p.name for p in device.iterdir()) == ["ca.crt", "client.crt", "client.key", "mask.key"]
    assert (device / "ca.crt").read_bytes() == (tmp_path / "pki/ca.crt").read_bytes()
    assert verify(openssl, "device/client.crt", "-purpose", "sslclient")[0] == 0
    assert verify(openssl, "device/client.crt", "-purpose", "sslserver")[0] != 0
    after = str(int(time.time()) + 31 * 86400)
    assert "expired" in verify(openssl, "device/client.crt", "-attime", after)[1]
    subject = openssl("x509", "-in", "device/client.crt", "-noout", "-subject", "-serial")[1]
    entry = listed(pki)["clients"][0]
    assert "CN = station-7" in subject and f"serial={entry['serial']}" in subject
    public = openssl("x509", "-in", "device/client.crt", "-noout", "-pubkey")[1]
    assert openssl("pkey", "-in", "device/client.key", "-pubout")[1] == public
    assert openssl("pkey", "-in", "device/mask.key", "-noout", "-text")[1].startswith("X25519 Private-Key:")


def test_a_renewed_client_keeps_its_key_for_masks_and_an_older_one_gets_one(pki, tmp_path):
    key = tmp_path / "pki/clients/a/mask.key"
    assert pki("issue", "a").code == 0
    first = key.read_text()
    assert pki("issue", "a", "--renew").code == 0
    assert key.read_text() == first
    key.unlink()  # as an older program left it
    assert pki("issue", "a", "--renew").code == 0
    assert key.read_text().startswith("-----BEGIN PRIVATE KEY-----") and key.read_text() != first
    key.write_text("nonsense")
    done = pki("issue", "a", "--renew")
    assert done.code == 1 and done.err == "polykern: pki/clients/a/mask.key: contains no readable private key; restore a copy of it, or make it again with polykern pki\n"


def test_a_helper_gets_a_folder_of_its_own(pki, openssl, tmp_path):
    done = pki("helper", "auditor", "--host", "helper.example.org", "192.0.2.8", "--out", "auditor")
    assert done.code == 0 and "for helper.example.org, 192.0.2.8; expires" in done.out, done.err
    folder = tmp_path / "auditor"
    assert sorted(p.name for p in folder.iterdir()) == ["ca.crl", "ca.crt", "helper.crt", "helper.key", "mask.key"]
    assert mode(folder) == 0o700 and mode(folder / "helper.key") == mode(folder / "mask.key") == 0o600
    text = openssl("x509", "-in", "auditor/helper.crt", "-noout", "-text")[1]
    assert re.search(r"Extended Key Usage: \s*2\.25\.295329148796663392608447216998512933944\n", text), text
    assert "DNS:helper.example.org, IP Address:192.0.2.8" in text and "CN = auditor" in text
    assert verify(openssl, "auditor/helper.crt", "-verify_hostname", "helper.example.org")[0] == 0
    for purpose in ["sslserver", "sslclient", "nssslserver"]:
        assert verify(openssl, "auditor/helper.crt", "-purpose", purpose)[0] != 0
    listing = listed(pki)
    assert listing["clients"] == [] and [entry["name"] for entry in listing["helpers"]] == ["auditor"]
    assert re.search(r"^No client yet\.\n\nhelper .*\n-+.*\nauditor +good ", pki("list").out, re.M), pki("list").out


def test_a_helper_is_renewed_revoked_and_never_a_client(pki, openssl, tmp_path):
    assert pki("helper").code == 0 and pki("issue", "a").code == 0
    folder = tmp_path / "pki/helpers/helper"
    mask_key = (folder / "mask.key").read_text()
    done = pki("helper")
    assert done.code == 1 and "'helper' has a certificate already" in done.err and "--renew" in done.err
    assert pki("helper", "--renew").code == 0
    assert (folder / "mask.key").read_text() == mask_key
    done = pki("issue", "helper", "--renew")
    assert (done.code, done.err) == (1, "polykern: 'helper' is the name of a helper; give the client another\n")
    done = pki("helper", "a", "--renew")
    assert (done.code, done.err) == (1, "polykern: 'a' is the name of a client; give the helper another\n")
    assert pki("revoke", "a").code == 0
    assert (folder / "ca.crl").read_bytes() == (tmp_path / "pki/ca.crl").read_bytes()
    assert "helper, 2 certificates" in pki("revoke", "helper").out
    assert "revoked" in verify(openssl, "pki/helpers/helper/helper.crt")[1]
    assert [entry["state"] for entry in listed(pki)["helpers"]] == ["revoked", "revoked"]


def pose(tmp_path, place, whose, crt, key):
    """A folder in which one's certificate stands where another's belongs."""
    folder = tmp_path / place
    folder.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "pki/ca.crt", folder / "ca.crt")
    shutil.copy(tmp_path / "pki/ca.crl", folder / "ca.crl")
    shutil.copy(tmp_path / crt, folder / f"{whose}.crt")
    shutil.copy(tmp_path / key, folder / f"{whose}.key")
    return folder


@pytest.fixture
def meet(polykern, tmp_path):
    """meet(server's folder, client's folder): whether a sample is learnt, and what the client says."""
    running = []

    def run(server, client):
        running.append(subprocess.Popen(
            [os.environ["POLYKERN"], "serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--certificates", server, "--dimension", "1",
             "--target-range", "0:1", "--steps", "1", "--store", f"{len(running)}.db", "--log", "none"],
            cwd=tmp_path, stdout=subprocess.PIPE, text=True))
        port = re.match(r"listening on 127\.0\.0\.1:(\d+)", running[-1].stdout.readline())[1]
        done = polykern("join", "--server", f"127.0.0.1:{port}", "--certificates", client, "--give-up", "1",
                        input="x,y\n0.5,0.5\n")
        return done.code, done.err

    yield run
    for server in running:
        server.kill()
        server.communicate()


def test_no_certificate_passes_for_that_of_another_role(polykern, meet, tmp_path):
    assert polykern("pki", "init").code == polykern("pki", "issue", "a").code == polykern("pki", "helper").code == 0
    pairs = {"server": ("pki/server.crt", "pki/server.key"),
             "client": ("pki/clients/a/client.crt", "pki/clients/a/client.key"),
             "helper": ("pki/helpers/helper/helper.crt", "pki/helpers/helper/helper.key")}
    code, err = meet("pki", "pki/clients/a")
    assert code == 0, err
    for role in ["helper", "client"]:
        pose(tmp_path, f"{role}-as-server", "server", *pairs[role])
        code, err = meet(f"{role}-as-server", "pki/clients/a")
        assert code == 1 and "the server's certificate is made for another role" in err, err
    for role in ["helper", "server"]:
        pose(tmp_path, f"{role}-as-client", "client", *pairs[role])
        code, err = meet("pki", f"{role}-as-client")
        assert code == 1 and "the server does not accept this agent's certificate: it is not made for this" in err, err


def test_keys_are_their_owners_alone_whatever_the_umask(polykern, tmp_path):
    for folder, umask in [("open", 0), ("closed", 0o777)]:
        assert polykern("pki", "init", "--dir", folder, preexec_fn=lambda: os.umask(umask)).code == 0
        done = polykern("pki", "issue", "a", "--dir", folder, preexec_fn=lambda: os.umask(umask))
        assert done.code == 0, done.err
        top = tmp_path / folder
        assert mode(top) == mode(top / "clients") == mode(top / "clients/a") == 0o700
        assert mode(top / "ca.key") == mode(top / "server.key") == mode(top / "clients/a/client.key") == 0o600
        assert mode(top / "clients/a/mask.key") == 0o600
        assert mode(top / "ca.crt") == mode(top / "ca.crl") == 0o644


def test_a_key_is_secret_from_the_moment_it_exists(polykern, tmp_path):
    trace = tmp_path / "trace"
    if subprocess.run(["sh", "-c", "strace -o /dev/null true"], capture_output=True).returncode != 0:
        pytest.skip("strace cannot run here")
    subprocess.run(["strace", "-f", "-e", "trace=open,openat,creat", "-o", trace, os.environ["POLYKERN"], "pki", "init"],
                   cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    made = [line for line in trace.read_text().splitlines() if ".key" in line and "O_CREAT" in line]
    assert len(made) == 2
    assert all("O_EXCL" in line and "0600" in line for line in made), made


def test_revoking_is_seen_by_openssl_and_touches_no_other_client(pki, openssl):
    for name in ["a", "b"]:
        assert pki("issue", name).code == 0
    done = pki("revoke", "a")
    assert done.code == 0 and "without a restart" in done.out
    assert "revoked" in verify(openssl, "pki/clients/a/client.crt")[1]
    assert verify(openssl, "pki/clients/b/client.crt")[0] == 0
    code, text = openssl("crl", "-in", "pki/ca.crl", "-CAfile", "pki/ca.crt", "-noout", "-text")
    assert code == 0 and "verify OK" in text
    states = {entry["name"]: entry for entry in listed(pki)["clients"]}
    assert states["a"]["serial"] in text and states["b"]["serial"] not in text
    assert (states["a"]["state"], states["b"]["state"]) == ("revoked", "good")
    assert re.search(r"^a +revoked ", pki("list").out, re.M)
    again = pki("issue", "a")  # a revoked name may come back, with another certificate
    assert again.code == 0, again.err
    assert verify(openssl, "pki/clients/a/client.crt")[0] == 0
    assert [e["state"] for e in listed(pki)["clients"]] == ["revoked", "good", "good"]


def test_a_name_is_issued_once_unless_renewed(pki, openssl, tmp_path):
    assert pki("issue", "a").code == 0
    first = (tmp_path / "pki/clients/a/client.crt").read_text()
    done = pki("issue", "a")
    assert done.code == 1 and "--renew" in done.err
    assert (tmp_path / "pki/clients/a/client.crt").read_text() == first
    assert pki("issue", "a", "--renew").code == 0
    assert (tmp_path / "pki/clients/a/client.crt").read_text() != first
    (tmp_path / "first.crt").write_text(first)
    assert verify(openssl, "first.crt")[0] == 0
    assert "2 certificates" in pki("revoke", "a").out
    assert verify(openssl, "first.crt")[0] != 0


def test_eight_issues_at_once_all_count(pki, openssl, tmp_path):
    running = [subprocess.Popen([os.environ["POLYKERN"], "pki", "issue", f"c{i}"], cwd=tmp_path, stdout=subprocess.DEVNULL)
               for i in range(8)]
    assert [process.wait(60) for process in running] == [0] * 8
    clients = listed(pki)["clients"]
    assert sorted(entry["name"] for entry in clients) == [f"c{i}" for i in range(8)]
    assert len({entry["serial"] for entry in clients}) == 8
    for i in range(8):
        assert verify(openssl, f"pki/clients/c{i}/client.crt")[0] == 0


def test_of_eight_issues_of_one_name_one_wins(pki, tmp_path):
    running = [subprocess.Popen([os.environ["POLYKERN"], "pki", "issue", "a"], cwd=tmp_path,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(8)]
    assert sorted(process.wait(60) for process in running) == [0] + [1] * 7
    assert len(listed(pki)["clients"]) == 1


def test_a_kill_at_any_moment_leaves_a_usable_authority(pki, openssl, tmp_path):
    draw = random.Random(5)
    for i in range(25):
        process = subprocess.Popen([os.environ["POLYKERN"], "pki", "issue", f"c{i}"], cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 0.06))  # the whole command takes about that long
        process.send_signal(signal.SIGKILL)
        process.wait()
        known = {entry["serial"] for entry in listed(pki)["clients"]}
        folder = tmp_path / f"pki/clients/c{i}"
        if folder.exists():  # then it is whole, and known
            serial = openssl("x509", "-in", str(folder / "client.crt"), "-noout", "-serial")[1].strip().split("=")[1]
            assert serial in known and (folder / "client.key").exists() and (folder / "ca.crt").exists()
            assert (folder / "mask.key").exists()
    for found in (tmp_path / "pki").rglob("client.crt"):  # no certificate that cannot be revoked
        assert openssl("x509", "-in", str(found), "-noout", "-serial")[1].strip().split("=")[1] in known
    for i in range(25):
        assert pki("issue", f"c{i}", "--renew").code == 0
        assert verify(openssl, f"pki/clients/c{i}/client.crt")[0] == 0
    assert not list((tmp_path / "pki/clients").glob(".*"))  # what the killed ones left is gone


def test_a_killed_init_can_be_done_again(polykern, openssl, tmp_path):
    draw = random.Random(6)
    for i in range(15):
        process = subprocess.Popen([os.environ["POLYKERN"], "pki", "init", "--dir", f"p{i}"], cwd=tmp_path,
                                   stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (tmp_path / f"p{i}/ca.crt").exists():
            assert polykern("pki", "init", "--dir", f"p{i}").code == 0
        done = polykern("pki", "issue", "a", "--dir", f"p{i}")
        assert done.code == 0, done.err
        assert openssl("verify", "-CAfile", f"p{i}/ca.crt", f"p{i}/server.crt", f"p{i}/clients/a/client.crt")[0] == 0


def test_the_server_is_renewed_with_its_key(pki, openssl, tmp_path):
    key = (tmp_path / "pki/server.key").read_text()
    authority = (tmp_path / "pki/ca.crt").read_text()
    assert pki("init", "--renew", "--server", "new.example.org").code == 0
    assert (tmp_path / "pki/server.key").read_text() == key
    assert (tmp_path / "pki/ca.crt").read_text() == authority
    assert verify(openssl, "pki/server.crt", "-verify_hostname", "new.example.org")[0] == 0


def test_without_names_the_server_is_this_machine(polykern, openssl):
    assert polykern("pki", "init").code == 0
    text = openssl("x509", "-in", "pki/server.crt", "-noout", "-ext", "subjectAltName")[1]
    assert "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1" in text
    assert os.uname().nodename in text


def expired_authority(openssl, tmp_path):
    (tmp_path / "pki/ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=pki/db\nserial=pki/serial\nnew_certs_dir=pki\ndefault_md=sha256\npolicy=p\n"
        "x509_extensions=x\n[p]\ncommonName=supplied\n[x]\nbasicConstraints=critical,CA:TRUE\n[req]\ndistinguished_name=n\n[n]\n")
    (tmp_path / "pki/db").write_text("")
    (tmp_path / "pki/serial").write_text("01")
    assert openssl("req", "-new", "-key", "pki/ca.key", "-subj", "/CN=old", "-config", "pki/ca.cnf", "-out", "pki/ca.csr")[0] == 0
    code, text = openssl("ca", "-batch", "-selfsign", "-config", "pki/ca.cnf", "-keyfile", "pki/ca.key", "-in", "pki/ca.csr",
                         "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-out", "pki/ca.crt", "-notext")
    assert code == 0, text


@pytest.mark.parametrize("arguments, code, words", [
    (["pki"], 2, ["missing command", "init, issue, helper, revoke, list"]),
    (["pki", "issue"], 2, ["NAME is required"]),
    (["pki", "issue", "a/b"], 1, ["'a/b' cannot be a client's name", "letters, digits"]),
    (["pki", "issue", ".."], 1, ["cannot be a client's name"]),
    (["pki", "issue", "x" * 65], 1, ["1 to 64"]),
    (["pki", "issue", "a", "--days", "0"], 2, ["--days"]),
    (["pki", "issue", "a", "--dir", "none"], 1, ["none: there is no authority here", "make one with: polykern pki init --dir none"]),
    (["pki", "issue", "a", "--out", "pki"], 1, ["pki: already exists", "--out"]),
    (["pki", "helper", "a/b"], 1, ["'a/b' cannot be a helper's name"]),
    (["pki", "helper", "--host", "host:1"], 1, ["'host:1' is neither"]),
    (["pki", "helper", "--out", "pki"], 1, ["pki: already exists and is not a helper's folder", "--out"]),
    (["pki", "helper", "--dir", "none"], 1, ["none: there is no authority here"]),
    (["pki", "init"], 1, ["an authority already exists here", "--dir"]),
    (["pki", "init", "--dir", "x", "--server", "host:1"], 1, ["'host:1' is neither"]),
    (["pki", "revoke", "nobody"], 1, ["'nobody' was never issued", "polykern pki list"]),
    (["pki", "list", "--dir", "none"], 1, ["no authority here", "polykern pki init --dir none"]),
])
def test_bad_input_gets_one_clear_line(pki, polykern, arguments, code, words):
    done = polykern(*arguments)
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.count("\n") == 1 and done.err.startswith("polykern: "), done.err
    for word in words:
        assert word in done.err, done.err


def test_without_an_authority_the_next_step_is_named(polykern):
    for arguments in (["pki", "issue", "a"], ["pki", "list"], ["serve", "--dimension", 2, "--target-range", "0:1"]):
        done = polykern(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err == "polykern: pki: there is no authority here; make one with: polykern pki init\n"


def test_an_expired_or_unreadable_authority_gets_one_clear_line(pki, openssl, tmp_path):
    expired_authority(openssl, tmp_path)
    for arguments in [["issue", "a"], ["revoke", "a"], ["init", "--renew"]]:
        done = pki(*arguments)
        assert done.code == 1 and done.err.count("\n") == 1
        assert "pki/ca.crt: the authority expired on 2021-01-01" in done.err
    (tmp_path / "pki/ca.crt").write_text("nonsense")
    done = pki("issue", "a")
    assert done.code == 1 and done.err == "polykern: pki/ca.crt: contains no readable certificate; restore a copy of it, or make it again with polykern pki\n"


@pytest.mark.parametrize("command", ["init", "issue", "helper", "revoke", "list"])
def test_every_command_has_help_with_an_example(polykern, command):
    done = polykern("pki", command, "--help")
    assert done.code == 0 and f"Example: polykern pki {command}" in done.out

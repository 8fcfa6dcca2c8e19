"""Agents renew their certificates by themselves, with `polykern pki serve`."""

import re
import subprocess
import time

import pytest

from federation import POLYKERN, kill


class Renewed:
    """A federation whose certificates end soon, and the authority's process that renews them."""

    def __init__(self, federation, clients, steps, valid):
        self.f = federation("pof-mkl", clients=clients, steps=steps)
        self.valid = valid
        for name in self.f.names:
            self.f.do("pki", "issue", name, "--renew", "--valid", valid)
        self.f.serve("--log", "server.txt")
        self.authority = self.start()

    def start(self, port=0):
        for _ in range(50):  # the port may not be free at once after a kill
            process = self.f.start(["pki", "serve", "--listen", f"127.0.0.1:{port}", "--host", "127.0.0.1", "--valid", self.valid,
                                    "--log", "renewals.txt"], "authority", stdout=subprocess.PIPE)
            found = re.match(r"listening on 127\.0\.0\.1:(\d+)", process.stdout.readline())
            if found:
                self.port = int(found[1])
                return process
            process.wait()
            time.sleep(0.1)
        raise AssertionError((self.f.folder / "authority.log").read_text())

    def join(self, k, pause):
        self.f.join_slowly(k, pause, "--renew", f"127.0.0.1:{self.port}")


def renewals(f):
    return (f.folder / "renewals.txt").read_text().count(" renewed: ")


def test_certificates_that_end_soon_are_renewed_without_a_lost_step(federation):
    r = Renewed(federation, clients=3, steps=48, valid="12s")
    for k in range(3):
        r.join(k, 0.5)
    end = time.time() + 120
    while renewals(r.f) < 3 and time.time() < end:
        time.sleep(0.2)
    kill(r.authority)  # for a while: they have some time left
    time.sleep(1)
    r.authority = r.start(r.port)
    r.f.wait()
    r.f.check_predictions()  # --quorum all: no step was lost, whoever changed certificates in it
    assert renewals(r.f) >= 6
    assert "certificate renewed until" in (r.f.folder / "agent-0.log").read_text()
    status = subprocess.run([POLYKERN, "pki", "list", "--format", "json"], cwd=r.f.folder, capture_output=True, text=True)
    assert status.stdout.count('"name": "station-0"') <= 4  # those that have ended leave the index


@pytest.mark.long
def test_certificates_of_two_minutes_are_renewed_for_six(federation):
    r = Renewed(federation, clients=3, steps=180, valid="2m")
    for k in range(3):
        r.join(k, 2)
    r.f.wait(600)
    r.f.check_predictions()
    assert renewals(r.f) >= 9
    print(f"{renewals(r.f)} renewals, {(r.f.folder / 'server.txt').read_text().count('expelled')} connections ended for a new certificate")


@pytest.mark.parametrize("arguments, said", [
    (["pki", "serve", "--dir", "nowhere"], "polykern pki init"),
    (["pki", "serve", "--valid", "2"], "--valid '2' is not a duration; write it like 90s, 2m, 12h or 30d"),
    (["pki", "issue", "a", "--valid", "0s"], "is not a duration"),
    (["pki", "serve", "--listen", "nowhere"], "HOST:PORT"),
    (["join", "--insecure", "--name", "a", "--renew", "127.0.0.1:1"], "--renew has no effect with --insecure"),
])
def test_mistakes_are_one_line(polykern, arguments, said):
    done = polykern(*arguments)
    assert done.code in (1, 2) and said in done.err and done.err.count("\n") == 1

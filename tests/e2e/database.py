"""A real PostgreSQL for a test: a cluster in a folder of its own, run by a user without rights, on a socket in that folder, and
on a port of the loopback."""

import glob
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import urllib.parse

import pytest


def programs():
    """Debian keeps a folder for each version."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        pytest.skip("needs PostgreSQL (scripts/setup --tests installs it)")
    return pathlib.Path(found[-1])


class Database:
    """Started at once; kill() and start() as often as a test likes."""

    def __init__(self, *options):
        self.options = options
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="polykern-"))  # a socket's path is short
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.as_user = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            self.user = "postgres"
            shutil.chown(self.folder, self.user)
            self.as_user = ["setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups"]
        self.run("initdb", "-D", self.folder / "data", "-U", "polykern", "-A", "trust", "--no-sync", "--no-instructions")
        self.start()

    def run(self, program, *arguments):
        subprocess.run([*self.as_user, programs() / program, *map(str, arguments)], check=True,
                       cwd=self.folder, stdout=subprocess.DEVNULL)

    def start(self):
        self.run("pg_ctl", "start", "-w", "-D", self.folder / "data", "-l", self.folder / "log",
                 "-o", " ".join([f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder}", *self.options]))

    def kill(self):
        """As kill -9 of all of it: it recovers when it starts again."""
        self.run("pg_ctl", "stop", "-m", "immediate", "-w", "-D", self.folder / "data")

    def url(self, database="postgres", user="polykern"):
        return f"postgresql:///{database}?host={urllib.parse.quote(str(self.folder), safe='')}&port={self.port}&user={user}"

    def tcp_url(self, database, port=None):
        return f"postgresql://polykern@127.0.0.1:{port or self.port}/{database}"

    def query(self, sql, database="postgres"):
        shown = subprocess.run([programs() / "psql", "-At", "-d", self.url(database), "-c", sql],
                               check=True, capture_output=True, text=True)
        return shown.stdout.strip()

    def ask_password(self, user):
        """Of those that come over the network."""
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text(f"host all {user} 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        self.query("SELECT pg_reload_conf()")

    def close(self):
        try:
            self.kill()
        except subprocess.CalledProcessError:  # it is down already
            pass
        shutil.rmtree(self.folder)

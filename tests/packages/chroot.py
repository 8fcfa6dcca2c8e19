"""The chroot of scripts/test-packages, for its tests: apt there, and the units' own commands with a federation of three stations."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ROOT = SOURCE / "build/chroot"
PACKAGES = SOURCE / "build/packages"
STATIONS = ["north", "east", "south"]


def do(*words, code=0, **options):
    """In the chroot."""
    done = subprocess.run(["/usr/sbin/chroot", ROOT, *map(str, words)], capture_output=True, text=True, timeout=600,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"}, **options)
    assert code is None or done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def newest(name, architecture="amd64"):
    """The package, as the chroot sees it."""
    path = max(PACKAGES.glob(f"{name}_*_{architecture}.deb"), key=os.path.getmtime)
    shutil.copy(path, ROOT / "root")
    return f"/root/{path.name}"


def install(*paths, **options):
    return do("apt-get", "install", "-y", "--no-install-recommends", *paths, **options)


def version_of(name):
    return do("dpkg-query", "-W", "-f", "${Version}", name).stdout


def check_versions():
    """Programs say of which package they are."""
    for name in ("polykern", "polykern-agent"):
        assert re.fullmatch(rf"{name} \d+\.\d+\.\d+ \(package {re.escape(version_of(name))}\)\n", do(name, "--version").stdout)


def unit_of(name):
    """Its lines, by key."""
    keys = {}
    for line in (ROOT / "lib/systemd/system" / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            keys.setdefault(key, []).append(value)
    return keys


class Started:
    """A unit's own command, as systemd would start it: nobody's, with its folder, credentials and socket."""

    def __init__(self, unit, instance="", emulator="", writable=True):
        keys = {key: [value.replace("%i", instance).replace("%S", "/var/lib") for value in values]
                for key, values in unit_of(unit).items()}
        name = unit.replace("@.service", f"-{instance}").replace(".service", "")
        self.state = ROOT / "var/lib" / keys["StateDirectory"][0]
        self.state.mkdir(parents=True, exist_ok=True)
        credentials = ROOT / "run/credentials" / name
        shutil.rmtree(credentials, ignore_errors=True)
        credentials.mkdir(parents=True)
        defaults = dict(each.split(":", 1) for each in keys["SetCredential"])
        for each in keys["LoadCredential"]:
            file, path = each.split(":")
            if (ROOT / path.lstrip("/")).exists():
                shutil.copy(ROOT / path.lstrip("/"), credentials / file)
            else:
                (credentials / file).write_text(defaults[file].replace("\\n", "\n"))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        (ROOT / f"run/{name}.socket").unlink(missing_ok=True)
        self.socket.bind(str(ROOT / f"run/{name}.socket"))
        self.socket.settimeout(30)
        (ROOT / f"run/{name}.socket").chmod(0o777)
        nobody = 65534
        for path in (self.state, credentials, *credentials.iterdir(), *self.state.iterdir()):
            os.chown(path, nobody, nobody)
        if not writable:
            os.chown(self.state, 0, 0)
        self.log = open(self.state.parent / f"{name}.log", "a+")
        self.begin = self.log.seek(0, os.SEEK_END)
        command = f"cd {keys['WorkingDirectory'][0]} && exec {emulator} {keys['ExecStart'][0]}"
        self.process = subprocess.Popen(
            ["/usr/sbin/chroot", f"--userspec={nobody}:{nobody}", ROOT, "/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": f"/run/{name}.socket", "WATCHDOG_USEC": "1000000",
                                  "CREDENTIALS_DIRECTORY": f"/run/credentials/{name}"})

    def hears(self, word):
        while word not in self.socket.recv(4096).decode().splitlines():
            pass

    def said(self):
        """Since it was started."""
        self.log.seek(self.begin)
        return self.log.read()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(30)
        self.socket.close()
        return code


def follow(file, folder, called="station-1"):
    """The commands of docs/operate/services.md that put certificates and configuration in their places, in a folder; those which name `file`."""
    services = (SOURCE / "docs/operate/services.md").read_text()
    paragraph = next(part for part in services.split("\n\n") if f"    editor {file}" in part)
    commands = re.findall(r"^    ((?:cp|install) .*)", paragraph, re.M)
    assert commands
    for command in commands:
        do("/bin/sh", "-c", f"cd {folder} && {command.replace('station-1', called)}")


def make_federation(port):
    """As an administrator does: certificates, configuration; samples of the simulator, and what it predicts."""
    etc = ROOT / "etc/polykern"
    do("polykern", "pki", "init", "--dir", "/root/pki", "--server", "127.0.0.1")
    follow("/etc/polykern/serve.toml", "/root")
    with open(etc / "serve.toml", "a") as config:
        config.write('dimension = 5\ntarget-range = "none"\nseed = 11\nsteps = 40\nquorum = "all"\nalgorithm = "pof-mkl"\nkernels = 12\nfeatures = 8\n'
                     f'kernels-per-upload = 5\nclients = {json.dumps(STATIONS)}\n')
    text = (etc / "serve.toml").read_text()
    (etc / "serve.toml").write_text(text.replace("0.0.0.0:7433", f"127.0.0.1:{port}"))
    for name in STATIONS:
        do("polykern", "pki", "issue", "--dir", "/root/pki", name)
        follow("/etc/polykern/join/station-1.toml", "/root/pki/clients", name)
        config = etc / f"join/{name}.toml"
        config.write_text(config.read_text().replace("learn.example.org:7433", f"127.0.0.1:{port}")
                          .replace("tcp://127.0.0.1:5000", "samples.csv"))
    return make_samples("pof-mkl", kernels_per_upload=5)


def make_samples(algorithm, kernels_per_upload, least_clients=1):
    """Puts the stations' samples in their places; returns what the simulator predicts."""
    fleet = ROOT / "root/fleet" / algorithm
    shutil.rmtree(fleet, ignore_errors=True)
    fleet.mkdir(parents=True)
    sizes = [len(STATIONS), 40, 5, 11, 12, 8, kernels_per_upload, least_clients]
    subprocess.run([os.environ["POLYKERN_FLEET"], fleet, algorithm, *map(str, sizes)], check=True)
    for k, name in enumerate(STATIONS):
        state = ROOT / "var/lib/polykern-join" / name
        state.mkdir(parents=True, exist_ok=True)
        shutil.copy(fleet / f"{k}.csv", state / "samples.csv")
    return [[float(line) for line in (fleet / f"{k}.txt").read_text().split()] for k in range(len(STATIONS))]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def forget():
    """Whatever the units have left in their folders."""
    for state in [ROOT / "var/lib/polykern-serve", *(ROOT / "var/lib/polykern-join" / name for name in STATIONS)]:
        for file in ("store.db", "store.db-wal", "store.db-shm", "state", "predictions.jsonl"):
            (state / file).unlink(missing_ok=True)


def check_three_stations(start, expected, *emulator):
    """Under the units' own commands, from the first step."""
    forget()
    server = start("polykern-serve.service")
    server.hears("READY=1")
    stations = [start("polykern-join@.service", name, *emulator) for name in STATIONS]
    for station in stations:
        station.hears("READY=1")
    server.hears("WATCHDOG=1")
    for station in stations:
        assert station.process.wait(120) == 0, station.said()
        assert "joined: at step" in station.said()
        made = [json.loads(line) for line in (station.state / "predictions.jsonl").read_text().splitlines()]
        assert [p["prediction"] for p in made] == expected[stations.index(station)]
    assert server.stop() == 0
    assert "stopped at step 40: 120 updates counted" in server.said()


def check_says(start, words, unit, instance="", code=1, **options):
    """One line in the journal, with what to do; of code 2 systemd does not start it again."""
    assert unit_of(unit)["RestartPreventExitStatus"] == ["2"]
    one = start(unit, instance, **options)
    assert one.process.wait(30) == code, one.said()
    lines = one.said().splitlines()
    assert len(lines) == 1 and re.match(f"polykern: .*{words}", lines[0]), lines

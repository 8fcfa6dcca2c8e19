"""The packages in a fresh Debian (scripts/test-packages): installed, run as their units say, upgraded, removed. In this order."""

import gzip
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import pytest

pytest.register_assert_rewrite("chroot")  # so that its checks say what was there

from chroot import (PACKAGES, ROOT, SOURCE, Started, check_says, check_three_stations, do, follow, free_port, install,  # noqa: E402
                    make_federation, newest, unit_of, version_of)

sys.path.insert(0, str(SOURCE / "tests/e2e"))

from upgrade import HALF, NAMES, STEPS, Federation, copy  # noqa: E402

UNITS = {"polykern-serve.service": "polykern", "polykern-helper.service": "polykern", "polykern-join@.service": "polykern-agent"}


def check_versions():
    """Programs say of which package they are."""
    for name in ("polykern", "polykern-agent"):
        assert re.fullmatch(rf"{name} \d+\.\d+\.\d+ \(package {re.escape(version_of(name))}\)\n", do(name, "--version").stdout)


@pytest.fixture
def start():
    started = []

    def make(*arguments):
        started.append(Started(*arguments))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.log.close()


def test_the_containers_steps_install_the_program():
    """Those of packaging/Containerfile, without a container."""
    steps = re.sub(r"\\\n", "", (SOURCE / "packaging/Containerfile").read_text())
    steps = [line.split(" ", 1) for line in steps.splitlines() if re.match("[A-Z]+ ", line)]
    user = entry = ""
    for word, what in steps:
        if word == "COPY":
            pattern, place = what.split()
            assert pattern == "polykern_*.deb"
            for package in (newest("polykern"), newest("polykern", "arm64")):
                shutil.copy(ROOT / package.lstrip("/"), ROOT / place.lstrip("/"))
        elif word == "RUN":
            do("/bin/sh", "-c", what)
        elif word == "USER":
            user = what
        elif word == "ENTRYPOINT":
            entry = json.loads(what)[0]
    done = subprocess.run(["/usr/sbin/chroot", f"--userspec={user}", ROOT, entry, "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("polykern "), done.stderr
    assert not list((ROOT / "tmp").glob("*.deb"))


def test_apt_installs_program_and_agent_without_compiler_or_node():
    do("apt-get", "update")
    install(newest("polykern"), newest("polykern-agent"))
    for tool in ("g++", "gcc", "node", "npm", "python3"):
        assert do("which", tool, code=None).returncode != 0, tool
    check_versions()


def test_the_agent_is_small():
    files = do("dpkg", "-L", "polykern-agent").stdout.splitlines()
    size = sum((ROOT / file.lstrip("/")).lstat().st_size for file in files if not (ROOT / file.lstrip("/")).is_dir())
    print(f"the agent's own files: {size / 1e6:.1f} MB")
    assert size <= 12e6


def test_man_pages_and_completion_say_what_there_is():
    pages = [file for file in do("dpkg", "-L", "polykern").stdout.splitlines() if "/man1/" in file]
    commands = re.findall(r"^  ([a-z]+)", do("polykern", "--help").stdout.split("\nSubcommands:\n")[1], re.M)
    assert sorted(pathlib.Path(page).name for page in pages) == sorted(
        ["polykern.1.gz", *(f"polykern-{command}.1.gz" for command in commands)])
    page = gzip.decompress((ROOT / "usr/share/man/man1/polykern-serve.1.gz").read_bytes()).decode()
    assert ".TH" in page and "target\\-range" in page and "\\-\\-listen" in page
    script = ("source /usr/share/bash-completion/completions/polykern; COMP_WORDS=(polykern {0}); COMP_CWORD={1}; _polykern polykern; "
              "echo ${{COMPREPLY[@]}}")
    for words, at, offered in [("se", 1, "serve"), ("pki re", 2, "revoke"), ("serve --target-r", 2, "--target-range")]:
        assert offered in do("bash", "-c", script.format(words, at)).stdout.split()


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_right_and_closed(unit):
    install("systemd")
    folder = ROOT / "lib/systemd/system"
    instance = unit.replace("@", "@north")
    shutil.copy(folder / unit, ROOT / "etc/systemd/system" / instance)
    checked = do("systemd-analyze", "verify", "--man=no", f"/etc/systemd/system/{instance}", code=None)
    assert checked.returncode == 0 and "polykern" not in checked.stderr, checked.stderr
    judged = do("systemd-analyze", "security", "--offline=true", "--no-pager", f"/etc/systemd/system/{instance}")
    (ROOT / "etc/systemd/system" / instance).unlink()
    exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", judged.stdout)[1])
    print(f"{unit}: exposure {exposure}")
    assert exposure <= 3.0
    keys = unit_of(unit)
    assert keys["Type"] == ["notify"] and keys["Restart"] == ["on-failure"] and keys["WatchdogSec"] == ["60"] and keys["LoadCredential"]


@pytest.fixture(scope="module")
def expected():
    return make_federation(free_port())


def test_three_stations_under_the_units_commands_have_the_simulators_bits(start, expected):
    check_three_stations(start, expected)


@pytest.fixture(scope="module")
def helper(expected):
    """Its certificates, too; the last lines of its configuration."""
    do("polykern", "pki", "helper", "--dir", "/root/pki", "--host", "127.0.0.1")
    follow("/etc/polykern/helper.toml", "/root/pki/helpers")
    config = ROOT / "etc/polykern/helper.toml"
    config.write_text(config.read_text().replace("0.0.0.0:7434", f"127.0.0.1:{free_port()}") + 'clients = ["north", "south"]\n')


@pytest.mark.parametrize("unit, instance, file, words", [
    ("polykern-serve.service", "", "serve.toml", "serve.toml: there is no such file"),
    ("polykern-serve.service", "", "pki/server.key", "/etc/polykern/pki/server.key: there is no such file"),
    ("polykern-serve.service", "", "pki/ca.crt", "there is no authority here"),
    ("polykern-join@.service", "north", "join/north.toml", "north.toml: there is no such file"),
    ("polykern-join@.service", "north", "join/north", "--certificates is needed: .*/etc/polykern/join/NAME"),
    ("polykern-helper.service", "", "helper.toml", "helper.toml: there is no such file"),
    ("polykern-helper.service", "", "helper/helper.key", "/etc/polykern/helper/helper.key: there is no such file"),
])
def test_a_unit_that_lacks_a_file_says_which(start, helper, unit, instance, file, words):
    """A half-installed one."""
    etc = ROOT / "etc/polykern"
    (etc / file).rename(etc / "hidden")
    try:
        check_says(start, words, unit, instance, 2 if file.endswith(".toml") else 1)
    finally:
        (etc / "hidden").rename(etc / file)


def test_a_client_from_before_there_were_mask_keys_needs_none(start, expected):
    key = ROOT / "etc/polykern/join/north/mask.key"
    key.rename(key.with_suffix(".hidden"))
    try:
        check_three_stations(start, expected)
    finally:
        key.with_suffix(".hidden").rename(key)


@pytest.mark.parametrize("unit, instance, file", [
    ("polykern-serve.service", "", "serve.toml"), ("polykern-helper.service", "", "helper.toml"),
    ("polykern-join@.service", "north", "join/north.toml")])
def test_a_configuration_with_mistakes_gets_one_line(start, helper, unit, instance, file):
    config = ROOT / "etc/polykern" / file
    good = config.read_text()
    line = next(n for n, text in enumerate(good.splitlines(), 1) if re.match("listen|server", text))
    where = re.escape(config.name)
    try:
        for wrong, words in [(re.sub("(?m)^(listen|server) =", "sserver =", good), f"line {line}: 'sserver' is not an option of "),
                             (re.sub('(?m)^(listen|server) = "', r"\1 = ", good), f"line {line}: invalid TOML: .*; write a line as option = value"),
                             (good + 'keepalive = "often"\n', f"line {len(good.splitlines()) + 1}: --keepalive: .*often"),
                             ("[serve\n" + good, "line 1: invalid TOML: ")]:
            config.write_text(wrong)
            check_says(start, f"{where}, {words}", unit, instance, 2)
        config.write_text(good)
        config.chmod(0o600)
        check_says(start, rf"{where}: cannot be read \(Permission denied\); run it as the owner, or let this user read it", unit, instance, 2)
    finally:
        config.write_text(good)
        config.chmod(0o644)


@pytest.mark.parametrize("unit, file", [("polykern-serve.service", "serve.toml"), ("polykern-helper.service", "helper.toml")])
def test_a_port_that_is_not_to_be_had_gets_one_line(start, helper, unit, file):
    config = ROOT / "etc/polykern" / file
    good = config.read_text()
    address = re.search(r'(?m)^listen = "(127\.0\.0\.1:\d+)"', good)[1]
    host, port = address.split(":")
    try:
        with socket.create_server((host, int(port))):
            check_says(start, f"cannot listen on {address}; another program listens there; end it, or choose another port", unit)
        config.write_text(good.replace(address, "192.0.2.7:7433"))
        check_says(start, "cannot listen on 192.0.2.7:7433; is it an address of this machine?", unit)
        config.write_text(good.replace(address, "127.0.0.1:443"))
        check_says(start, "cannot listen on 127.0.0.1:443; this user may not; choose a port from 1024 on", unit)
    finally:
        config.write_text(good)


def test_a_package_for_another_architecture_is_refused():
    done = install(newest("polykern", "arm64"), code=None)
    assert done.returncode != 0 and "arm64" in done.stdout + done.stderr


def program(name):
    """A file that runs the chroot's program, in the folder of what an older program left."""
    path = SOURCE / "build/chroot-polykern"
    path.write_text(f'#!/bin/sh\nexec /usr/sbin/chroot {ROOT} /bin/sh -c \'cd /var/lib/{name} && exec polykern "$@"\' sh "$@"\n')
    path.chmod(0o755)
    return path


def test_an_older_store_resumes_and_an_upgrade_in_place_changes_no_bit():
    folder = ROOT / "var/lib/left"
    expected = copy("pof-mkl", folder)
    version = version_of("polykern")
    f = Federation(folder, program("left"))
    middle = (HALF + STEPS) // 2
    try:
        assert f"step {HALF}, {len(NAMES)} clients" in f.serve("--clients", ",".join(NAMES), "--steps", str(middle))
        for k in range(len(NAMES)):
            f.join(k)
        until = time.time() + 60
        while f.store("show")["steps"] < middle:
            assert time.time() < until
            time.sleep(0.1)
        f.close()
        older = [(path, path.read_bytes()) for path in PACKAGES.glob("*_amd64.deb")]
        subprocess.run([SOURCE / "scripts/package", "--version", f"{version}.1", "amd64"], check=True)
        assert len(list(PACKAGES.glob("*_amd64.deb"))) == 4  # apt would take whichever of several versions comes last
        before = (ROOT / "etc/polykern/serve.toml").read_text()
        install(newest("polykern"), newest("polykern-agent"))
        assert version_of("polykern") == f"{version}.1"
        check_versions()
        assert (ROOT / "etc/polykern/serve.toml").read_text() == before
        f = Federation(folder, program("left"))
        assert f"step {middle}, {len(NAMES)} clients" in f.serve("--clients", ",".join(NAMES), "--steps", str(STEPS))
        for k in range(len(NAMES)):
            f.join(k)
        f.wait()
        for made in PACKAGES.glob(f"*_{version}.1_amd64.deb"):
            made.unlink()
        for path, package in older:
            path.write_bytes(package)
        for k in range(len(NAMES)):
            last = {line: value for line, _, value in f.predictions(k)}
            whole = {n + 2: p for n, p in enumerate(expected["predictions"][k])}
            assert last.items() <= whole.items() and max(last) == max(whole)
        assert f.store("export")["state"] == expected["state"]
    finally:
        f.close()


def test_the_python_package_works():
    install(newest("python3-polykern"))
    assert do("python3", "-c", "import polykern as pk; fleet = pk.load('synthetic', clients=4, steps=20); "
              "bank = pk.KernelBank.rbf(dimension=8, features=4, bandwidths=[1.0], seed=0); "
              "print(pk.simulate(fleet.X, fleet.Y, pk.PofMkl(bank, kernels_per_upload=1)).fingerprint)").stdout.strip()


def test_a_program_in_c_links_the_agent(expected):
    """As README says, and takes part with its certificates; with CMake install.consumer tries it."""
    install(newest("libpolykern-dev"), "gcc", "pkg-config")
    folder = ROOT / "root/firmware"
    folder.mkdir()
    shutil.copy(ROOT / "usr/share/doc/libpolykern-dev/examples/agent.c", folder)
    do("sh", "-c", "cd /root/firmware && cc agent.c $(pkg-config --cflags --libs polykern-agent) -o firmware")
    do("polykern", "pki", "issue", "--dir", "/root/pki", "firmware")
    port = free_port()
    server = subprocess.Popen(["/usr/sbin/chroot", ROOT, "polykern", "serve", "--listen", f"127.0.0.1:{port}", "--certificates", "/root/pki",
                               "--store", "/root/firmware/store.db", "--dimension", "2", "--target-range", "0:1", "--least-clients", "1"],
                              stdout=subprocess.PIPE, text=True)
    try:
        assert "listening" in server.stdout.readline()
        said = do("/root/firmware/firmware", f"127.0.0.1:{port}", "/root/pki/clients/firmware").stdout
        assert float(re.search("at the last (.*)", said)[1]) < 0.01, said
    finally:
        server.terminate()
        server.wait(30)


def test_arm64_packages_install_and_their_agents_have_the_simulators_bits(start, expected):
    """In place of amd64's, with Debian's own libraries, under qemu; and all four on a machine that is arm64's alone, of which apt
    says what it would do."""
    do("dpkg", "--add-architecture", "arm64")
    do("apt-get", "update")
    alone = ["-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", "Dir::State::status=/dev/null"]
    names = ["polykern", "polykern-agent", "libpolykern-dev", "python3-polykern"]
    said = install("--simulate", *alone, *(newest(name, "arm64") for name in names)).stdout
    assert all(f"Inst {name} " in said for name in names), said
    module = subprocess.run(["dpkg-deb", "--contents", ROOT / newest("python3-polykern", "arm64").lstrip("/")], capture_output=True, text=True)
    assert re.search(r"/_core\.cpython-\d+-aarch64-linux-gnu\.so\n", module.stdout), module.stdout  # else Python would not find it
    install(newest("polykern-agent", "arm64"))
    emulator = shutil.which("qemu-aarch64-static")
    shutil.copy(emulator, ROOT / "usr/local/bin")
    assert do(f"/usr/local/bin/{pathlib.Path(emulator).name}", "/usr/bin/polykern-agent", "--version").stdout.startswith("polykern-agent ")
    check_three_stations(start, expected, f"/usr/local/bin/{pathlib.Path(emulator).name}")


def test_packages_are_removed_without_a_trace_but_configuration_and_state():
    do("apt-get", "remove", "-y", "polykern", "polykern-agent")
    assert (ROOT / "etc/polykern/serve.toml").exists() and not (ROOT / "usr/bin/polykern").exists()
    install(newest("polykern"))
    do("polykern", "--version")


def test_lintian_finds_no_error():
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *map(str, PACKAGES.glob("*.deb"))], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0 and "E: " not in done.stdout, done.stdout

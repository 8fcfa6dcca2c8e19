"""The packages in a fresh Debian (scripts/test-packages): installed, run as their units say, with mistakes. In this order."""

import gzip
import json
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from chroot import (ROOT, SOURCE, STATIONS, check_says, check_three_stations, check_versions, do, forget, install, make_samples, newest, unit_of,
                    version_of)

UNITS = {"polykern-serve.service": "polykern", "polykern-helper.service": "polykern", "polykern-join@.service": "polykern-agent"}


def test_the_containers_steps_install_the_program():
    """Those of packaging/Containerfile, without a container."""
    steps = re.sub(r"\\\n", "", (SOURCE / "packaging/Containerfile").read_text())
    steps = [line.split(" ", 1) for line in steps.splitlines() if line and not line.startswith("#")]
    user = entry = folder = ""
    for word, what in steps:
        if word == "FROM":
            assert what == "debian:" + re.match(r"\d+", (ROOT / "etc/debian_version").read_text())[0]
        elif word == "COPY":
            pattern, place = what.split()
            assert pattern == "polykern_*.deb"
            for package in (newest("polykern"), newest("polykern", "arm64")):
                shutil.copy(ROOT / package.lstrip("/"), ROOT / place.lstrip("/"))
        elif word == "RUN":
            do("/bin/sh", "-c", what)
        elif word == "USER":
            user = what
        elif word == "WORKDIR":
            folder = what
        elif word == "ENTRYPOINT":
            entry = " ".join(json.loads(what))
        else:
            assert (word, what) == ("EXPOSE", "7433")
    command = f"cd {folder} && {entry} run --clients 2 --steps 3 -r 1 --no-report --out made && {entry} --version"
    done = subprocess.run(["/usr/sbin/chroot", f"--userspec={user}", ROOT, "/bin/sh", "-c", command], capture_output=True, text=True)
    assert done.stdout.endswith(f" (package {version_of('polykern')})\n"), done.stderr
    assert (ROOT / folder.lstrip("/") / "made/result.json").exists()
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


def test_three_stations_under_the_units_commands_have_the_simulators_bits(start, expected):
    check_three_stations(start, expected)


def test_the_helper_and_three_stations_under_the_units_commands_have_the_simulators_bits(start, helper):
    """With masks, of which the server's configuration tells."""
    serve, helpers = ROOT / "etc/polykern/serve.toml", ROOT / "etc/polykern/helper.toml"
    plain, two = serve.read_text(), helpers.read_text()
    address = re.search('(?m)^listen = (".*")', two)[1]
    masked = make_samples("pof-gram", kernels_per_upload=1, least_clients=2)
    try:
        serve.write_text(plain.replace('"pof-mkl"', '"pof-gram"').replace("per-upload = 5", "per-upload = 1") +
                         f'masking = "helper"\nhelper = {address}\n')
        helpers.write_text(two.replace('clients = ["north", "south"]', f"clients = {json.dumps(STATIONS)}"))
        one = start("polykern-helper.service")
        one.hears("READY=1")
        one.hears("WATCHDOG=1")
        check_three_stations(start, masked)
        assert one.stop() == 0
        assert re.search(r"stopped: [1-9]\d* releases answered, 0 answered again, 0 refused", one.said()), one.said()
    finally:
        serve.write_text(plain)
        helpers.write_text(two)
        make_samples("pof-mkl", kernels_per_upload=5)
        forget()


@pytest.mark.parametrize("unit, instance, file, words", [
    ("polykern-serve.service", "", "serve.toml", "serve.toml: there is no such file; "),
    ("polykern-serve.service", "", "pki/server.key", "/etc/polykern/pki/server.key: there is no such file; make it with: polykern pki init"),
    ("polykern-serve.service", "", "pki/server.crt", "/etc/polykern/pki/server.crt: there is no such file; make it with: polykern pki init"),
    ("polykern-serve.service", "", "pki/ca.crl", "/etc/polykern/pki/ca.crl: there is no such file; "),
    ("polykern-serve.service", "", "pki/ca.crt", "there is no authority here; make one with: polykern pki init"),
    ("polykern-join@.service", "north", "join/north.toml", "north.toml: there is no such file; "),
    *(("polykern-join@.service", "north", f"join/north{one}",
       f"/etc/polykern/join/NAME/{one.strip('/') or 'client.crt'}: there is no such file; copy the folder there")
      for one in ("", "/client.crt", "/client.key", "/ca.crt")),
    ("polykern-helper.service", "", "helper.toml", "helper.toml: there is no such file; "),
    ("polykern-helper.service", "", "helper/helper.key", "/etc/polykern/helper/helper.key: there is no such file; make it with: polykern pki"),
    ("polykern-helper.service", "", "helper/ca.crt", "/etc/polykern/helper/ca.crt: there is no such file; make it with: polykern pki"),
])
def test_a_unit_that_lacks_a_file_says_which(start, helper, unit, instance, file, words):
    """A half-installed one."""
    etc = ROOT / "etc/polykern"
    (etc / file).rename(etc / "hidden")
    try:
        check_says(start, words, unit, instance, 2 if file.endswith(".toml") else 1)
    finally:
        (etc / "hidden").rename(etc / file)


@pytest.mark.parametrize("unit, instance, file", [
    ("polykern-serve.service", "", "pki/ca.crt"), ("polykern-serve.service", "", "pki/server.crt"),
    ("polykern-serve.service", "", "pki/server.key"), ("polykern-helper.service", "", "helper/helper.crt"),
    ("polykern-helper.service", "", "helper/helper.key"), ("polykern-join@.service", "north", "join/north/ca.crt"),
    ("polykern-join@.service", "north", "join/north/client.key")])
def test_a_unit_with_a_damaged_certificate_says_which(start, helper, unit, instance, file):
    path = ROOT / "etc/polykern" / file
    good = path.read_text()
    try:
        path.write_text(good[:len(good) // 2])
        check_says(start, f"/{path.name}: contains no readable (certificate|private key); restore a copy of it, or make it again", unit, instance)
    finally:
        path.write_text(good)


@pytest.mark.parametrize("unit, file", [("polykern-serve.service", "pki/server.crt"), ("polykern-helper.service", "helper/helper.crt")])
def test_a_unit_that_may_not_read_its_certificate_says_so(start, helper, unit, file):
    path = ROOT / "etc/polykern" / file
    path.chmod(0o600)
    try:
        check_says(start, rf"/{path.name}: cannot be read \(Permission denied\); run it as the owner, or let this user read it", unit)
    finally:
        path.chmod(0o644)


@pytest.mark.parametrize("unit, instance, words, code", [
    ("polykern-serve.service", "", r"store\.db-lock: cannot be opened \(Permission denied\); run it as the owner, or name another place", 1),
    ("polykern-helper.service", "", r"helper\.db-lock: cannot be opened \(Permission denied\); run it as the owner, or name another place", 1),
    ("polykern-join@.service", "north",
     r"predictions\.jsonl: cannot be written \(Permission denied\); name a file you may write to with --output", 2)])
def test_a_unit_whose_folder_cannot_be_written_says_so(start, helper, unit, instance, words, code):
    state = ROOT / "var/lib" / unit_of(unit)["StateDirectory"][0].replace("%i", instance)
    for left in state.glob("*"):
        if left.suffix != ".csv":
            left.unlink()
    check_says(start, words, unit, instance, code, writable=False)


@pytest.mark.parametrize("unit, instance, file, line, words", [
    ("polykern-serve.service", "", "serve.toml", 'helper = "127.0.0.1:1"', "--helper has no effect"),
    ("polykern-serve.service", "", "serve.toml", 'norm = 2', "--norm needs --scaling norm"),
    ("polykern-helper.service", "", "helper.toml", "least-clients = 3", "--least-clients 3 is more than"),
    ("polykern-join@.service", "north", "join/north.toml", "coverage = 2", "--coverage is 2; it must lie between 0 and 1"),
])
def test_a_wrong_option_is_not_tried_again(start, helper, unit, instance, file, line, words):
    config = ROOT / "etc/polykern" / file
    good = config.read_text()
    try:
        config.write_text(good + line + "\n")
        check_says(start, words, unit, instance, 2)
    finally:
        config.write_text(good)


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
                             (re.sub('(?m)^(listen|server) = "', r"\1 = ", good), f"line {line}: invalid TOML; write a line as option = value"),
                             (good + 'keepalive = "often"\n', f"line {len(good.splitlines()) + 1}: --keepalive: .*often"),
                             ("[serve\n" + good, "line 1: invalid TOML; ")]:
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
    """By dpkg, by apt, and what is installed stays; that of this machine is taken."""
    before = version_of("polykern")
    done = do("dpkg", "--install", newest("polykern", "arm64"), code=1)
    assert "package architecture (arm64) does not match system (amd64)" in done.stderr, done.stderr
    done = install(newest("polykern", "arm64"), code=100)
    assert re.search(r"polykern:arm64 : Depends: \S+:arm64 .*but it is not installable", done.stdout), done.stdout + done.stderr
    assert do("dpkg-query", "-W", "-f", "${Architecture} ${Version} ${db:Status-Abbrev}", "polykern").stdout == f"amd64 {before} ii "
    do("dpkg", "--install", newest("polykern"))

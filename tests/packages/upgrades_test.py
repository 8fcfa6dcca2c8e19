"""The packages of packages_test.py upgraded, for Python, for C and for 64-bit ARM, and removed. After it, and in this order."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from chroot import (PACKAGES, ROOT, SOURCE, check_three_stations, check_versions, do, free_port, install, newest,
                    version_of)

sys.path.insert(0, str(SOURCE / "tests/e2e"))

from upgrade import HALF, NAMES, STEPS, Federation, copy  # noqa: E402

SIMULATES = """
import polykern as pk
import polykern_net
fleet = pk.load('synthetic', clients=4, steps=20)
bank = pk.KernelBank.rbf(dimension=8, features=4, bandwidths=[1.0], seed=0)
print(pk.simulate(fleet.X, fleet.Y, pk.PofMkl(bank, kernels_per_upload=1)).fingerprint)
"""
RUNS = "run --clients 4 --steps 20 -r 1 --threads 1 --no-report --format json --out /tmp/made"


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


def test_the_wheels_work_in_an_environment_with_debians_numpy():
    """As docs/use/python.md says, by a user who is not root, without a compiler."""
    install("python3-venv", "python3-numpy")
    home = ROOT / "home/visitor"
    do("useradd", "--create-home", "visitor")
    wheels = sorted(PACKAGES.glob("polykern*.whl"))
    assert sorted(wheel.name.split("-")[0] for wheel in wheels) == ["polykern", "polykern_net"]
    for wheel in wheels:
        shutil.copy(wheel, home)

    def visitor(command, code=0):
        return do("su", "visitor", "-c", f"cd ~ && {command}", code=code)

    visitor("python3 -m venv --system-site-packages env")
    visitor("env/bin/pip install --no-index polykern-*.whl")
    simulate = ("import polykern as pk; assert pk.__file__.startswith('/home/visitor/env'); fleet = pk.load('synthetic', clients=4, steps=50); "
                "print(pk.simulate(fleet.X, fleet.Y, pk.PofGram(dimension=8)).fingerprint)")
    assert visitor(f'env/bin/python -c "{simulate}"').stdout.strip()
    missing = visitor("env/bin/python -c 'import polykern as pk; pk.init_authority(\"pki\")'", code=1).stderr.splitlines()[-1]
    assert "need polykern-net: pip install polykern_net-*.whl" in missing
    visitor("env/bin/pip install --no-index polykern-*.whl polykern_net-*.whl")
    install("libpq5", "libsqlite3-0")
    serve = ("import polykern as pk\nwith pk.Server(dimension=1, target_range=(0, 1)) as server, pk.Agent(server.address, name='a') as agent:\n"
             "    agent.predict([0.5])\n    print(agent.learn(0.5))")
    (home / "serve.py").write_text(serve)
    assert visitor("env/bin/python serve.py").stdout == "True\n"


def test_the_python_package_works():
    install(newest("python3-polykern"))
    assert re.fullmatch(r"[0-9a-f]{16}\n", do("python3", "-c", SIMULATES).stdout)


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
    """In place of amd64's, with Debian's own libraries, under qemu."""
    do("dpkg", "--add-architecture", "arm64")
    do("apt-get", "update")
    install(newest("polykern-agent", "arm64"))
    emulator = shutil.which("qemu-aarch64-static")
    shutil.copy(emulator, ROOT / "usr/local/bin")
    assert do(f"/usr/local/bin/{pathlib.Path(emulator).name}", "/usr/bin/polykern-agent", "--version").stdout.startswith("polykern-agent ")
    check_three_stations(start, expected, f"/usr/local/bin/{pathlib.Path(emulator).name}")


def test_arm64_packages_of_program_and_python_have_this_machines_fingerprints():
    """All four on a machine that is arm64's alone: apt says what it would install there; that is unpacked, and run by qemu."""
    alone = ["-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", "Dir::State::status=/dev/null"]
    names = ["polykern", "polykern-agent", "libpolykern-dev", "python3-polykern"]
    packages = [newest(name, "arm64") for name in names]
    said = install("--simulate", *alone, *packages).stdout
    assert all(f"Inst {name} " in said for name in names), said
    machine = ROOT / "root/arm64"
    (machine / "tmp").mkdir(parents=True)
    archives = ROOT / "root/archives/partial"
    archives.mkdir(parents=True)
    install("--download-only", *alone, "-o", "Dir::Cache::archives=/root/archives", newest("polykern", "arm64"), newest("python3-polykern", "arm64"))
    for package in [*archives.parent.glob("*.deb"), *(ROOT / one.lstrip("/") for one in packages)]:
        subprocess.run(["dpkg-deb", "--extract", package, machine], check=True)
    shutil.copy(shutil.which("qemu-aarch64-static"), machine)

    def there(*words):
        done = subprocess.run(["/usr/sbin/chroot", machine, "/qemu-aarch64-static", *words], capture_output=True, text=True, timeout=600,
                              env={"LD_LIBRARY_PATH": ":".join(f"/usr/lib/aarch64-linux-gnu/{part}" for part in ("blas", "lapack"))})
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def fingerprints(said):
        return [[run["algorithm"], run["fingerprint"]] for run in json.loads(said)["runs"]]

    made = fingerprints(there("/usr/bin/polykern", *RUNS.split()))
    assert len(made) > 8 and made == fingerprints(do("polykern", *RUNS.split()).stdout)
    python = max((machine / "usr/bin").glob("python3.*"))
    assert there(f"/usr/bin/{python.name}", "-c", SIMULATES) == do("python3", "-c", SIMULATES).stdout


def test_packages_are_removed_without_a_trace_but_configuration_and_state():
    do("apt-get", "remove", "-y", "polykern", "polykern-agent")
    assert (ROOT / "etc/polykern/serve.toml").exists() and not (ROOT / "usr/bin/polykern").exists()
    install(newest("polykern"))
    do("polykern", "--version")


def test_lintian_finds_no_error():
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *map(str, PACKAGES.glob("*.deb"))], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0 and "E: " not in done.stdout, done.stdout

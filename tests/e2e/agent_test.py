"""polykern-agent: what `polykern join` does, in a program for small devices."""

import json
import os
import pathlib
import re
import subprocess
import time

import pytest

AGENT = os.environ["POLYKERN_AGENT"]


def run(*arguments, **options):
    return subprocess.run([AGENT, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def test_it_takes_part_as_join_does(federation):
    """Beside an agent of the large program, with options from a file: the simulator's bits, and one line in the end."""
    f = federation("pof-mkl", steps=20, clients=2)
    f.serve()
    f.join(0)
    (f.folder / "agent.toml").write_text(f'[join]\nserver = "127.0.0.1:{f.port}"\ncertificates = "pki/clients/station-1"\n'
                                         'input = "1.csv"\nstate = "1.state"\n')
    done = run("--config", "agent.toml", "--give-up", 60, cwd=f.folder)
    (f.folder / "1.out").write_text(done.stdout)
    f.wait()
    f.check_predictions()
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == (f.folder / "agent-0.log").read_text().splitlines()[-1]


def test_its_command_line_has_no_command(polykern):
    assert run("--version").stdout == polykern("--version").out.replace("polykern ", "polykern-agent ")
    own, joins = (re.findall(r"^  (-\S+)", text, re.M) for text in (run("--help").stdout, polykern("join", "--help").out))
    assert len(joins) > 20 and sorted(own) == sorted([*joins, "--version"])
    assert "Usage: polykern-agent [OPTIONS]" in run("--help").stdout
    wrong = run("--sever", "x")
    assert wrong.returncode == 2
    assert wrong.stderr == 'polykern: not expected: --sever x; did you mean "--server"? (see: polykern-agent --help)\n'
    lacking = run()
    assert lacking.returncode == 1
    assert lacking.stderr == ("polykern: --certificates is needed: the folder that `polykern pki issue` made; a service's is "
                              "/etc/polykern/join/NAME\n")


def test_it_links_what_an_agent_needs():
    shown = subprocess.run(["ldd", AGENT], capture_output=True, text=True, check=True).stdout
    libraries = [line.split()[0] for line in shown.splitlines() if "vdso" not in line and "ld-linux" not in line]
    print(len(libraries), *libraries)
    assert 3 < len(libraries) <= 12, libraries
    others = ("curl", "archive", "sqlite", "prometheus", "mpi")
    assert not [name for name in libraries if any(word in name for word in others)]


@pytest.mark.parametrize("algorithm", ["pof-mkl", "pof-gram"])
def test_little_memory_is_enough(federation, algorithm):
    """Beside the paper's model: N = 51, D = 20."""
    f = federation("pof-mkl", clients=1)
    f.server = f.start(["serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--clients", "station-0", "--dimension", "2", "--target-range", "0:1",
                        "--algorithm", algorithm, "--kernels", "51", "--features", "20", "--kernels-per-upload", "25"], "server",
                       stdout=subprocess.PIPE)
    port = int(f.server.stdout.readline().split(":")[1])
    agent = subprocess.Popen([AGENT, "--server", f"127.0.0.1:{port}", "--certificates", "pki/clients/station-0", "--state",
                              "0.state", "--wait"], cwd=f.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    f.processes.append(agent)
    agent.stdin.write("x0,x1,y\n")
    for step in range(50):
        agent.stdin.write(f"0.{step % 10},0.{step % 7},0.{step % 5}\n")
        agent.stdin.flush()
        assert json.loads(agent.stdout.readline())["step"] == step
    status = pathlib.Path(f"/proc/{agent.pid}/status").read_text()
    resident, peak = (int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) for name in ("VmRSS", "VmHWM"))
    agent.stdin.close()
    assert agent.wait(20) == 0
    print(f"{algorithm}: {resident / 1024:.1f} MB, {peak / 1024:.1f} at the peak")
    assert 1024 < peak < 15 * 1024

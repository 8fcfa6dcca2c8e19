"""Ranks on hosts of their own: network namespaces with their own names and addresses, into which
mpirun's own launcher gets by a remote shell, as it does on a cluster."""

import os
import shutil
import subprocess

import pytest
import ranks
from results import without_timings

pytestmark = pytest.mark.skipif(
    os.environ.get("POLYKERN_MPI") != "1" or shutil.which("mpirun") is None,
    reason="built without MPI, or mpirun is not installed")

NETWORK = "10.211.77"
HOSTS = 3


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@pytest.fixture
def hosts(tmp_path):
    """Addresses of hosts, and what mpirun must be told to reach them."""
    tag = f"pk{os.getpid() % 100000}"
    names = [f"{tag}-{i}" for i in range(HOSTS)]
    bridge = f"{tag}b"
    try:
        try:
            ip("link", "add", bridge, "type", "bridge")
            ip("addr", "add", f"{NETWORK}.254/24", "dev", bridge)
            ip("link", "set", bridge, "up")
            for i, name in enumerate(names):
                ip("netns", "add", name)
                ip("netns", "exec", name, "unshare", "--uts", "hostname", f"host{i + 1}")  # not so in a chroot
                ip("link", "add", f"{tag}v{i}", "type", "veth", "peer", "name", "eth0", "netns", name)
                ip("link", "set", f"{tag}v{i}", "master", bridge, "up")
                ip("-n", name, "addr", "add", f"{NETWORK}.{i + 1}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"network namespaces cannot be made here: {error}: {getattr(error, 'stderr', '')}")
        agent = tmp_path / "remote-shell"  # called like ssh: options, the host, the command
        agent.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
number=${{1##*.}}; shift
exec ip netns exec {tag}-$((number - 1)) unshare --uts sh -c "hostname host$number; $*"
""")
        agent.chmod(0o755)
        network = f"{NETWORK}.0/24"
        yield [
            "--host", ",".join(f"{NETWORK}.{i + 1}:2" for i in range(HOSTS)), "--map-by", "node",
            "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", str(agent),
            "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network,
            "--mca", "btl", "tcp,self",  # no memory in common, as between machines
        ]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True)


def test_ranks_on_several_hosts_give_the_same_bits(hosts, tmp_path):
    settings = ["run", "--clients", "50", "--steps", "10", "-r", "1", "-a", "pof-mkl,pof-newton,em-kofl",
                "-M", "2", "--kernels", "9", "--features", "6", "--budget", "400", "--threads", "1"]
    one = subprocess.run([os.environ["POLYKERN"], *settings, "--out", "alone"], cwd=tmp_path,
                         env=ranks.environment(), capture_output=True, text=True, timeout=60)
    assert one.returncode == 0, one.stderr
    run = ranks.start(tmp_path, 5, *settings, "--rank-groups", "1", "--out", "o", launch=hosts)
    code, out, err = ranks.finish(run, timeout=120)
    assert code == 0, err
    assert ", 5 ranks" in out
    assert without_timings(tmp_path / "o") == without_timings(tmp_path / "alone")


def test_a_rank_that_dies_on_another_host_is_named_with_it(hosts, tmp_path):
    settings = ["run", "--clients", "400", "--steps", "200", "-r", "60", "-a", "pof-mkl", "-M", "1",
                "--threads", "1", "--out", "o"]
    run = ranks.start(tmp_path, 3, *settings, launch=hosts)
    ranks.wait_for(lambda: list((tmp_path / "o" / "partial").glob("*.json")))
    found = ranks.workers(tmp_path)  # by now guards have their own name
    os.kill(found[1], 9)
    code, _, err = ranks.finish(run, timeout=10)
    assert code == 1
    assert "polykern: rank 1 on host2 was killed by signal 9 (Killed)" in err

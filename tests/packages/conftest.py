"""What the tests of packages share: the chroot's federation, and units that are ended with their test."""

import pytest

pytest.register_assert_rewrite("chroot")  # so that its checks say what was there

from chroot import ROOT, Started, do, follow, free_port, make_federation  # noqa: E402


@pytest.fixture
def start():
    started = []

    def make(*arguments, **options):
        started.append(Started(*arguments, **options))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.log.close()


@pytest.fixture(scope="session")
def expected():
    return make_federation(free_port())


@pytest.fixture(scope="session")
def helper(expected):
    """Its certificates, too; the last lines of its configuration."""
    do("polykern", "pki", "helper", "--dir", "/root/pki", "--host", "127.0.0.1")
    follow("/etc/polykern/helper.toml", "/root/pki/helpers")
    config = ROOT / "etc/polykern/helper.toml"
    config.write_text(config.read_text().replace("0.0.0.0:7434", f"127.0.0.1:{free_port()}") + 'clients = ["north", "south"]\n')

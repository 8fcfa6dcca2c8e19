"""A visitor in a hurry: what scripts/setup, run, setup-python and docs say where something is missing is one line with what to do."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "cat", "dirname", "env", "grep", "head", "mkdir", "mktemp", "paste", "rm", "sed", "sort", "tail", "touch")
NOBODY = 65534
NO_NETWORK = ("W: Failed to fetch http://deb.example/dists/bookworm/InRelease  Temporary failure resolving 'deb.example'\n"
              "E: Unable to locate package cmake\n")
OTHER_DEBIAN = "E: Unable to locate package libhwy-dev\nE: Package 'librandom123-dev' has no installation candidate\n"
LOCKED = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7\nE: Unable to acquire the lock\n"


class Visitor:
    """A copy of the scripts, and a PATH with only what is put there: nothing is installed yet."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "bin"
        self.path.mkdir()
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool))
        shutil.copytree(ROOT / "scripts", folder / "clone/scripts")
        self.program("dpkg-query", "exit 1")

    def program(self, name, text):
        """A program that says of itself that it ran."""
        file = self.path / name
        file.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >>{self.folder}/ran\n{text}\n')
        file.chmod(0o755)

    def apt(self, said, works=False):
        (self.folder / "said").write_text(said)
        self.program("apt-get", f"cat {self.folder}/said >&2\n" + ("" if works else '[[ $1 == update ]] || exit 100'))

    def do(self, script, *arguments, by=()):
        """Not as root, also if root runs the tests."""
        user = {}
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return subprocess.run([*by, self.folder / "clone/scripts" / script, *arguments], capture_output=True, text=True, cwd=self.folder / "clone",
                              env={"PATH": str(self.path), "HOME": str(self.folder), "TMPDIR": str(self.folder)}, timeout=60, **user)

    def advice(self, script, *arguments):
        """The one line of a script that fails, beside the one that says what it was about."""
        done = self.do(script, *arguments)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Installing: ")]
        assert done.returncode == 1 and done.stdout == "" and len(lines) == 1 and lines[0].startswith("polykern: "), (done.stdout, done.stderr)
        return lines[0]

    def ran(self):
        return (self.folder / "ran").read_text()


@pytest.fixture
def visitor():
    """In a folder that others may enter, too: pytest's are closed to them."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield Visitor(folder)
    shutil.rmtree(folder)


def installed(visitor):
    visitor.program("dpkg-query", "echo -n 'ii '")
    visitor.program("node", "")
    visitor.program("npm", "")


SCRIPTS = pytest.mark.parametrize("script", ["setup", "run", "setup-python"])


@SCRIPTS
def test_without_apt(visitor, script):
    line = visitor.advice(script)
    assert re.fullmatch("polykern: there is no apt-get here; use Debian 12 or newer, or install what your system calls: g\\+\\+ cmake .*", line)


def test_typed_as_sh(visitor):
    assert visitor.do("run", by=["/bin/sh"]).stderr.startswith("polykern: there is no apt-get here; ")


def test_the_site_of_the_documentation_without_apt(visitor):
    assert visitor.advice("docs") == ("polykern: there is no apt-get here; use Debian 12 or newer, or install what your system calls: "
                                      "mkdocs graphviz chromium python3 python3-pil")


@SCRIPTS
def test_without_sudo(visitor, script):
    visitor.apt("")
    line = visitor.advice(script)
    assert re.fullmatch("polykern: packages are missing, and there is no sudo; run as root: apt-get update && apt-get install --no-install-recommends g\\+\\+ cmake .*", line)


@SCRIPTS
def test_where_sudo_refuses(visitor, script):
    visitor.apt("")
    visitor.program("sudo", 'echo "sudo: 3 incorrect password attempts" >&2; exit 1')
    line = visitor.advice(script)
    assert re.fullmatch("polykern: packages are missing, and sudo refuses; ask an administrator to run: apt-get update && apt-get install --no-install-recommends g\\+\\+ cmake .*", line)
    assert "apt-get" not in visitor.ran()


@SCRIPTS
@pytest.mark.parametrize("said, advice", [
    (NO_NETWORK, r"packages cannot be downloaded; check the network and apt's sources, then run this again \(what apt said: \S+\)"),
    (OTHER_DEBIAN, r".+ has no package libhwy-dev librandom123-dev; use Debian 12 or newer"),
    (LOCKED, r"apt-get failed: E: Could not get lock \S+ It is held by process 7; mend that, then run this again \(what apt said: \S+\)"),
], ids=["no network", "another Debian", "another apt-get"])
def test_where_apt_fails(visitor, script, said, advice):
    visitor.apt(said)
    visitor.program("sudo", '"$@"')
    line = visitor.advice(script)
    assert re.fullmatch(f"polykern: {advice}", line), line
    for log in re.findall(r"what apt said: (\S+)\)", line):
        assert said in pathlib.Path(log).read_text()


def test_what_is_missing_is_installed_and_nothing_if_nothing_is(visitor):
    visitor.apt("", works=True)
    visitor.program("sudo", '"$@"')
    done = visitor.do("setup")
    assert done.returncode == 0 and done.stderr.startswith("Installing: g++ cmake "), done.stderr
    assert re.search("(?m)^apt-get install -y --no-install-recommends g\\+\\+ cmake ", visitor.ran())
    assert not list(visitor.folder.glob("tmp.*"))  # the log
    installed(visitor)
    (visitor.folder / "ran").unlink()
    done = visitor.do("setup")
    assert done.returncode == 0 and done.stderr == "" and "apt-get" not in visitor.ran()


def test_a_clone_of_someone_else(visitor):
    installed(visitor)
    (visitor.folder / "clone/build").write_text("not a folder")
    assert re.fullmatch("polykern: .*/build/release cannot be written; use a clone that belongs to you", visitor.advice("run"))
    assert re.fullmatch("polykern: .*/build/python cannot be made; use a clone that belongs to you", visitor.advice("setup-python"))


def test_an_environment_that_does_not_suit(visitor):
    """Said before the build, which takes minutes."""
    installed(visitor)
    (visitor.folder / "clone/photos").mkdir()
    assert visitor.advice("setup-python", "photos") == "polykern: photos is not a virtual environment; name another folder"
    python = visitor.folder / "clone/env/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!{shutil.which('bash')}\necho 3.9\n")
    python.chmod(0o755)
    this = "%d.%d" % sys.version_info[:2]
    assert visitor.advice("setup-python", "env") == (
        f"polykern: env has Python 3.9, and the module is built for Debian's, {this}; name another folder")
    python.write_text(f"#!{shutil.which('bash')}\n[[ $2 != *numpy* ]] && echo {this}\n")
    assert visitor.advice("setup-python", "env") == "polykern: env does not see NumPy; name another folder, or install NumPy in it"

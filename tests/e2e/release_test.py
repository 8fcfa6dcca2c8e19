"""One version everywhere, also of packages, and results of the first one are still shown."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    return re.search(r"^project\(polykern VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def test_the_program_and_its_results_say_the_version(polykern, tmp_path):
    assert polykern("--version").out == f"polykern {version()}\n"
    assert polykern("run", "-a", "local", "-r", "1", "--clients", "2", "--steps", "3", "--no-report", "--out", "out").code == 0
    assert json.loads((tmp_path / "out/result.json").read_text())["polykern"] == version()


def test_changes_and_citation_are_of_this_version():
    assert re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version()
    assert f"\nversion: {version()}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_result_of_0_1_0_is_shown_beside_one_of_this_version(polykern, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(ROOT / "tests/report/result_19f2aeb.json", old / "result.json")
    assert json.loads((old / "result.json").read_text())["polykern"] == "0.1.0"
    polykern("run", "-a", "local", "-r", "1", "--clients", "2", "--steps", "3", "--no-report", "--out", "new")
    done = polykern("report", "old", "new", "--out", "both.html")
    assert done.code == 0, done.err
    assert (tmp_path / "both.html").stat().st_size > 50_000


class Clone:
    """A source tree that has nothing but a version and scripts/package."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/package", folder / "scripts")
        (folder / ".gitignore").write_text("build/\n")
        self.git("init", "--quiet")
        self.set_version("0.2.0")

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.folder, check=True, capture_output=True,
                              text=True).stdout.strip()

    def set_version(self, version):
        (self.folder / "CMakeLists.txt").write_text(f"project(polykern VERSION {version}\n")
        self.commit()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "more")

    def package(self, *words):
        return subprocess.run([self.folder / "scripts/package", *words], capture_output=True, text=True)

    def version(self):
        return self.package("--print-version").stdout.strip()


def test_packages_rise_from_before_a_release_to_after_the_next(tmp_path):
    clone = Clone(tmp_path / "clone")
    rising = [clone.version()]
    clone.commit()
    rising.append(clone.version())
    clone.commit()
    clone.git("tag", "v0.2.0")
    rising.append(clone.version())
    assert rising[-1] == "0.2.0"
    clone.commit()
    rising.append(clone.version())
    clone.set_version("0.3.0")
    rising.append(clone.version())
    clone.git("tag", "v0.3.0")
    rising.append(clone.version())
    for before, after in zip(rising, rising[1:]):
        assert subprocess.run(["dpkg", "--compare-versions", before, "lt", after]).returncode == 0, rising


def test_a_clone_without_its_history_makes_no_packages(tmp_path):
    clone = Clone(tmp_path / "clone")
    clone.commit()
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{clone.folder}", tmp_path / "shallow"], check=True)
    done = subprocess.run([tmp_path / "shallow/scripts/package"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("polykern: this clone lacks older commits") and done.stderr.count("\n") == 1


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="packages are Debian's")
def test_packages_of_another_tree_are_made_again(tmp_path):
    """Those of this one are not."""
    clone = Clone(tmp_path / "clone")
    made = tmp_path / "clone/build/packages"
    made.mkdir(parents=True)
    tree = clone.git("rev-parse", "HEAD^{tree}")
    for name in ("polykern", "polykern-agent", "libpolykern-dev", "python3-polykern"):
        control = tmp_path / name / "DEBIAN"
        control.mkdir(parents=True)
        (control / "control").write_text(f"Package: {name}\nVersion: 0.2.0~1\nArchitecture: amd64\nMaintainer: a <a@b>\n"
                                         f"Description: a\nSource-Tree: {tree}\n")
        subprocess.run(["dpkg-deb", "--build", tmp_path / name, made / f"{name}_0.2.0~1_amd64.deb"], check=True, capture_output=True)
    there = "Packages for amd64 are there, and of this tree\n"
    for words in (["amd64"], ["--version", "0.2.0~1", "amd64"]):
        done = clone.package(*words)
        assert done.returncode == 0 and done.stderr == there
    assert clone.package("--version", "0.2.0", "amd64").returncode != 0  # here it cannot be made
    (clone.folder / "new.cc").write_text("int main() {}\n")
    for change in (lambda: None, clone.commit):
        change()
        done = clone.package("amd64")
        assert done.returncode != 0 and there not in done.stderr

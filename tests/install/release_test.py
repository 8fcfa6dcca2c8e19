"""scripts/release makes packages, wheels and documentation, has them tried, and says what is wrong before it starts.

What it calls is replaced by scripts that note how they were called: the real ones take an hour.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLED = {
    "setup": "",
    "docs": "mkdir -p build/docs && touch build/docs/index.html",
    "package": 'mkdir -p build/packages && touch "build/packages/polykern_$2.${3:-deb}"',
    "test-packages": "ls build/packages >tried",
}


@pytest.fixture
def clone(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/release", tmp_path / "scripts")
    for name, does in CALLED.items():
        script = tmp_path / "scripts" / name
        script.write_text(f'#!/usr/bin/env bash\nset -e\ncd "$(dirname "$0")/.."\necho "{name}${{*:+ $*}}" >>called\n{does}\n')
        script.chmod(0o755)
    (tmp_path / "tests/lint").mkdir(parents=True)
    for name in ("docs", "links", "english"):
        (tmp_path / f"tests/lint/{name}_test.py").write_text(f"def test_it():\n    open('called', 'a').write('{name}_test\\n')\n")
    (tmp_path / "CMakeLists.txt").write_text("project(polykern VERSION 0.3.1 LANGUAGES CXX)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 0.3.1\n\n## 0.2.0\n")
    (tmp_path / "CITATION.cff").write_text("title: polykern\nversion: 0.3.1\n")
    (tmp_path / ".gitignore").write_text("build/\ncalled\ntried\n__pycache__/\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def release(clone, *arguments):
    return subprocess.run([clone / "scripts/release", *arguments], capture_output=True, text=True, cwd=clone)


@pytest.mark.skipif(os.geteuid() != 0, reason="scripts/test-packages needs root")
def test_it_makes_and_tries_packages_wheels_and_documentation(clone):
    done = release(clone)
    assert done.returncode == 0, done.stderr
    assert (clone / "called").read_text().splitlines() == [
        "package --version 0.3.1", "package --version 0.3.1 wheel", "setup --tests", "docs", "docs_test", "links_test", "english_test",
        "test-packages"]
    assert (clone / "tried").read_text().split() == ["polykern_0.3.1.deb", "polykern_0.3.1.wheel"]
    made = clone / "build/release-0.3.1"
    sums = dict(reversed(line.split()) for line in (made / "SHA256SUMS").read_text().splitlines())
    assert sorted(sums) == ["polykern-0.3.1.tar.gz", "polykern-docs-0.3.1.tar.gz", "polykern_0.3.1.deb", "polykern_0.3.1.wheel"]
    assert all(hashlib.sha256((made / name).read_bytes()).hexdigest() == sums[name] for name in sums)


@pytest.mark.parametrize("file, wrong, line", [
    ("README.md", "new\n", "the tree is not clean; commit or remove: ?? README.md "),
    ("CHANGELOG.md", "# Changes\n\n## 0.2.0\n", "CHANGELOG.md has no section '## 0.3.1'; write what users gain"),
    ("CHANGELOG.md", "# Changes\n\n## 0.4.0\n\n## 0.3.1\n", "CHANGELOG.md must begin with version 0.3.1"),
    ("CITATION.cff", "version: 0.2.0\n", "CITATION.cff has another version than CMakeLists.txt, 0.3.1"),
])
def test_it_says_what_is_wrong_before_it_starts(clone, file, wrong, line):
    (clone / file).write_text(wrong)
    done = release(clone, *([] if file == "README.md" else ["--allow-dirty"]))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"polykern: {line}\n")
    assert not (clone / "called").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="scripts/test-packages needs root")
def test_nothing_is_released_that_does_not_work(clone):
    (clone / "tests/lint/links_test.py").write_text("def test_it():\n    assert False\n")
    assert release(clone, "--allow-dirty").returncode == 1
    assert not (clone / "build/release-0.3.1").exists()

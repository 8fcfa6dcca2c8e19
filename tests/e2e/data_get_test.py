"""polykern data get, as a user types it, against a real server on this machine that also misbehaves."""

import io
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import ssl
import subprocess
import time
import zipfile

import pytest
from tricky_server import Server, cut, stall

REAL = os.environ.get("POLYKERN_DATA")
needs_data = pytest.mark.skipif(REAL is None, reason="POLYKERN_DATA is not set")
NAVAL = "/316/condition+based+maintenance+of+naval+propulsion+plants.zip"
AIR = "/501/beijing+multi+site+air+quality+data.zip"
WEC = "/494/wave+energy+converters.zip"
SITES = ["Aotizhongxin", "Changping", "Dingling", "Dongsi"]


def zip_of(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="session")
def naval():
    return zip_of({"UCI CBM Dataset/README.txt": "read me",
                   "UCI CBM Dataset/data.txt": pathlib.Path(REAL, "naval/data.txt").read_bytes()})


@pytest.fixture
def get(polykern, server):
    def run(*arguments, **options):
        return polykern("data", "get", *arguments, "--from", server.address,
                        env={"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}, **options)

    return run


def there(folder):
    """Every file below, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def is_right(tmp_path, name="naval/data.txt"):
    return (tmp_path / "data" / name).read_bytes() == pathlib.Path(REAL, name).read_bytes()


def one_line(done, *words):
    assert done.code == 1 and done.out == "", done.out
    assert done.err.startswith("polykern: ") and done.err.count("\n") == 1, done.err
    for word in words:
        assert word in done.err, done.err


@needs_data
def test_gets_a_data_set_and_then_leaves_it_alone(get, polykern, server, naval, tmp_path):
    server.files[NAVAL] = naval
    done = get("naval")
    assert (done.code, done.out, done.err) == (0, "got      data/naval/data.txt\n", "")
    assert is_right(tmp_path) and there(tmp_path / "data") == ["naval/data.txt"]
    done = get("naval")
    assert (done.code, done.out) == (0, "already  data/naval/data.txt\n")
    assert len(server.requests) == 1
    assert polykern("data", "check", "naval").out == "right    data/naval/data.txt\n"
    assert polykern("run", "--data", "naval", "-k", 4, "-s", 10, "-r", 1, "-M", 51).code == 0


@needs_data
def test_finds_files_in_a_zip_inside_the_zip(get, server, tmp_path):
    inner = zip_of({f"PRSA_Data_20130301-20170228/PRSA_Data_{site}_20130301-20170228.csv":
                    pathlib.Path(REAL, f"air/PRSA_Data_{site}_20130301-20170228.csv").read_bytes()
                    for site in SITES})
    server.files[AIR] = zip_of({"PRSA2017_Data_20130301-20170228.zip": inner, "data.csv": "1,2\n"})
    done = get("air", "--data-dir", "my data")
    assert done.code == 0, done.err
    assert there(tmp_path / "my data") == [f"air/PRSA_Data_{site}_20130301-20170228.csv" for site in SITES]


def wave_data(rows, columns=49):
    block = [",".join(str((row * 7 + c) % 31) for c in range(columns)) + "\n" for row in range(min(rows, 50))]
    return "".join(block) * (rows // len(block))


def test_checks_the_shape_of_files_whose_sum_is_not_known(get, polykern, server, tmp_path):
    text = wave_data(70000)
    members = {f"WECs_DataSet/{site}_Data.csv": text for site in ["Adelaide", "Perth", "Sydney", "Tasmania"]}
    server.files[WEC] = zip_of(members)
    done = get("wec")
    assert done.code == 0, done.err
    assert done.out.count("SHA-256 is not known, so only its shape was checked") == 4
    done = polykern("data", "check", "wec")
    assert done.code == 0 and done.out.startswith("present  data/wec/Adelaide_Data.csv (its SHA-256 is not")
    shutil.rmtree(tmp_path / "data")
    server.files[WEC] = zip_of({**members, "WECs_DataSet/Sydney_Data.csv": wave_data(10)})
    one_line(get("wec"), "Sydney_Data.csv is not the published one", "10 rows, fewer than 70000")
    assert there(tmp_path / "data") == ["wec/Adelaide_Data.csv", "wec/Perth_Data.csv", "wec/Tasmania_Data.csv"]


@needs_data
def test_a_broken_connection_is_taken_up_again(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks = naval, [cut]
    assert get("naval").code == 0
    assert is_right(tmp_path) and there(tmp_path / "data") == ["naval/data.txt"]
    (_, first, _), (_, second, guard) = server.requests
    assert (first, second) == (None, f"bytes={len(naval) // 2}-") and guard.startswith('"')


@needs_data
def test_the_next_command_resumes_where_the_last_one_stopped(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks = naval, [cut]
    one_line(get("naval", "--retries", 0), "was lost after", f"of {len(naval)} bytes", "again to resume")
    assert not (tmp_path / "data/naval/data.txt").exists()
    assert get("naval").code == 0 and is_right(tmp_path)
    assert server.requests[1][1] == f"bytes={len(naval) // 2}-"


@needs_data
@pytest.mark.parametrize("etags", [True, False])
def test_a_file_that_changed_in_between_is_got_anew(get, server, naval, tmp_path, etags):
    server.etags = etags  # without them, the bytes that do not fit give it away
    server.files[NAVAL], server.tricks = zip_of({"data.txt": os.urandom(len(naval))}), [cut]
    assert get("naval", "--retries", 0).code == 1
    server.files[NAVAL] = naval
    assert get("naval").code == 0 and is_right(tmp_path)
    assert there(tmp_path / "data") == ["naval/data.txt"]


@needs_data
def test_a_server_that_knows_no_parts_sends_all_of_it_again(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks, server.ranges = naval, [cut], False
    assert get("naval").code == 0 and is_right(tmp_path)
    assert server.requests[1][1] is not None


@needs_data
def test_a_killed_download_resumes(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks = naval, [stall]
    process = subprocess.Popen([os.environ["POLYKERN"], "data", "get", "naval", "--from", server.address],
                               cwd=tmp_path, env={"NO_PROXY": "127.0.0.1", "PATH": os.environ["PATH"]})
    assert server.halfway.wait(20)
    part = tmp_path / "data/naval/.naval.zip.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size == len(naval) // 2) and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    one_line(get("naval"), "another polykern is getting these files")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert there(tmp_path / "data") == ["naval/.naval.zip.part", "naval/.naval.zip.part.from"]
    assert get("naval").code == 0 and is_right(tmp_path)
    assert server.requests[-1][1] == f"bytes={len(naval) // 2}-"
    assert there(tmp_path / "data") == ["naval/data.txt"]


@needs_data
def test_a_download_that_was_whole_is_not_got_twice(get, server, naval, tmp_path):
    server.files[NAVAL] = naval
    server.tricks = [cut]
    assert get("naval", "--retries", 0).code == 1
    (tmp_path / "data/naval/.naval.zip.part").write_bytes(naval)  # as if killed just before unpacking
    assert get("naval").code == 0 and is_right(tmp_path)
    assert len(server.requests) == 2


@needs_data
def test_a_silent_server_is_given_up(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks = naval, [stall]
    one_line(get("naval", "--timeout", 1, "--retries", 0), "sends nothing, or too slowly", "waited 1 s")
    assert get("naval").code == 0 and is_right(tmp_path)


def test_a_server_in_trouble_is_asked_again_but_not_for_ever(get, server, tmp_path):
    server.tricks = [503, 503, 503]
    one_line(get("naval", "--retries", 1), "the server answers 503")
    assert len(server.requests) == 2
    assert there(tmp_path / "data") == []


def test_what_is_not_there_is_not_asked_for_twice(get, server, tmp_path):
    one_line(get("naval"), NAVAL, "404", "not found")
    assert len(server.requests) == 1
    assert there(tmp_path / "data") == []


def test_one_data_set_that_fails_does_not_keep_back_the_others(get, server, tmp_path):
    done = get("all")
    assert done.code == 1 and done.err.count("404") == done.err.count("\n") == 4
    assert len(server.requests) == 4


def test_no_server_at_all(polykern):
    done = polykern("data", "get", "naval", "--from", "http://127.0.0.1:9/", "--retries", 0, env={"NO_PROXY": "*"})
    one_line(done, "no connection", "check the network")


@needs_data
def test_a_redirect_is_followed(get, server, naval, tmp_path):
    server.files["/moved.zip"], server.tricks = naval, ["/moved.zip"]
    assert get("naval").code == 0 and is_right(tmp_path)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x.zip"])
def test_a_redirect_to_anything_but_the_web_is_refused(get, server, target, tmp_path):
    server.tricks = [target]
    one_line(get("naval"), "download failed")
    assert there(tmp_path / "data") == []


def test_a_server_that_cannot_prove_its_name_is_refused(polykern, server, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
                    "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    done = polykern("data", "get", "naval", "--from", server.address.replace("http:", "https:"), env={"NO_PROXY": "*"})
    one_line(done, "download failed", "certificate")
    assert server.requests == []


@pytest.mark.parametrize("body, words", [
    (zip_of({"x/data.txt": "1 2 3\n"}), ["data.txt is not the published one", "SHA-256"]),
    (zip_of({"x/other.txt": "1 2 3\n"}), ["no data.txt in the archive"]),
    (zip_of({"x/data.txt": "1 2 3\n"})[:-30], ["damaged or cut off"]),
    (b"<html>We have moved</html>", ["damaged or cut off"]),
    (b"", ["damaged or cut off"]),
])
def test_wrong_bytes_never_get_the_files_name(get, server, tmp_path, body, words):
    server.files[NAVAL] = body
    one_line(get("naval"), NAVAL, *words)
    assert there(tmp_path / "data") == []


@needs_data
def test_paths_in_the_archive_mean_nothing(get, server, tmp_path):
    data = pathlib.Path(REAL, "naval/data.txt").read_bytes()
    server.files[NAVAL] = zip_of({"../../../evil.txt": "x", "../../data.txt": "x", "/../a/../data.txt": data})
    assert get("naval").code == 0 and is_right(tmp_path)
    assert there(tmp_path) == ["data/naval/data.txt"]
    assert not (tmp_path.parent / "evil.txt").exists() and not (tmp_path / "evil.txt").exists()


@needs_data
def test_an_altered_file_is_replaced_only_by_force(get, polykern, server, naval, tmp_path):
    server.files[NAVAL] = naval
    (tmp_path / "data/naval").mkdir(parents=True)
    mine = tmp_path / "data/naval/data.txt"
    mine.write_text("my own numbers\n")
    one_line(get("naval"), "data/naval/data.txt: differs", "polykern data get naval --force")
    assert mine.read_text() == "my own numbers\n" and server.requests == []
    done = polykern("data", "check")
    assert done.code == 1 and done.err.count("\n") == 1
    assert "altered  data/naval/data.txt (SHA-256" in done.out
    assert "data/naval/data.txt is altered; repair it with: polykern data get naval --force" in done.err
    assert get("naval", "--force").code == 0 and is_right(tmp_path)


@needs_data
@pytest.mark.parametrize("room", [1000, 1_000_000])  # for a piece of the archive; for all, not unpacked
def test_a_full_disk_is_named_and_later_continues(get, server, naval, tmp_path, room):
    def no_room():  # files may not grow further; writing then fails as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    assert 1000 < len(naval) < 1_000_000 < pathlib.Path(REAL, "naval/data.txt").stat().st_size
    server.files[NAVAL] = naval
    one_line(get("naval", preexec_fn=no_room), "data/naval/", "File too large", "make room")
    assert there(tmp_path / "data") == ["naval/.naval.zip.part", "naval/.naval.zip.part.from"]
    assert get("naval").code == 0 and is_right(tmp_path)


@needs_data
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full(get, server, naval, tmp_path):
    (tmp_path / "data").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path / "data"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        server.files[NAVAL] = naval
        one_line(get("naval"), "No space left on device", "make room")
        assert "naval/data.txt" not in there(tmp_path / "data")
    finally:
        subprocess.run(["umount", tmp_path / "data"], check=True)


def test_a_folder_that_cannot_be_made_is_named(get, server, tmp_path):
    (tmp_path / "data").write_text("a file")
    one_line(get("naval"), "data/naval", "cannot be written")
    assert server.requests == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(get, tmp_path):
    (tmp_path / "data").mkdir(mode=0o500)
    one_line(get("naval"), "data/naval", "Permission denied", "--data-dir")


@needs_data
def test_progress_is_shown_on_a_terminal(server, naval, tmp_path):
    server.files[NAVAL] = naval
    ours, theirs = pty.openpty()
    process = subprocess.Popen([os.environ["POLYKERN"], "data", "get", "naval", "--from", server.address],
                               cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs,
                               env={"NO_PROXY": "127.0.0.1", "PATH": os.environ["PATH"]})
    assert process.wait(30) == 0
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    os.close(theirs)
    assert re.search(r"naval [\d.]+ kB of [\d.]+ kB, \d+ %", shown)
    assert shown.endswith("\r\x1b[K")

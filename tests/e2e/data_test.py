"""polykern data, as a user types it, against a real server on this machine that also misbehaves."""

import contextlib
import http.server
import io
import json
import os
import pathlib
import pty
import re
import resource
import select
import shlex
import shutil
import signal
import ssl
import subprocess
import threading
import time
import zipfile

import pytest

REAL = os.environ.get("POLYKERN_DATA")
needs_data = pytest.mark.skipif(REAL is None, reason="POLYKERN_DATA is not set")
NAVAL = "/316/condition+based+maintenance+of+naval+propulsion+plants.zip"
AIR = "/501/beijing+multi+site+air+quality+data.zip"
WEC = "/494/wave+energy+converters.zip"
SITES = ["Aotizhongxin", "Changping", "Dingling", "Dongsi"]


class Server:
    """Serves `files`; `tricks` holds one misbehaviour per request to come, None for none."""

    def __init__(self):
        self.files, self.tricks, self.requests, self.etags, self.ranges = {}, [], [], True, True
        self.halfway = threading.Event()  # half a file has been sent
        self.release = threading.Event()  # a stalled answer may end
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}/"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.release.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, handler):
        self.requests.append((handler.path, handler.headers.get("Range"), handler.headers.get("If-Range")))
        trick = self.tricks.pop(0) if self.tricks else None
        if isinstance(trick, str):
            handler.send_response(302)
            handler.send_header("Location", trick)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if isinstance(trick, int) or handler.path not in self.files:
            handler.send_response(trick or 404)
            handler.send_header("Content-Length", "9")
            handler.end_headers()
            handler.wfile.write(b"no such..")
            return
        body = self.files[handler.path]
        etag = f'"{hash(body)}"'
        start, wanted, guard = 0, handler.headers.get("Range"), handler.headers.get("If-Range")
        if wanted and self.ranges and guard in (None, etag):
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))
        if start and start >= len(body):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(body)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if self.etags:
            handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            if trick in (cut, stall):
                handler.wfile.write(body[start:(start + len(body)) // 2])
                handler.wfile.flush()
                self.halfway.set()
                if trick is stall:
                    self.release.wait(60)
                handler.close_connection = True
            else:
                handler.wfile.write(body[start:])


def cut():
    """The connection ends in the middle."""


def stall():
    """Nothing comes after the middle."""


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


def test_checks_the_shape_of_files_whose_sum_nobody_knows(get, polykern, server, tmp_path):
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
def test_the_next_command_goes_on_where_the_last_one_stopped(get, server, naval, tmp_path):
    server.files[NAVAL], server.tricks = naval, [cut]
    one_line(get("naval", "--retries", 0), "broke off after", f"of {len(naval)} bytes", "again to go on")
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
def test_a_killed_download_goes_on(get, server, naval, tmp_path):
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
    one_line(get("naval"), "cannot be got")
    assert there(tmp_path / "data") == []


def test_a_server_that_cannot_prove_its_name_is_refused(polykern, server, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
                    "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    done = polykern("data", "get", "naval", "--from", server.address.replace("http:", "https:"), env={"NO_PROXY": "*"})
    one_line(done, "cannot be got", "certificate")
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
def test_a_full_disk_is_named_and_later_goes_on(get, server, naval, tmp_path, room):
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


def test_list_says_what_there_is_and_how_to_get_the_rest(polykern, tmp_path):
    (tmp_path / "uci/uji").mkdir(parents=True)
    (tmp_path / "uci/uji/validationData.csv").write_text("x")
    done = polykern("data", "list", env={"POLYKERN_DATA": "uci"})
    assert done.code == 0 and done.err == ""
    for words in ["naval  Condition Based Maintenance", "42 clients, 500 steps, 520 inputs",
                  "present  uci/uji/validationData.csv", "missing  uci/uji/trainingData.csv",
                  "polykern data get uji --data-dir uci", "wec    Wave Energy Converters"]:
        assert words in done.out
    sets = json.loads(polykern("data", "list", "--data-dir", "uci", "--format", "json").out)
    assert [entry["name"] for entry in sets] == ["naval", "uji", "air", "wec"]
    assert sets[1]["files"] == [{"path": "uci/uji/trainingData.csv", "present": False},
                                {"path": "uci/uji/validationData.csv", "present": True}]


def test_check_asks_only_for_what_was_asked_for(polykern, tmp_path):
    done = polykern("data", "check")
    assert done.code == 0 and done.out.count("missing") == 11 and done.err == ""
    done = polykern("data", "check", "naval", "--format", "json")
    assert done.code == 1
    assert json.loads(done.out) == [{"data": "naval", "path": "data/naval/data.txt", "state": "missing", "detail": ""}]
    assert done.err == "polykern: data/naval/data.txt is missing; repair it with: polykern data get naval\n"
    (tmp_path / "data/uji").mkdir(parents=True)
    (tmp_path / "data/uji/validationData.csv").write_text("x")
    done = polykern("data", "check")  # a half data set is a mistake
    assert done.code == 1 and "uji/trainingData.csv is missing" in done.err


def rows_of(count, header="a,b,y,where,wind,odd\n"):
    return header + "".join(
        f"{i % 7},{(i * 5) % 11 - 3.5},{(i * 3) % 13},{'north' if i % 2 else 'south'},"
        f"{'N' if i % 3 else 'S'},{'x' if i == 9 else i % 4}\n" for i in range(count))


QUICK = ["-r", "1", "-M", "51", "-s", "20"]


def test_scan_ends_with_a_line_that_runs(polykern, tmp_path):
    (tmp_path / "my file.csv").write_text(rows_of(200))
    done = polykern("data", "scan", "my file.csv")
    assert done.code == 0 and done.err == ""
    for pattern in [r"200 rows, 6 columns, divided by comma, with a line of names", r"a +number +0 +0 to 6",
                    r"b +number +0 +-3.5 to 6.5", r'where +text +0 +"south", "north"',
                    r'odd +mixed +0 +1 text, first "x" at my file.csv, line 11']:
        assert re.search(pattern, done.out), pattern
    command = done.out.splitlines()[-1]
    assert command == ("polykern run --data 'my file.csv' --target y --site where --categorical wind "
                       "--exclude odd --scaling range --range a=0:6,b=-3.5:6.5,y=0:12")
    run = polykern(*shlex.split(command)[1:], *QUICK)
    assert run.code == 0, run.err
    assert "at 2 sites" in run.out and "3 inputs" in run.out and "clipped" not in run.out


def test_scan_of_several_files_makes_each_a_site(polykern, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(rows_of(60))
    found = json.loads(polykern("data", "scan", "one.csv", "two.csv", "--target", "a", "--format", "json").out)
    assert (found["rows"], found["delimiter"], found["header"]) == (120, "comma", True)
    assert found["columns"][0] == {"name": "a", "type": "number", "numbers": 120, "texts": 0, "missing": 0,
                                   "low": 0, "high": 6}
    assert found["columns"][3]["distinct"] == 2
    run = polykern(*shlex.split(found["run"])[1:], *QUICK)
    assert run.code == 0 and "at 2 sites" in run.out, run.err


def test_scan_says_why_nothing_can_be_learnt(polykern, tmp_path):
    (tmp_path / "words.csv").write_text("a,b\nx,u\ny,v\n")
    done = polykern("data", "scan", "words.csv")
    assert done.code == 1 and "a       text" in done.out
    assert done.err.count("\n") == 1 and "no column can be the target" in done.err


@needs_data
@pytest.mark.parametrize("name", ["naval/data.txt", "air/PRSA_Data_Dongsi_20130301-20170228.csv"])
def test_scan_of_real_files_runs(polykern, name):
    done = polykern("data", "scan", pathlib.Path(REAL, name))
    assert done.code == 0, done.err
    run = polykern(*shlex.split(done.out.splitlines()[-1])[1:], *QUICK)
    assert run.code == 0, run.err


@pytest.mark.parametrize("arguments, code, words", [
    (["data"], 2, ["say what to do", "list, get, check, scan", "see: polykern data --help"]),
    (["data", "fetch"], 2, ["no command 'fetch'", "list, get, check, scan"]),
    (["data", "get"], 2, ["NAME is required", "see: polykern data get --help"]),
    (["data", "get", "naval", "--bogus"], 2, ["--bogus", "see: polykern data get --help"]),
    (["data", "get", "naval", "--timeout", "0"], 2, ["--timeout", "see: polykern data get --help"]),
    (["data", "get", "navel"], 1, ["navel", "naval"]),
    (["data", "get", "naval", "--from", "ftp://x"], 1, ["ftp", "check the address"]),
    (["data", "check", "navel"], 1, ["navel", "naval"]),
    (["data", "scan"], 2, ["FILE is required"]),
    (["data", "scan", "nothere.csv"], 1, ["nothere.csv", "no such file"]),
    (["data", "list", "--format", "xml"], 2, ["--format", "xml"]),
    (["data", "list", "--config", "job.toml"], 1, ["job.toml, line 2", "forse", "polykern data list --help"]),
])
def test_bad_input_gets_one_clear_line(polykern, tmp_path, arguments, code, words):
    (tmp_path / "job.toml").write_text("[data.list]\nforse = true\n")
    done = polykern(*arguments)
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.count("\n") == 1 and done.err.startswith("polykern: "), done.err
    for word in words:
        assert word in done.err, done.err


@pytest.mark.parametrize("command", ["list", "get", "check", "scan"])
def test_every_command_has_help_with_an_example(polykern, command):
    done = polykern("data", command, "--help")
    assert done.code == 0 and f"Example: polykern data {command}" in done.out
    assert f"Usage: polykern data {command} " in done.out


def test_the_document_shows_what_the_program_prints(polykern, tmp_path):
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/data.md").read_text()
    (tmp_path / "stations.csv").write_text(re.search(r"```csv\n(.*?)```", text, re.S).group(1))
    shown = re.findall(r"<!-- the output of: polykern (.*?) -->\n```\n(.*?)```", text, re.S)
    assert [command for command, _ in shown] == ["data list", "data scan stations.csv"]
    for command, output in shown:
        assert polykern(*command.split()).out == output


def test_settings_come_from_a_toml_file(polykern, tmp_path):
    (tmp_path / "job.toml").write_text('[run]\nclients = 3\n[data]\ndata-dir = "outer"\n[data.check]\ndata-dir = "inner"\n')
    assert "outer/naval/data.txt" in polykern("data", "list", "--config", "job.toml").out
    assert "inner/naval/data.txt" in polykern("data", "check", "--config", "job.toml").out
    assert "typed/naval" in polykern("data", "check", "--config", "job.toml", "--data-dir", "typed").out

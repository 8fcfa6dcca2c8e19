"""Where polykern join reads from: which lines of a file it has learnt before, and inputs that cannot be read."""

import json
import os
import re
import socket
import struct
import subprocess

import pytest

from federation import POLYKERN


def rows(count, b):
    return "".join(f"{n / 100},{b},0.5\n" for n in range(count))


@pytest.fixture
def mill(trial):
    """mill("in.csv") lets an agent that remembers learn from a file."""
    trial.serve("--dimension", "2")

    def learn(file, text=None, *options):
        done, made = trial.join(text, "--input", file, "--state", "mill.state", *options)
        assert done.returncode == 0, done.stderr
        return [p["id"] for p in made], done.stderr

    learn.folder = trial.f.folder
    return learn


def test_another_file_is_read_from_its_beginning(mill):
    (mill.folder / "day1.csv").write_text("a,b,y\n" + rows(20, 0.1))
    (mill.folder / "day2.csv").write_text("a,b,y\n" + rows(30, 0.2))
    ids, said = mill("day1.csv")
    assert ids == list(range(2, 22)) and said.count("\n") == 2
    ids, said = mill("day2.csv")
    assert ids == list(range(2, 32)) and "30 samples, 30 learnt" in said
    assert "polykern: day2.csv: does not begin with the samples that were learnt last; reading it from its first line\n" in said
    ids, said = mill("day2.csv")
    assert ids == [] and "0 samples, 0 learnt" in said
    assert said.count("polykern: day2.csv: lines 1 to 31 were learnt before and are skipped\n") == 1
    (mill.folder / "day2.csv").rename(mill.folder / "day2.old.csv")  # a new one of the same name, longer
    (mill.folder / "day2.csv").write_text("a,b,y\n" + rows(29, 0.2) + "0.29,0.2,0.4\n" + rows(9, 0.3))
    assert mill("day2.csv")[0] == list(range(2, 41))
    (mill.folder / "day2.csv").write_text("a,b,y\n" + rows(5, 0.2))  # and shorter
    assert mill("day2.csv")[0] == list(range(2, 7))
    (mill.folder / "day2.csv").write_text("")
    assert mill("day2.csv")[0] == []


def test_a_file_that_only_grew_is_resumed_whatever_it_is_called(mill):
    text = "a,b,y\r\n" + rows(3, 0.1) + "\n0.5,bad,0.5\n0.5,0.5,0.2"  # its writer is not through with the last line
    (mill.folder / "in.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert mill("in.csv")[0] == [2, 3, 4, 7]
    with open(mill.folder / "in.csv", "a") as file:
        file.write("5\n" + rows(2, 0.3))
    (mill.folder / "in.csv").rename(mill.folder / "in.csv.1")
    ids, said = mill("in.csv.1")
    assert ids == [8, 9] and "lines 1 to 7 were learnt before" in said and "0 bad lines" in said


def test_a_stream_has_no_lines_that_were_learnt_before(mill):
    text = "a,b,y\n" + rows(10, 0.1)
    (mill.folder / "in.csv").write_text("a,b,y\n" + rows(20, 0.2))
    for stream in ("-", "/dev/stdin"):  # the latter a file, but a pipe
        for _ in range(2):
            ids, said = mill(stream, text, "--wait")
            assert ids == list(range(2, 12)) and "10 learnt" in said and said.count("\n") == 2
    ids, said = mill("in.csv")
    assert ids == list(range(2, 22)) and said.count("\n") == 2
    assert mill("-", text)[0] == list(range(2, 12))  # and leaves alone what is known of a file
    with open(mill.folder / "in.csv", "a") as file:
        file.write(rows(3, 0.3))
    assert mill("in.csv")[0] == [22, 23, 24]


def test_standard_input_from_a_file_is_a_file(trial):
    trial.serve("--dimension", "2")
    (trial.f.folder / "in.csv").write_text("a,b,y\n" + rows(40, 0.1))

    def learn(*options):
        with open(trial.f.folder / "in.csv") as file:
            done = subprocess.run(trial.arguments("--state", "mill.state", *options), cwd=trial.f.folder, stdin=file,
                                  capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "40 samples, 40 learnt" in learn()
    assert "standard input: lines 1 to 41 were learnt before and are skipped\n" in learn()
    (trial.f.folder / "in.csv").write_text("a,b,y\n" + rows(40, 0.2))
    said = learn("--no-wait")
    learnt = int(re.search(r"40 samples, (\d+) learnt", said).group(1))
    assert learnt == 40 or f"polykern: {40 - learnt} label" in said and "with --wait each sample waits" in said


def test_an_input_that_breaks_off_ends_the_agent_as_its_end_would_but_for_the_code(trial):
    trial.serve("--dimension", "1")
    with socket.create_server(("127.0.0.1", 0)) as source:
        source.settimeout(20)
        address = f"tcp://127.0.0.1:{source.getsockname()[1]}"
        process = subprocess.Popen(trial.arguments("--input", address, "--wait"), cwd=trial.f.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        trial.f.processes.append(process)
        connection, _ = source.accept()
        connection.sendall(b"x,y\n0.5,0.5\n0.5,0.5\n0.5,0.")
        for n in range(2):
            assert json.loads(process.stdout.readline())["id"] == n + 2
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # a reset
    out, said = process.communicate(timeout=20)
    assert process.returncode == 1 and out == ""  # a line that was cut off is none
    assert said.splitlines() == [
        "polykern: joined: at step 0",
        f"polykern: {address}, line 4: cannot be read (Connection reset by peer); stopped learning",
        "polykern: 2 samples, 2 learnt; 0 bad lines, 0 values clipped; 0 still without a label, 0 forgotten",
        f"polykern: {address}: not read to its end; restart the agent when it can be read"]


def test_a_folder_is_not_an_input(tmp_path):
    (tmp_path / "days").mkdir()
    stdin = os.open(tmp_path / "days", os.O_RDONLY)
    for arguments, words in [(["--input", "days"], "days: is a folder; name a file with samples"),
                             ([], "standard input: is a folder; name a file with samples")]:
        done = subprocess.run([POLYKERN, "join", "--insecure", "--name", "mill", "--server", "127.0.0.1:1",
                               "--state", "mill.state", *arguments], cwd=tmp_path, stdin=stdin, capture_output=True,
                              text=True, timeout=20)
        assert done.returncode == 1 and done.stderr == f"polykern: {words}\n"
    os.close(stdin)

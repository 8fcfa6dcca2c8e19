"""Where polykern join reads from: which lines of a file it has learnt before, and inputs that cannot be read."""

import json
import os
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
    assert ids == list(range(2, 22)) and said.count("\n") == 1
    ids, said = mill("day2.csv")
    assert ids == list(range(2, 32)) and "30 samples, 30 learnt" in said
    assert "polykern: day2.csv: does not begin with what was learnt last; read from its first line\n" in said
    ids, said = mill("day2.csv")
    assert ids == [] and "0 samples, 0 learnt" in said
    assert said.count("polykern: day2.csv: lines 1 to 31 were learnt before and are passed over\n") == 1
    (mill.folder / "day2.csv").rename(mill.folder / "day2.old.csv")  # a new one of the same name, longer
    (mill.folder / "day2.csv").write_text("a,b,y\n" + rows(29, 0.2) + "0.29,0.2,0.4\n" + rows(9, 0.3))
    assert mill("day2.csv")[0] == list(range(2, 41))
    (mill.folder / "day2.csv").write_text("a,b,y\n" + rows(5, 0.2))  # and shorter
    assert mill("day2.csv")[0] == list(range(2, 7))
    (mill.folder / "day2.csv").write_text("")
    assert mill("day2.csv")[0] == []


def test_a_file_that_only_grew_is_gone_on_with_whatever_it_is_called(mill):
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
            assert ids == list(range(2, 12)) and "10 learnt" in said and said.count("\n") == 1
    ids, said = mill("in.csv")
    assert ids == list(range(2, 22)) and said.count("\n") == 1
    assert mill("-", text)[0] == list(range(2, 12))  # and leaves alone what is known of a file
    with open(mill.folder / "in.csv", "a") as file:
        file.write(rows(3, 0.3))
    assert mill("in.csv")[0] == [22, 23, 24]

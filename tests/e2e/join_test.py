"""polykern join, beside a stream of samples: what it reads, prints, remembers and survives."""

import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest

from federation import POLYKERN, SCALED

BARE = ["--dimension", "1", "--target-range", "none"]


def within_range(cells):
    """What is told of numbers that the CSV file has as they were learnt with."""
    return [min(max(float(cell), 0), 3000) for cell in cells]


def test_csv_with_names_is_scaled_by_the_federations_ranges(trial):
    trial.serve(*SCALED)
    text = "id,heat,power,wind\n" + "".join(f"s{n},20,1500,10\n" for n in range(30)) + "far,99,9000,-3\n"
    done, made = trial.join(text, "--wait")
    assert done.returncode == 0, done.stderr
    assert [p["id"] for p in made] == [f"s{n}" for n in range(30)] + ["far"]
    assert [p["step"] for p in made] == list(range(31))
    assert made[0]["prediction"] == 0 and 0 < made[10]["prediction"] < made[29]["prediction"] < 3000
    assert "31 samples, 31 learnt; 0 bad lines, 3 values clipped" in done.stderr


def test_json_lines_and_bad_lines(trial):
    trial.serve(*SCALED)
    lines = [
        '{"id": 7, "wind": 3, "heat": 10, "power": 100}',
        '{"id": {"deep": [1]}, "wind": 3, "heat": 10}',
        '{"wind": 3, "power": 100}',
        "not json",
        '{"wind": "3", "heat": 1}',
        "",
        '[1, 2]',
        '{"wind": 3, "heat": 10, "power": null}',
    ]
    done, made = trial.join("\n".join(lines), "--wait")
    assert done.returncode == 0
    assert [p["id"] for p in made] == [7, {"deep": [1]}, 8]
    for words in ('line 3: there is no "heat"; skipped', "line 4: not a JSON object", 'line 5: "wind" is not a number',
                  "line 7: not a JSON object", "3 samples, 1 learnt; 4 bad lines"):
        assert words in done.stderr
    done, made = trial.join("\n".join(lines), "--wait", "--strict")
    assert done.returncode == 1 and len(made) == 2 and "line 3" in done.stderr.splitlines()[-1]


def test_bad_csv_is_reported_by_line_and_skipped(trial):
    trial.serve("--dimension", "2")
    text = 'a,b,y\n1,2,0.5\n1,2\n1,x,0.5\n1,nan,0.5\n"1,2,3\n1,2,0.5,9\n0.1,0.2,\n0.1,0.2,0.3\n'
    done, made = trial.join(text, "--wait")
    assert done.returncode == 0 and [p["id"] for p in made] == [2, 8, 9]
    for words in ("line 3: 3 cells expected, 2 found", 'line 4: "x" in column "b" is not a number', "line 5:",
                  "line 6:", "line 7: 3 cells expected, 4 found", "3 samples, 2 learnt; 5 bad lines"):
        assert words in done.stderr
    for header, words in [("a,y\n1,1\n", "has 1 input columns"), ("a,b\n1,1\n", 'there is no column "y"')]:
        done, made = trial.join(header)
        assert done.returncode == 1 and made == [] and words in done.stderr


def test_an_agent_that_finds_out_how_fast_to_forget_resumes_with_the_same_bits(trial):
    trial.serve("--algorithm", "local-rls", "--kernels", "8", "--dimension", "2", "--forgetting", "auto")
    rows = [f"{n % 7 / 7},{n % 5 / 5},{0.4 + n * n % 11 / 30}\n" for n in range(60)]
    _, whole = trial.join("a,b,y\n" + "".join(rows), "--wait")
    (trial.f.folder / "in.csv").write_text("a,b,y\n" + "".join(rows[:25]))
    _, first = trial.join(None, "--input", "in.csv", "--state", "mill.state")
    with open(trial.f.folder / "in.csv", "a") as file:
        file.write("".join(rows[25:]))
    done, rest = trial.join(None, "--input", "in.csv", "--state", "mill.state")
    assert done.returncode == 0, done.stderr
    assert [p["prediction"] for p in first + rest] == [p["prediction"] for p in whole]


def test_an_agent_resumes_where_it_was_and_predicts_while_the_server_is_away(trial):
    trial.serve("--dimension", "2")
    rows = [f"{n / 20},{1 - n / 20},0.5\n" for n in range(20)]
    (trial.f.folder / "in.csv").write_text("a,b,y\n" + "".join(rows[:12]))
    done, made = trial.join(None, "--input", "in.csv", "--state", "mill.state")
    assert [p["step"] for p in made] == list(range(12))
    assert (trial.f.folder / "mill.state").stat().st_mode & 0o777 == 0o600
    with open(trial.f.folder / "in.csv", "a") as file:
        file.write("".join(rows[12:]))
    done, more = trial.join(None, "--input", "in.csv", "--state", "mill.state")
    assert [p["step"] for p in more] == list(range(12, 20)) and [p["id"] for p in more] == list(range(14, 22))
    trial.f.server.kill()
    trial.f.server.wait()
    process = subprocess.Popen(trial.arguments("--state", "mill.state"), cwd=trial.f.folder, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    trial.f.processes.append(process)
    for n in range(5):  # at once, from the last model it had
        process.stdin.write(("a,b,y\n" if n == 0 else "") + f"0.5,{n / 10},0.5\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["step"] == 19
    for _ in range(2000):  # when it knows, it says why
        process.stdin.write("0.5,0.5,\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["step"] == 19
        if select.select([process.stderr], [], [], 0.02)[0]:
            break
    assert process.stderr.readline().endswith("; predicting with the model of step 19, and reconnecting\n")


def test_a_state_of_another_federation_or_a_damaged_one_is_refused(trial):
    trial.serve("--dimension", "2")
    text = "a,b,y\n1,2,0.5\n"
    assert trial.join(text, "--state", "mill.state")[0].returncode == 0
    trial.serve("--dimension", "2", "--seed", "5", "--store", "other.db")
    done, _ = trial.join(text, "--wait", "--state", "mill.state")
    assert done.returncode == 1 and "(seed: 0 -> 5); use another state file" in done.stderr
    state = trial.f.folder / "mill.state"
    good = state.read_bytes()
    for n in (0, 5, len(good) // 2, len(good) - 1):
        state.write_bytes(good[:n] + bytes([good[n] ^ 1]) + good[n + 1:])
        done, _ = trial.join(text, "--state", "mill.state")
        assert done.returncode == 1 and "mill.state" in done.stderr, n
    state.write_bytes(b"")
    assert trial.join(text, "--state", "mill.state")[0].returncode == 1


def test_samples_come_over_tcp_as_well(trial):
    trial.serve("--dimension", "1")
    with socket.create_server(("127.0.0.1", 0)) as source:
        source.settimeout(20)
        address = f"tcp://127.0.0.1:{source.getsockname()[1]}"
        process = subprocess.Popen(trial.arguments("--input", address), cwd=trial.f.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        trial.f.processes.append(process)
        connection, _ = source.accept()
        connection.sendall(b"x,y\n")
        for n in range(3):  # each is answered before the next is sent
            connection.sendall(b"0.5,0.5\n")
            assert json.loads(process.stdout.readline())["id"] == n + 2
        connection.close()
        assert process.wait(20) == 0, process.stderr.read()
    done, _ = trial.join(None, "--input", address)
    assert done.returncode == 1 and "cannot connect" in done.stderr


def test_an_agent_outlives_the_federations_end(trial):
    trial.serve("--dimension", "1", steps=3)
    done, made = trial.join("x,y\n" + "0.5,0.5\n" * 6, "--wait")
    assert done.returncode == 0 and [p["step"] for p in made] == [0, 1, 2, 3, 3, 3]
    assert "6 samples, 3 learnt" in done.stderr


@pytest.mark.parametrize("example", ["POLYKERN_EXAMPLE_AGENT", "POLYKERN_EXAMPLE_AGENT_C"])
def test_the_example_programs_are_agents(federation, example):
    f = federation("pof-mkl", clients=2)
    f.server = f.start(["serve", "--quorum", "all", "--listen", "127.0.0.1:0", "--dimension", "2", "--store", "example.db",
                        "--target-range", "0:1", "--algorithm", "pof-newton", "--kernels", "5", "--features", "8"],
                       "server", stdout=subprocess.PIPE)
    port = int(f.server.stdout.readline().split(":")[1])
    done = subprocess.run([os.environ[example], f"127.0.0.1:{port}", "pki/clients/station-1"],
                          cwd=f.folder, capture_output=True, text=True, timeout=60)
    found = re.fullmatch(r"squared error at the first step (\S+), at the last (\S+)\n", done.stdout)
    assert done.returncode == 0 and found, done.stderr
    assert float(found[2]) < 0.1 * float(found[1])


def test_predictions_go_to_files_that_a_restart_appends_to(trial):
    trial.serve(*SCALED, "--algorithm", "pof-newton")
    folder = trial.f.folder
    rows = [f"s{n},{n % 7},{10 + n % 3},{100 * (n % 7) + n}\n" for n in range(20)]
    more = ["--input", "in.csv", "--state", "mill.state", "--output", "made.jsonl", "--predictions", "made.csv",
            "--coverage", "0.8"]
    header = "id,wind,heat,power\n"
    for count in (8, 20):
        (folder / "in.csv").write_text(header + "".join(rows[:count]))
        done, made = trial.join(None, *more)
        assert done.returncode == 0 and made == [], done.stderr
    lines = [json.loads(line) for line in (folder / "made.jsonl").read_text().splitlines()]
    table = [line.split(",") for line in (folder / "made.csv").read_text().splitlines()]
    assert table[0] == ["time", "client", "label", "prediction", "low", "high"]
    assert [line["id"] for line in lines] == [f"s{n}" for n in range(20)]
    assert [row[0] for row in table[1:]] == [str(n) for n in range(1, 21)]
    assert [float(row[2]) for row in table[1:]] == [100 * (n % 7) + n for n in range(20)]
    assert (lines[0]["low"], lines[0]["high"], table[1][4:]) == (None, None, ["", ""])
    for line, row in zip(lines[1:], table[2:]):
        assert [line["prediction"], line["low"], line["high"]] == within_range(row[3:])
        assert line["low"] < line["prediction"] < line["high"]
    for name in ("made.jsonl", "made.csv"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_the_interval_of_a_late_label_is_that_of_what_was_told(trial):
    trial.serve(*SCALED)
    lines = [json.dumps({"id": 0, "wind": 1, "heat": 10, "power": 600})]
    lines += [json.dumps({"id": n, "wind": n, "heat": 10}) for n in range(1, 4)]
    lines += [json.dumps({"id": n, "power": 100 * n}) for n in (3, 1)]
    done, made = trial.join("\n".join(lines), "--wait", "--coverage", "0.9", "--predictions", "made.csv")
    assert done.returncode == 0, done.stderr
    table = [line.split(",")[2:] for line in (trial.f.folder / "made.csv").read_text().splitlines()[1:]]
    told = {p["id"]: [p["prediction"], p["low"], p["high"]] for p in made}
    assert [row[0] for row in table] == ["600", "300", "100"]
    assert [within_range(row[1:]) for row in table[1:]] == [told[3], told[1]]


def test_a_wrong_command_line_gets_one_clear_line(trial):
    for arguments, words in [
        (["join"], "--certificates is needed"),
        (["join", "--certificates", "nowhere"],
         "nowhere/client.crt: there is no such file; make it with: polykern pki issue NAME (its folder is pki/clients/NAME)"),
        (["join", "--insecure", "--name", "a", "--server", "localhost:abc"],
         "--server localhost:abc: not of the form HOST:PORT"),
        (["join", "--insecure"], "give --name"),
        (["join", "--insecure", "--name", "a", "--coverage", "1"], "--coverage is 1; it must lie between 0 and 1, such as 0.9"),
        (["join", "--insecure", "--name", "a", "--output", "no/where"], "no/where: cannot be written"),
        (["join", "--insecure", "--name", "a", "--predictions", "no/where"], "no/where: cannot be written"),
        (["join", "--insecure", "--name", "a", "--output", "same", "--predictions", "./same"],
         "--output and --predictions name the same file"),
        (["serve"], "the number of inputs is not given"),
        (["serve", "--columns", "a", "--scaling", "range"], "a --range COLUMN=LOW:HIGH for each"),
        (["serve", "--columns", "a", "--range", "b=0:1"], 'did you mean "a"?'),
        (["serve", "--columns", "a", "--range", "a=0:1"], "--target-range LOW:HIGH is needed"),
        (["serve", "--dimension", "1", "--insecure"], "--target-range LOW:HIGH is needed: labels are scaled to [0, 1] by it; "
         "--target-range none uses them as they are, and --learn-ranges N learns all ranges"),
        (["serve", "--columns", "a", "--learn-ranges", "5", "--target-range", "0:1"],
         "--learn-ranges learns all ranges; leave out --range, --target-range and --scaling, or leave out"),
        (["serve", "--dimension", "1", "--learn-ranges", "5"], "--learn-ranges needs --columns NAME,NAME,..."),
        (["serve", "--insecure", "--store", "new.db", "--columns", "a", "--learn-ranges", "5"],
         "add --clients NAME,NAME,... or --quorum NUMBER"),
        (["serve", "--insecure", "--store", "new.db", "--learn-ranges", "5", "--mode", "async"],
         "--learn-ranges needs rounds: leave out --mode async"),
        (["serve", "--dimension", "1", "--target-range", "none", "--loss", "logistic"],
         "--loss must be squared for pof-gram: leave it out, or choose an algorithm that can, such as --algorithm pof-adagrad"),
        (["serve", "--columns", "a,b", "--range", "a=0:1,a=0:2"], '--range is given twice for "a"'),
        (["serve", "--columns", "a,b,a", "--range", "b=0:1"], '--columns names "a" twice'),
        (["serve", "--columns", "a", "--range", "a=2:1"], '--range of "a" must be finite, the low end first'),
        (["serve", *SCALED[:-1], "0-3000"], "--target-range '0-3000' is neither of the form LOW:HIGH nor none"),
        (["serve", *SCALED[:-1], "3000:0"], '--target-range of "power" must be finite, the low end first'),
        (["serve", "--dimension", "1", "--norm", "2"], "--norm needs --scaling norm"),
        (["serve", "--columns", "a", "--range", "a=0:1", "--scaling", "none"], "--range cannot be combined with --scaling none"),
        (["serve", "--columns", "a,y", "--target", "y"], '--target "y" is one of the --columns as well'),
        (["serve", "--dimension", "1", "--quorum", "some"], "--quorum 'some'"),
        (["serve", *BARE, "--insecure", "--quorum", "3", "--clients", "a,b"], "a quorum of 3 clients can never answer"),
        (["serve", *BARE, "--insecure", "-a", "pof-mkl", "--mode", "async"], "choose --algorithm pof-newton"),
        (["serve", *BARE, "--mode", "async", "-a", "pof-newton", "--certificates", "nowhere"],
         "nowhere: there is no authority here; make one with: polykern pki init --dir nowhere"),
        (["serve", *BARE, "--insecure", "--listen", "127.0.0.1:nothing"], "--listen 127.0.0.1:nothing: not of the form HOST:PORT"),
    ]:
        done = subprocess.run([POLYKERN, *arguments], cwd=trial.f.folder, capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_server_without_a_port_is_asked_where_servers_listen(polykern):
    done = polykern("join", "--insecure", "--name", "a", "--server", "127.3.2.1", "--give-up", "0.5")
    assert done.code == 1 and "127.3.2.1:7433" in done.err.splitlines()[-1], done.err


def test_inputs_are_divided_by_the_norm_that_was_given_and_by_no_other(trial):
    done = subprocess.run([POLYKERN, "serve", "--insecure", "--listen", "127.0.0.1:0", "--dimension", "2", "--scaling",
                           "norm", "--target-range", "0:1"], cwd=trial.f.folder, capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("polykern: --scaling norm needs --norm R, the largest norm")
    assert not (trial.f.folder / "store.db").exists()
    made = []
    for n, norm in enumerate((1, 4)):
        trial.serve("--dimension", "2", "--scaling", "norm", "--norm", norm, "--target-range", "0:1",
                    "--store", f"{n}.db")
        text = "a,b,y\n" + "".join(f"{norm * a / 10},{norm * (1 - a) / 10},0.5\n" for a in range(8))
        done, predictions = trial.join(text, "--wait")
        assert done.returncode == 0, done.stderr
        made.append([p["prediction"] for p in predictions])
    assert made[0] == made[1] and len(set(made[0])) > 4


def test_numbers_that_would_spoil_the_model_are_bad_lines(trial):
    trial.serve("--dimension", "2")
    text = "a,b,y\n0.1,0.2,0.5\n1e300,0.2,0.5\n0.1,0.2,1e300\n0.1,-1e39,0.5\n0.1,0.2,0.5\n"
    done, made = trial.join(text, "--wait")
    assert done.returncode == 0, done.stderr
    assert [p["id"] for p in made] == [2, 4, 6] and all(isinstance(p["prediction"], float) for p in made)
    for words in ("line 3: an input is too large", "line 4: its label cannot be learnt from", "line 5: an input",
                  "3 samples, 2 learnt; 3 bad lines"):
        assert words in done.stderr
    assert trial.join('{"x": [1, 2], "y": 1e999}\n{"x": [1, 2, 3]}\n{"x": [1]}')[0].stderr.count("skipped") == 3
    done, _ = trial.join("a,a,y\n1,2,3\n")
    assert done.returncode == 1 and 'two columns are called "a"' in done.stderr
    done, made = trial.join("a,b,y\n1,2,3\n" + "1," * 3_000_000 + "\n1,2,3\n", "--wait")
    assert "line 3: longer than" in done.stderr and [p["id"] for p in made] == [2, 4]
    done, made = trial.join('{"x": [1, 2], "id": ' + "[" * 100_000 + "]" * 100_000 + "}\n" +
                            json.dumps({"x": [1, 2], "id": "n" * 300}))
    assert "too deep" in done.stderr and "its name is longer than 256 bytes" in done.stderr and made == []


def test_times_that_go_back_are_told_once_and_counted(trial):
    trial.serve("--columns", "wind", "--range", "wind=0:20", "--target-range", "0:100", "--time", "when")
    times = ["02:00", "02:30", "02:00", "02:30", "02:30"]  # a clock that was put back, and a line that comes twice
    text = "when,wind,y\n" + "".join(f"2026-10-25 {time},{n},{10 * n}\n" for n, time in enumerate(times))
    done, made = trial.join(text, "--wait", "--predictions", "made.csv")
    assert done.returncode == 0 and len(made) == 5, done.stderr
    assert done.stderr.count("is not later than that of the line before") == 1
    assert "line 4: its time, 2026-10-25 02:00, is not later" in done.stderr
    assert "5 learnt; 0 bad lines, 0 values clipped, 2 times not after the one before; " in done.stderr
    table = [line.split(",") for line in (trial.f.folder / "made.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in table] == [f"2026-10-25 {time}" for time in times]


def test_a_stream_may_have_decimal_commas(trial):
    trial.serve(*SCALED)
    done, made = trial.join("wind;heat;power\n3,5;11;120,5\n3,5;x;1\n", "--wait", "--decimal", ",")
    assert done.returncode == 0 and "1 learnt; 1 bad line, 0 values clipped" in done.stderr, done.stderr
    done, made = trial.join("wind;heat;power\n3,5;11;120\n", "--wait")
    assert '"3,5" in column "wind" is not a number; if its comma is the decimal one, add --decimal ,; skipped' in done.stderr


def test_an_agent_without_room_for_its_state_keeps_predicting(trial):
    trial.serve("--dimension", "2")
    text = "a,b,y\n" + "0.1,0.2,0.5\n" * 3

    def no_room():  # files may not grow past 100 bytes; writing then fails as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(trial.arguments("--state", "mill.state", "--no-wait"), cwd=trial.f.folder, input=text, text=True,
                          capture_output=True, timeout=60, preexec_fn=no_room)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr.count("predicting without learning until then") == 1
    assert "3 samples, 0 learnt; 0 bad lines" in done.stderr
    assert trial.join(text, "--state", "mill.state", "--wait")[0].returncode == 0  # with room it learns
    assert (trial.f.folder / "mill.state").exists()


def test_thousands_of_bad_lines_are_told_of_in_few(trial):
    trial.serve("--dimension", "2")
    done, made = trial.join("a,b,y\n" + "0.1,x\x1b[2J,0.5\n" * 5000)
    assert done.returncode == 0 and not made
    assert done.stderr.count("skipped") < 40 and "5000 bad lines" in done.stderr
    assert "\x1b" not in done.stderr


def test_bad_lines_and_labels_that_are_not_learnt_are_told_while_they_happen_and_not_each(trial):
    trial.serve("--dimension", "2", "--quorum", "2")  # the step stays open: it takes one label
    agent = trial.f.start(trial.arguments("--no-wait")[1:], "beside", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    log = trial.f.folder / "beside.log"

    def take(lines):
        agent.stdin.write("".join(lines))
        agent.stdin.flush()

    def told(words):
        return [line for line in log.read_text().splitlines() if words in line]

    take(["a,b,y\n", *["0.1,0.2,0.5\n"] * 500])
    trial.f.until(lambda: told("not learnt from"))
    take(["0.1,x,0.5\n"] * 500)
    trial.f.until(lambda: len(told('"x" in column "b" is not a number; skipped')) >= 20)
    time.sleep(1.1)
    take(["0.1,x,0.5\n"])
    trial.f.until(lambda: told("other lines since the last"))
    assert agent.poll() is None and len(told("not learnt from")) == 1 and len(told("skipped")) < 40


def test_a_key_that_others_can_read_is_warned_of(federation):
    f = federation("pof-mkl", clients=1)
    (f.folder / "pki/server.key").chmod(0o640)
    (f.folder / "pki/clients/station-0/client.key").chmod(0o644)
    f.serve()
    f.join(0)
    f.wait()
    warned = "users other than its owner can read it; protect it with chmod 600"
    assert f"pki/server.key: {warned}" in (f.folder / "server.log").read_text()
    assert f"client.key: {warned}" in (f.folder / "agent-0.log").read_text()

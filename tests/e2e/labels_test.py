"""polykern join and its labels: those that come later, and those that are scaled, clipped or used as they are."""

import json

from federation import SCALED


def test_labels_come_later_in_any_order_or_never(trial):
    trial.serve(*SCALED)
    lines = [json.dumps({"id": n, "wind": n, "heat": 10}) for n in range(6)]
    lines += [json.dumps({"id": n, "power": 100 * n}) for n in (4, 0, 2)]
    lines += ['{"id": 4, "power": 1}', '{"id": 77, "power": 1}', '{"power": 1}',
              '{"id": 9, "wind": 3, "heat": 10, "power": 5000}', '{"id": 5, "power": -3}']
    done, made = trial.join("\n".join(lines), "--wait")
    assert done.returncode == 0, done.stderr
    assert [p["id"] for p in made] == [0, 1, 2, 3, 4, 5, 9]
    assert [p["step"] for p in made] == [0] * 6 + [3]  # a label ends a step, a prediction does not
    for words in ("line 10: no sample 4 waits for a label; skipped", "line 11: no sample 77 waits",
                  'line 12: there is no "wind"', "7 samples, 5 learnt; 3 bad lines, 2 values clipped",
                  "2 still without a label, 0 forgotten"):
        assert words in done.stderr
    done, made = trial.join("\n".join(lines), "--wait", "--strict")
    assert done.returncode == 1 and "line 10" in done.stderr.splitlines()[-1]


def test_labels_come_later_in_csv_as_well(trial):
    trial.serve("--dimension", "2")
    text = "id,a,b,y\ns1,0.1,0.2,\ns2,0.3,0.4,\n,0.1,0.1,\ns2,,,0.5\ns1,,,0.25\ns1,,,0.25\n,,,0.5\ns3,0.1,,0.5\n"
    done, made = trial.join(text, "--wait")
    assert done.returncode == 0 and [p["id"] for p in made] == ["s1", "s2", 4]
    for words in ('line 7: no sample "s1" waits', 'line 8: "" in column "a"', 'line 9: "" in column "b"',
                  "3 samples, 2 learnt; 3 bad lines", "0 still without a label, 0 forgotten"):
        assert words in done.stderr


def test_a_late_label_is_learnt_like_one_that_comes_at_once(trial):
    rows = [(f"s{n}", n / 20, 1 - n / 20, 0.5) for n in range(20)]
    at_once = "id,a,b,y\n" + "".join(f"{i},{a},{b},{y}\n" for i, a, b, y in rows)
    later = "id,a,b,y\n" + "".join(f"{i},{a},{b},\n{i},,,{y}\n" for i, a, b, y in rows)
    made = []
    for n, text in enumerate((at_once, later)):
        trial.serve("--dimension", "2", "--store", f"{n}.db")
        done, predictions = trial.join(text, "--wait")
        assert "20 samples, 20 learnt" in done.stderr
        made.append([p["prediction"] for p in predictions])
    assert made[0] == made[1] and len(set(made[0])) > 10


def test_of_too_many_waiting_samples_the_oldest_are_forgotten(trial):
    trial.serve("--dimension", "1")
    lines = [json.dumps({"id": n, "x": [0.1]}) for n in range(10)] + [json.dumps({"id": 9, "x": [0.2]})]
    lines += [json.dumps({"id": n, "y": 0.5}) for n in range(10)]
    done, made = trial.join("\n".join(lines), "--wait", "--pending", "3")
    assert done.returncode == 0 and len(made) == 11
    assert "11 samples, 3 learnt; 7 bad lines" in done.stderr and "0 still without a label, 8 forgotten" in done.stderr


def test_a_file_whose_labels_come_later_is_resumed_after_a_kill(trial):
    trial.serve("--dimension", "1")
    lines = [json.dumps({"id": n, "x": [n / 10]}) for n in range(10)]
    lines += [json.dumps({"id": n, "y": 0.5}) for n in range(9, -1, -1)]
    path = trial.f.folder / "in.jsonl"
    path.write_text("\n".join(lines[:14]) + "\n")
    done, made = trial.join(None, "--input", "in.jsonl", "--state", "mill.state")
    assert "10 samples, 4 learnt" in done.stderr and "6 still without a label" in done.stderr
    path.write_text("\n".join(lines) + "\n")
    done, made = trial.join(None, "--input", "in.jsonl", "--state", "mill.state")
    assert done.returncode == 0 and made == []
    assert "0 samples, 6 learnt; 0 bad lines" in done.stderr and "0 still without a label" in done.stderr


def test_labels_are_scaled_by_their_range_though_inputs_are_not(trial):
    trial.serve("--dimension", "1", "--algorithm", "pof-gram", "--target", "power", "--target-range", "0:3000")
    assert trial.f.server.stdout.readline() == "of each client it sees sums over its samples\n"
    done, made = trial.join("x,power\n" + "0.5,1500\n" * 20, "--wait")
    assert done.returncode == 0 and "20 learnt; 0 bad lines, 0 values clipped; " in done.stderr
    assert 1400 < made[-1]["prediction"] < 1600


def test_both_sides_warn_of_labels_outside_their_range(trial):
    trial.serve("--dimension", "1", "--algorithm", "pof-gram", "--target-range", "none", "--metrics", "0", "--log", "server.txt")
    done, made = trial.join("x,y\n0.5,0.5\n" + "0.5,1500\n" * 6, "--wait")
    assert done.returncode == 0 and len(made) == 7
    told = [line for line in done.stderr.splitlines() if "outside the federation's target range, 0:1" in line]
    assert len(told) == 1 and "line 3: the label is outside" in told[0]
    assert "7 learnt; 0 bad lines, 6 values clipped (6 labels); " in done.stderr
    trial.f.server.terminate()
    assert trial.f.server.wait(20) == 0
    log = (trial.f.folder / "server.txt").read_text()
    assert log.count("mill clipped: labels outside the target range; later ones are only counted\n") == 1


def test_labels_are_used_as_they_are_where_an_algorithm_can(trial):
    trial.serve("--columns", "a", "--range", "a=0:1", "--target-range", "none", "--algorithm", "pof-adagrad")
    done, made = trial.join("a,y\n" + "0.5,3\n" * 30, "--wait")
    assert done.returncode == 0 and "30 learnt; 0 bad lines, 0 values clipped; " in done.stderr
    assert made[-1]["prediction"] > 1

"""polykern run, as a user types it."""

import csv
import json
import os
import pathlib
import re
import shlex

import pytest
from results import SMALL, runs_of, without_timings


def test_the_table_has_a_row_for_each_setting(polykern):
    done = polykern("run", *SMALL)
    assert (done.code, done.err) == (0, "")
    for name in ("pof-mkl", "pof-adagrad"):
        rows = [line.split() for line in done.out.splitlines() if line.startswith(name)]
        assert [row[1:3] for row in rows] == [["1", "100"], ["25", "20"], ["51", "9"]]
    table = {line.split()[0]: line.split()[1:3] for line in done.out.splitlines() if line}
    assert (table["ofskl"], table["ofmkl-avg"], table["vm-kofl"]) == (["1", "100"], ["51", "9"], ["51", "9"])
    assert (table["em-kofl"], table["fomd-oms"], table["fed-poe"]) == (["1", "100"], ["2", "100"], ["3", "100"])
    assert (table["perfedavg"], table["local"]) == (["-", "-"], ["-", "100"])
    assert (table["pof-newton"], table["local-rls"]) == (["5", "100"], ["-", "17"])
    assert "Lowest error: " in done.out


@pytest.mark.parametrize("command", [["run", *SMALL, "-a", "pof-mkl"], ["bench"], ["reproduce", "table1"]])
def test_a_gpu_that_is_missing_is_missed_in_one_line(polykern, command):
    done = polykern(*command, "--device", "gpu")
    if done.code == 0:
        pytest.skip("this machine has a GPU")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert "choose --device cpu" in done.err


def test_no_other_device_is_known(polykern):
    done = polykern("run", *SMALL, "--device", "tpu")
    assert done.code == 2
    assert "--device" in done.err


def test_every_algorithm_runs_on_a_users_csv_with_its_own_settings(polykern, tmp_path):
    write_csv(tmp_path / "my.csv")
    done = polykern("run", "--data", "my.csv", "--target", "y", "--site", "where", "--split", "site",
                    "-k", "4", "-r", "1", "-M", "51", "--hessian-free", "--inner-rate", "0.02", "--meta-rate", "0.03",
                    "--projection-radius", "2", "--single-bandwidth", "3", "--out", "o")
    assert (done.code, done.err) == (0, "")
    runs = runs_of(tmp_path / "o")
    assert len({run["algorithm"] for run in runs}) == len(runs) == 13
    for run in runs:
        assert run["uplink_numbers_mean"] <= 1000
        assert run["uplink_numbers"] <= (21_000 if run["algorithm"] == "pof-gram" else 1000)
        assert run["options"]["hessian_free"] is True
        assert [run["options"][name] for name in ("inner_rate", "meta_rate", "projection_radius",
                                                  "single_bandwidth")] == [0.02, 0.03, 2, 3]


def test_a_row_for_each_epsilon_says_what_was_spent(polykern, tmp_path):
    done = polykern("run", *SMALL, "-a", "pof-gram,local", "--epsilon", "1,8", "--releases", "4", "--experts", "federated",
                    "--out", "noisy")
    assert done.code == 0 and "epsilon" in done.out
    runs = [run for run in runs_of(tmp_path / "noisy") if run["algorithm"] == "pof-gram"]
    assert [run["options"]["epsilon"] for run in runs] == [1, 8]
    for run in runs:  # all four releases are made in 20 steps
        assert 0.999 * run["options"]["epsilon"] < run["epsilon_spent"] <= run["options"]["epsilon"]
    (alone,) = [run for run in runs_of(tmp_path / "noisy") if run["algorithm"] == "local"]
    assert alone["epsilon_spent"] is None


def test_result_json_holds_the_documented_fields(polykern, tmp_path):
    assert polykern("run", *SMALL, "-a", "pof-mkl", "--kernels-per-upload", "25", "--out", "here").code == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["report.html", "result.json"]
    (run,) = runs_of(tmp_path / "here")
    for field in """algorithm kernels_per_upload features clients steps repetitions mse mse_std
            regret_mean regret_std regret_bound uplink_numbers uplink_bytes downlink_bytes seconds
            microseconds_per_sample options curves client_regret client_weights
            rmse r2 skill last_label_mse running_mean_mse client_scores""".split():
        assert field in run, field
    assert (run["features"], run["clients"], run["steps"]) == (20, 30, 20)
    assert run["uplink_numbers"] == 1000
    assert run["downlink_bytes"] == 4 * 51 * 40
    assert run["curves"]["step"] == list(range(1, 21))
    assert run["mse"] == pytest.approx(sum(run["curves"]["mse"]) / 20)
    assert run["regret_mean"] == pytest.approx(sum(run["client_regret"]) / 30)
    weights = run["client_weights"]
    assert sorted(weights["clients"]) == list(range(30))
    assert [len(weights[name]) for name in ("kernels", "last", "traced", "steps", "trace")] == [51, 30, 4, 20, 20]
    for row in weights["last"] + [row for step in weights["trace"] for row in step]:
        assert sum(row) == pytest.approx(1, abs=51 * 0.5e-4)  # each rounded to four digits
    last = dict(zip(weights["clients"], weights["last"]))
    assert weights["trace"][-1] == [last[client] for client in weights["traced"]]


def test_no_report_leaves_the_result_alone(polykern, tmp_path):
    done = polykern("run", *SMALL, "-a", "ofskl", "--no-report", "--out", "here")
    assert (done.code, done.err) == (0, "")
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["result.json"]
    assert runs_of(tmp_path / "here")[0]["client_weights"] is None


def test_anytime_rates_make_a_short_run_the_start_of_a_long_one(polykern, tmp_path):
    (tmp_path / "job.toml").write_text('schedule = "anytime"\nweight-rate = 2\n')
    for steps in (10, 20):
        done = polykern("run", "-k", 30, "-s", steps, "-r", 2, "-a", "pof-mkl", "-M", "51", "--config", "job.toml",
                        "--out", f"s{steps}")
        assert (done.code, done.err) == (0, "")
    (short,), (long,) = runs_of(tmp_path / "s10"), runs_of(tmp_path / "s20")
    assert short["options"]["schedule"] == "anytime"
    assert short["regret_bound"] is None
    assert short["curves"]["mse"] == long["curves"]["mse"][:10]
    assert polykern("run", *SMALL, "-a", "pof-mkl", "--out", "constant").code == 0
    assert runs_of(tmp_path / "constant")[0]["options"]["schedule"] == "constant"


def test_json_on_standard_output_is_the_result_file(polykern, tmp_path):
    done = polykern("run", *SMALL, "--format", "json", "--out", "here")
    assert done.out == (tmp_path / "here/result.json").read_text()


def test_same_bits_for_any_threads_and_other_bits_for_another_seed(polykern, tmp_path):
    for threads in (1, 2, 7):
        assert polykern("run", *SMALL, "--threads", threads, "--out", f"t{threads}").code == 0
    assert without_timings(tmp_path / "t1") == without_timings(tmp_path / "t2")
    assert without_timings(tmp_path / "t1") == without_timings(tmp_path / "t7")
    assert polykern("run", *SMALL, "--seed", "1", "--out", "other").code == 0
    assert runs_of(tmp_path / "t1")[0]["fingerprint"] != runs_of(tmp_path / "other")[0]["fingerprint"]


def test_the_command_in_the_result_makes_it_again(polykern, tmp_path):
    assert polykern("run", *SMALL, "--exploration", "0.3", "--out", "my out").code == 0
    first = without_timings(tmp_path / "my out")
    command = json.loads((tmp_path / "my out/result.json").read_text())["command"]
    assert command.endswith("'my out'")
    assert polykern(*shlex.split(command)[1:]).code == 0
    assert without_timings(tmp_path / "my out") == first


def write_csv(path, rows=60, header="a,b,y,where", end="\n"):
    lines = [header] if header else []
    for i in range(rows):
        lines.append(f"{i % 7},{(i * 5) % 11},{(i * 3) % 13},{'north' if i % 2 else 'south'}")
    path.write_text(end.join(lines) + end, newline="")


def test_a_users_own_csv_with_sites(polykern, tmp_path):
    write_csv(tmp_path / "my.csv")
    done = polykern("run", "--data", "my.csv", "--target", "y", "--site", "where",
                    "-r", "1", "-M", "51", "--out", "o")
    assert done.code == 0, done.err
    assert "2 clients at 2 sites, 30 steps" in done.out
    assert '\na client for each value of "where", in the order of the file\n' in done.out
    assert "Columns not used" not in done.out
    done = polykern("run", "--data", "my.csv", "--target", "y", "--clients", "4", "-r", "1", "-M", "51")
    assert "Columns not used: where" in done.out
    data = json.loads((tmp_path / "o/result.json").read_text())["data"]
    assert data["sites"] == ["south", "north"] and data["rows"] == 60


def test_crlf_byte_order_mark_and_quotes_change_nothing(polykern, tmp_path):
    write_csv(tmp_path / "plain.csv")
    text = (tmp_path / "plain.csv").read_text()
    odd = '"a","b","y","where"\r\n' + "\r\n".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()[1:])
    (tmp_path / "odd.csv").write_bytes(b"\xef\xbb\xbf" + odd.encode())
    for name in ("plain", "odd"):
        done = polykern("run", "--data", f"{name}.csv", "--target", "y", "--site", "where",
                        "-k", "2", "-r", "1", "-M", "51", "--out", name)
        assert done.code == 0, done.err
    assert runs_of(tmp_path / "plain")[0]["fingerprint"] == runs_of(tmp_path / "odd")[0]["fingerprint"]


def test_rows_with_missing_cells_are_dropped_and_counted(polykern, tmp_path):
    (tmp_path / "na.csv").write_text("a,y\n1,2\nNA,3\n2,nan\ninf,1\n3,5\n4,7\n,2\n6,6\n")
    done = polykern("run", "--data", "na.csv", "--target", "y", "-k", "2", "-r", "1", "-M", "51")
    assert done.code == 0, done.err
    assert "4 rows, 4 more with missing cells skipped" in done.out


def test_settings_come_from_a_toml_file_and_the_command_line_wins(polykern, tmp_path):
    (tmp_path / "job.toml").write_text(
        'seed = 5\n[run]\nclients = 30\nsteps = 20\nrepetitions = 2\nkernels-per-upload = [1, 5]\n')
    assert polykern("run", "--config", "job.toml", "--steps", "10", "--out", "toml").code == 0
    assert polykern("run", "-k", 30, "-s", 10, "-r", 2, "-M", "1,5", "--seed", 5, "--out", "typed").code == 0
    assert without_timings(tmp_path / "toml") == without_timings(tmp_path / "typed")

    (tmp_path / "job.toml").unlink()  # the result carries all that the file said
    command = json.loads((tmp_path / "toml/result.json").read_text())["command"]
    assert polykern(*shlex.split(command)[1:]).code == 0
    assert without_timings(tmp_path / "toml") == without_timings(tmp_path / "typed")


def test_steps_without_participants_have_no_error(polykern, tmp_path):
    assert polykern("run", "-k", 3, "-s", 40, "-r", 1, "-a", "pof-mkl", "-M", 51, "--participation", 0.1, "--out", "o").code == 0
    (run,) = runs_of(tmp_path / "o")
    errors = run["curves"]["mse"]
    assert None in errors and 0 not in errors


@pytest.mark.skipif("POLYKERN_DATA" not in os.environ, reason="POLYKERN_DATA is not set")
def test_naval_by_name(polykern, tmp_path):
    done = polykern("run", "--data", "naval", "--data-dir", os.environ["POLYKERN_DATA"], "-a", "pof-mkl",
                    "-M", "25", "-r", "2", "--out", "here")
    assert done.code == 0, done.err
    assert "23 clients, 500 steps, 15 inputs; 11934 rows" in done.out
    assert 0.02 < runs_of(tmp_path / "here")[0]["mse"] < 0.03


DOCS = pathlib.Path(__file__).resolve().parents[2]
NOISE = (DOCS / "docs/understand/noise.md").read_text()
COLUMNS = {"naval": 0, "uji": 1, "air": 2, "air, 50 samples each": 3}
FEWER_SAMPLES = ["--clients", 2400, "--steps", 50]  # the same rows of ten times the clients


def documented(row, data):
    """What docs/understand/noise.md says of it: the mean of 20 draws, MSE x 1e-3."""
    (cells,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", NOISE, re.M)
    return cells.split("|")[COLUMNS[data]].split("+-")[0].strip()


def noisy_runs(polykern, folder, data, *more):
    done = polykern("run", "--data", data, "--data-dir", os.environ["POLYKERN_DATA"], "-r", 20, *more, "--out", "here", timeout=3000)
    assert done.code == 0, done.err
    return runs_of(folder / "here")


@pytest.mark.long
@pytest.mark.skipif("POLYKERN_DATA" not in os.environ, reason="POLYKERN_DATA is not set")
@pytest.mark.parametrize("data, more, share", [("naval", [], 1.02), ("uji", [], 1.02), ("air", [], 1.02),
                                               ("air, 50 samples each", FEWER_SAMPLES, 0.8)])
def test_with_noise_a_federation_is_as_good_as_staying_alone_and_better_with_few_samples(polykern, tmp_path, data, more, share):
    noisy, alone = noisy_runs(polykern, tmp_path, data.split(",")[0], "-a", "pof-gram,local-rls", "--epsilon", 1, *more)
    assert (noisy["options"]["epsilon"], noisy["options"]["delta"]) == (1, 1e-6)
    assert noisy["mse"] <= share * alone["mse"]
    assert f"{1e3 * noisy['mse']:.2f}" == documented("pof-gram", data)
    assert f"{1e3 * alone['mse']:.2f}" == documented("local-rls", data)


@pytest.mark.long
@pytest.mark.skipif("POLYKERN_DATA" not in os.environ, reason="POLYKERN_DATA is not set")
@pytest.mark.parametrize("data, bars", [("naval", {1: 10, 8: 3}), ("uji", {1: 28, 8: 21}), ("air", {1: 6.6, 8: 5.8})])
def test_with_noise_federated_experts_alone_are_better_than_the_paper_without(polykern, tmp_path, data, bars):
    runs = noisy_runs(polykern, tmp_path, data, "-a", "pof-gram,pof-mkl", "-M", 1, "--experts", "federated", "--epsilon", "1,2,8")
    plain = runs.pop()
    assert plain["algorithm"] == "pof-mkl"
    assert f"{1e3 * plain['mse']:.2f}" == documented("pof-mkl, not private, M = 1", data)
    for run, epsilon in zip(runs, [1, 2, 8], strict=True):
        assert 1e3 * run["mse"] <= bars.get(epsilon, bars[1]) < 1e3 * plain["mse"]
        assert f"{1e3 * run['mse']:.2f}" == documented(f"epsilon = {epsilon}", data)


def test_readme_says_of_noise_what_its_table_does():
    said = " ".join((DOCS / "README.md").read_text().split())
    noisy, plain = (float(documented(row, "naval")) for row in ("epsilon = 1", "pof-mkl, not private, M = 1"))
    assert f"On the Naval data, the error with epsilon = 1 is {noisy:.1f}; the published algorithm, with no privacy at all, has {plain:.1f}:" in said


def test_the_naive_errors_stand_below_the_table_and_say_if_nothing_beats_them(polykern, tmp_path):
    done = polykern("run", *SMALL, "-a", "local", "--out", "here")
    (run,) = runs_of(tmp_path / "here")
    assert (f"Naive: last label {1e3 * run['last_label_mse']:.2f}, running mean "
            f"{1e3 * run['running_mean_mse']:.2f} (MSE x 1e-3).\n") in done.out
    (row,) = [line.split() for line in done.out.splitlines() if line.startswith("local ")]
    assert f"{run['skill']:.3f}" in row
    # A slow walk, which the last label follows and the inputs say nothing about.
    (tmp_path / "walk.csv").write_text("x,y\n" + "".join(f"{i * 37 % 101},{i}\n" for i in range(200)))
    args = ["run", "--data", "walk.csv", "--target", "y", "-a", "local", "-r", "1"]
    assert "No algorithm beats the last label; try --lags 1.\n" in polykern(*args).out
    assert "try --lags" not in polykern(*args, "--lags", "1").out


def test_predictions_are_in_the_targets_own_unit_with_intervals_that_cover(polykern, tmp_path):
    lines = [f"2026-11-{1 + i // 24:02d} {i % 24:02d}:00,{name},{i * 37 % 101},{500 + 3 * (i * 37 % 101) + i * 7 % 40}"
             for i in range(300) for name in ("Ann, A.", "bob")]
    (tmp_path / "my.csv").write_text("when,who,x,y\n" + "".join(
        line.replace("Ann, A.", '"Ann, A."') + "\n" for line in lines))
    args = ["run", "--data", "my.csv", "--target", "y", "--client", "who", "--time", "when", "-r", "2", "-M", "1"]
    done = polykern(*args, "-a", "pof-newton", "--coverage", "0.8", "--predictions", "p.csv", "--out", "o")
    assert (done.code, done.err) == (0, "")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["time", "client", "label", "prediction", "low", "high"]
    assert len(rows) == 600
    assert (rows[2]["time"], rows[2]["client"]) == ("2026-11-01 01:00", "Ann, A.")
    assert (rows[0]["low"], rows[1]["high"]) == ("", "")
    assert float(rows[2]["label"]) == pytest.approx(500 + 3 * 37 + 7)
    within = [float(row["low"]) <= float(row["label"]) <= float(row["high"]) for row in rows[2:]]
    assert 0.77 < sum(within) / len(within) < 0.83
    (run,) = runs_of(tmp_path / "o")
    assert run["coverage"] == pytest.approx(0.8, abs=0.03)
    assert f"{100 * run['coverage']:.1f} % of the labels are within them" in done.out
    assert run["client_scores"]["names"] == ["Ann, A.", "bob"]
    done = polykern(*args[:-1], "25", "-a", "local,pof-mkl", "--predictions", "p.csv")
    assert done.code == 0, done.err
    head = (tmp_path / "p.csv").read_text().splitlines()
    assert head[0] == "algorithm,kernels_per_upload,time,client,label,prediction"
    assert len(head) == 1 + 2 * 600 and head[1].startswith("local,,2026-11-01 00:00,") and head[-1].startswith("pof-mkl,25,")
    assert not list(tmp_path.glob("*.part"))

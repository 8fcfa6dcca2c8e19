"""polykern bench, as a user types it; with slices so short that only the sense of it is tested."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/pof_mkl_numpy.py"
needs_numpy = pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="NumPy is not installed")

needs_optimised = pytest.mark.skipif(os.environ.get("POLYKERN_OPTIMISED") != "1",
                                     reason="speed and memory mean nothing in a Debug build")


def bench(polykern, *arguments, seconds=0.02):
    done = polykern("bench", "--seconds", seconds, "--format", "json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_every_setting_has_its_sizes_and_sane_figures(polykern):
    result = bench(polykern, "--settings", "all")
    assert result["machine"]["threads"] >= 1 and result["machine"]["target"]
    sizes = {row["setting"]: [row[field] for field in
                              ("dimension", "kernels", "features", "kernels_per_upload", "clients")]
             for row in result["settings"]}
    assert sizes == {"naval": [15, 51, 100, 1, 23], "air": [14, 51, 100, 1, 240],
                     "wec": [48, 51, 100, 1, 560], "wec-20": [48, 51, 20, 25, 560],
                     "wec-9": [48, 51, 9, 51, 560]}
    for row in result["settings"]:
        for field in """microseconds_per_sample microseconds_per_sample_all_threads gflops peak_gflops
                sincos_nanoseconds client_rounds_per_second""".split():
            assert row[field] > 0, field
        # Nothing dense can be below the floor; half of it leaves room for a disturbed measurement.
        assert row["ours_to_floor"] > 0.5
        flops = row["kernels"] * row["features"] * (2 * row["dimension"] + 4)
        assert row["gflops"] == pytest.approx(flops / row["microseconds_per_sample"] / 1e3)
        assert row["gflops"] < 2 * row["peak_gflops"]
        pairs = row["kernels"] * row["features"]
        assert row["floor_microseconds"] == pytest.approx(
            1e-3 * (flops / row["peak_gflops"] + pairs * row["sincos_nanoseconds"]))
    (line,) = result["left_out"]
    assert "uji" in line and "polykern data get uji" in line
    assert result["newton"]["server_to_floor"] > 0.5
    lines = result["gram"]["algorithms"]
    assert [(line["algorithm"], line["clients"]) for line in lines] == [
        ("pof-newton", 240), ("pof-gram", 240), ("pof-gram", 960), ("fed-poe", 240)]
    assert result["gram"]["steps"] == 20
    for line in lines:
        assert line["server_microseconds_per_step"] == pytest.approx(
            line["clients"] * line["message_microseconds"] + line["commit_microseconds"])
        assert line["client_microseconds_per_step"] > 0


def test_the_table_names_its_columns_and_its_machine(polykern):
    done = polykern("bench", "--settings", "naval", "--seconds", "0.01", "--threads", "1")
    assert done.code == 0, done.err
    assert done.out.startswith("setting") and "ours/floor" in done.out.splitlines()[0]
    assert "GFLOP/s at most on one core" in done.out and "1 thread." in done.out
    assert "FLUTE" in done.out and "Flower" in done.out
    done = polykern("bench", "--settings", "naval", "--seconds", "0.01", "--format", "markdown")
    assert done.out.startswith("| setting | d |") and "\n| --- |" in done.out
    done = polykern("bench", "--settings", "gram", "--seconds", "0.01", "--format", "markdown")
    assert done.out.startswith("| algorithm | clients | client-step us |") and "\n| fed-poe | 240 |" in done.out


@pytest.mark.long
@needs_numpy
def test_numpy_gets_the_same_error_on_the_same_samples(polykern):
    result = bench(polykern, "--settings", "naval,wec-20,wec-9", "--numpy", "--python", sys.executable,
                   seconds=0.3)
    assert len(result["settings"]) == 3
    for row in result["settings"]:
        numpy = row["numpy"]
        assert numpy["steps"] >= 1 and 0 < numpy["mse"] < 1
        # Same rows, frequencies and draws; ours has single-precision features (6e-8, and sums of 2D).
        assert numpy["mse"] == pytest.approx(numpy["engine_mse"], rel=1e-5)
        assert numpy["to_ours"] == pytest.approx(
            numpy["microseconds_per_sample"] / row["microseconds_per_sample"])
    # The first step predicts 0 whatever the algorithm; it is the later ones that compare it.
    assert result["settings"][0]["numpy"]["steps"] > 3


@needs_numpy
@needs_optimised
def test_numpy_takes_more_than_ten_times_as_long(polykern):
    (row,) = bench(polykern, "--settings", "wec-20", "--numpy", "--python", sys.executable,
                   seconds=0.3)["settings"]
    assert row["numpy"]["to_ours"] > 10


@needs_numpy
def test_the_numpy_program_runs_on_its_own():
    done = subprocess.run([sys.executable, SCRIPT, "-d", "3", "-N", "5", "-D", "4", "-M", "2", "-K", "6",
                           "--steps", "30", "--exploration", "0.5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["steps"] == 30 and 0 < result["mse"] < 1 and result["microseconds_per_sample"] > 0


@pytest.mark.long
@needs_optimised
def test_growth_has_every_parameter_and_memory_per_client_falls_to_the_private_state(polykern):
    result = bench(polykern, "--settings", "naval", "--growth")
    assert sorted(result["growth"]) == ["D", "K", "N", "d"]
    for points in result["growth"].values():
        for point in points:
            assert point["microseconds_per_sample"] > 0 and point["to_base"] > 0 and point["bytes"] > 0
    # 51 cumulative losses and 51 scores of 8 bytes each, and the totals; the shared model spreads thin.
    assert 2 * 51 * 8 < result["growth"]["K"][-1]["bytes_per_client"] < 1000
    # More than twenty times the features cost more: below that, noise could hide it.
    assert result["growth"]["D"][-1]["to_base"] > result["growth"]["D"][0]["to_base"]


def test_many_clients_cost_what_few_do(polykern):
    fleet = bench(polykern, "--clients", "30000", "--steps", "3")["fleet"]
    assert (fleet["clients"], fleet["steps"], fleet["few_clients"]) == (30000, 3, 10000)
    assert fleet["ratio"] == pytest.approx(
        fleet["microseconds_per_client_step"] / fleet["few_microseconds_per_client_step"])
    assert 0 < fleet["reading_microseconds"] < 2 * fleet["microseconds_per_client_step"]
    assert 0.2 < fleet["ratio"] < 5  # a disturbed machine; anything quadratic would be far outside


@pytest.mark.parametrize("arguments, code, words", [
    (["--settings", "navel"], 2, ["--settings", "navel"]),
    (["--seconds", "0"], 2, ["--seconds"]),
    (["--seconds", "long"], 2, ["--seconds", "long"]),
    (["--format", "xml"], 2, ["--format", "xml"]),
    (["--threads", "-1"], 2, ["--threads"]),
    (["--clients", "0"], 2, ["--clients", "at least 1"]),
    (["--steps", "5"], 2, ["--steps", "--clients"]),
    (["--clients", "5", "--numpy"], 2, ["--clients", "--numpy"]),
    (["--numpy", "extra"], 2, ["extra"]),
])
def test_a_wrong_command_line_gets_one_clear_line(polykern, arguments, code, words):
    done = polykern("bench", *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.count("\n") == 1 and done.err.startswith("polykern: "), done.err
    for word in words:
        assert word in done.err

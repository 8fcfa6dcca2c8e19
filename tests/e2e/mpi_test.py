"""polykern run and reproduce under mpirun: the same bits for any number of ranks."""

import os
import shutil
import signal
import subprocess
import time

import pytest
import ranks
from results import without_timings

pytestmark = pytest.mark.skipif(
    os.environ.get("POLYKERN_MPI") != "1" or shutil.which("mpirun") is None,
    reason="built without MPI, or mpirun is not installed")

SMALL = ["--steps", "12", "--repetitions", "1", "--kernels", "9", "--features", "6", "--budget", "400"]
# Long enough to be killed on the way: repetitions of a third of a second each.
LONG = ["run", "--clients", "400", "--steps", "200", "--repetitions", "8", "-a", "pof-mkl", "-M", "1",
        "--threads", "1"]


def alone(folder, *arguments):
    done = subprocess.run([os.environ["POLYKERN"], *map(str, arguments), "--out", "alone"], cwd=folder,
                          env=ranks.environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return without_timings(folder / "alone")


def broken_gpus(folder):
    """GPUs that compute nothing (broken_gpu.cc)."""
    libraries = folder / "libraries"
    libraries.mkdir()
    for name in ("libcuda.so.1", "libnvrtc.so.12"):
        (libraries / name).symlink_to(os.environ["POLYKERN_BROKEN_GPU"])
    return libraries


def together(folder, count, *arguments, launch=()):
    folder_name = f"ranks{len(list(folder.iterdir()))}"
    code, text, err = ranks.finish(
        ranks.start(folder, count, *arguments, "--out", folder_name, launch=launch), timeout=240)
    assert code == 0, err
    return without_timings(folder / folder_name), text


# Neither 2, 3 nor 5 divides 67; 3 are fewer than 5 ranks.
@pytest.mark.parametrize("clients", [67, pytest.param(3, marks=pytest.mark.long)])
def test_every_algorithm_gives_the_same_bits_on_any_ranks_and_threads(tmp_path, clients):
    settings = ["run", "--clients", clients, *SMALL, "--participation", "0.8"]
    expected = alone(tmp_path, *settings, "--threads", 1)
    assert len({run["algorithm"] for run in expected["runs"]}) == 13
    for count, threads in ((1, 2), (2, 1), (2, 2), (3, 1), (5, 2)):
        # One group: the clients of every run are spread over all ranks.
        result, text = together(tmp_path, count, *settings, "--threads", threads, "--rank-groups", 1)
        assert result == expected, (count, threads)
        assert text.count("Written: ") == 1  # rank 0 alone speaks
        assert (f", {count} ranks" in text) == (count > 1)


@pytest.mark.parametrize("weights", [pytest.param("reset", marks=pytest.mark.long), "carried"])
def test_repetitions_may_be_spread_over_groups_of_ranks(tmp_path, weights):
    settings = ["run", "--clients", 40, *SMALL, "-a", "pof-mkl,pof-newton", "-M", 2,
                "--weights", weights]
    settings[settings.index("--repetitions") + 1] = 3
    expected = alone(tmp_path, *settings)
    for count, groups in ((2, 2), (3, 0), (4, 2), (4, 1)):
        result, _ = together(tmp_path, count, *settings, "--rank-groups", groups, "--threads", 1 + groups % 2)
        assert result == expected, (count, groups)


def test_rows_of_a_file_are_dealt_alike_on_all_ranks(tmp_path):
    with open(tmp_path / "my.csv", "w") as file:
        file.write("who,a,b,y\n")
        for i in range(500):
            file.write(f"c{i * i % 7},{i % 13},{i * i % 17},{i % 13 + i * i % 17 % 5}\n")
    for split in (["--client", "who"], ["--split", "iid", "--clients", "11"]):
        settings = ["run", "--data", "my.csv", "--target", "y", *split, "-a", "pof-mkl,ofskl,pof-newton",
                    "-M", 2, "-r", 1, "--kernels", 9, "--features", 6, "--budget", 400]
        expected = alone(tmp_path, *settings)
        for count in (2, 5):
            assert together(tmp_path, count, *settings, "--rank-groups", 1)[0] == expected


def test_a_diverging_run_says_so_once_and_alike(tmp_path):
    settings = ["run", "--clients", 40, *SMALL, "-a", "pof-mkl", "-M", 1, "--learning-rate", 500, "--out", "o"]
    one = subprocess.run([os.environ["POLYKERN"], *map(str, settings)], cwd=tmp_path, capture_output=True,
                         text=True, env=ranks.environment())
    expected = without_timings(tmp_path / "o")
    shutil.rmtree(tmp_path / "o")
    code, _, err = ranks.finish(ranks.start(tmp_path, 3, *settings))
    assert (one.returncode, code) == (1, 1)
    assert err.count("diverged at step") == 1 and one.stderr.strip() in err
    assert "MPI_ABORT" not in err  # all know, so nobody is killed: Open MPI's mpirun may crash when it has to
    assert without_timings(tmp_path / "o") == expected


def sends(text, algorithm):
    (line,) = [line for line in text.splitlines() if line.startswith(algorithm + " ")]
    number, unit = line.split()[-2:]
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


def test_what_a_rank_sends_in_a_step_does_not_depend_on_the_clients(tmp_path):
    settings = ["run", "-a", "pof-mkl,pof-newton", "--steps", 5, "-r", 1, "-M", 1, "--kernels", 9,
                "--features", 50, "--rank-groups", 1, "--clients"]
    few = together(tmp_path, 2, *settings, 10)[1]
    many = together(tmp_path, 2, *settings, 1000)[1]
    # The exact sums of 9 kernels with 100 numbers, two sums of doubles, participants, failures.
    numbers = 9 * 100 + 2 * 68 + 2
    assert sends(few, "pof-mkl") == sends(many, "pof-mkl") == pytest.approx(8 * numbers, rel=0.01)
    # pof-newton's messages go to their kernels: half of them to the other rank.
    assert sends(many, "pof-newton") == pytest.approx(500 * 404 / 2 + 8 * 138, rel=0.25)


def partial(folder, count):
    """The repetitions kept so far, once there are so many."""
    kept = list((folder / "o" / "partial").glob("*.json")) if (folder / "o" / "partial").exists() else []
    return kept if len(kept) >= count else None


@pytest.fixture(scope="module")
def long_alone(tmp_path_factory):
    return alone(tmp_path_factory.mktemp("alone"), *LONG)


@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_is_killed_ends_the_run_which_can_be_resumed(tmp_path, long_alone, rank):
    settings = [*LONG, "--out", "o"]
    run = ranks.start(tmp_path, 3, *settings)
    ranks.wait_for(lambda: partial(tmp_path, 2))
    victim = ranks.wait_for(lambda: ranks.workers(tmp_path).get(rank))
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    code, _, err = ranks.finish(run)
    assert time.monotonic() - killed < 10
    assert code == 1
    assert f"polykern: rank {rank} on " in err and "signal 9 (Killed)" in err
    assert not (tmp_path / "o" / "result.json").exists()
    kept = len(partial(tmp_path, 2))
    code, _, err = ranks.finish(ranks.start(tmp_path, 2, *settings))
    assert code == 0, err
    assert f"polykern: {kept} of 8 repetitions already finished; reused\n" in err
    assert not (tmp_path / "o" / "partial").exists()
    assert without_timings(tmp_path / "o") == long_alone


def test_a_rank_that_is_killed_ends_the_run_where_the_hosts_name_does_not_resolve(tmp_path):
    nameless = ["unshare", "--uts", "sh", "-c", 'hostname nowhere.invalid && exec "$@"', "sh"]
    probe = subprocess.run([*nameless, "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"the host cannot be given another name here: {probe.stderr}")
    run = ranks.start(tmp_path, 3, *LONG, "--out", "o", wrapper=nameless)
    ranks.wait_for(lambda: partial(tmp_path, 1))
    os.kill(ranks.wait_for(lambda: ranks.workers(tmp_path).get(1)), signal.SIGKILL)
    code, _, err = ranks.finish(run, timeout=10)
    assert code == 1
    assert "polykern: rank 1 on nowhere.invalid was killed by signal 9 (Killed)" in err


@pytest.mark.parametrize("weights", ["reset", pytest.param("carried", marks=pytest.mark.long)])
def test_a_run_without_mpirun_resumes_from_the_last_finished_repetition_too(tmp_path, weights):
    settings = [*LONG, "--weights", weights, "--participation", "0.9"]
    command = [os.environ["POLYKERN"], *settings, "--out", "o"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ranks.wait_for(lambda: partial(tmp_path, 2))
    run.kill()
    run.communicate()
    kept = len(partial(tmp_path, 2))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        0, f"polykern: {kept} of 8 repetitions already finished; reused\n")
    assert without_timings(tmp_path / "o") == alone(tmp_path, *settings)
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (0, "")  # a finished run leaves nothing to go on from


def test_a_rank_without_memory_ends_the_run_with_its_name(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && ulimit -v 900000\n"
                       f"exec {os.environ['POLYKERN']} \"$@\"\n")
    program.chmod(0o755)
    run = ranks.start(tmp_path, 2, "run", "--clients", 4_000_000, "--steps", 2, "-r", 1, "-a", "pof-mkl",
                      "-M", 1, "--out", "o", program=str(program))
    code, _, err = ranks.finish(run)
    assert code == 1
    assert "polykern: rank 1 on " in err and ": out of memory; lower --clients" in err
    assert not (tmp_path / "o" / "result.json").exists()


@pytest.mark.parametrize("gpus, opened", [(2, "0 1"), (1, "0 0")])
def test_each_rank_has_a_gpu_of_its_own_if_there_are_enough(tmp_path, gpus, opened):
    libraries = broken_gpus(tmp_path)
    run = ranks.start(tmp_path, 2, "run", *SMALL, "-a", "ofmkl-avg", "--device", "gpu",
                      launch=[word for variable in (
                          f"LD_LIBRARY_PATH={libraries}", "XDG_CACHE_HOME=", "HOME=", f"POLYKERN_BROKEN_GPUS={gpus}",
                          f"POLYKERN_BROKEN_LOG={tmp_path / 'log'}") for word in ("-x", variable)])
    code, out, err = ranks.finish(run)
    said = [line for line in err.splitlines() if line.startswith("polykern: ")]
    assert (code, out) == (1, "")
    assert sorted((tmp_path / "log").read_text().split()) == opened.split()
    assert [line for line in said if "share" in line] == (
        [] if gpus == 2 else ["polykern: note: 2 ranks share 1 GPU, and take turns on it: start one rank for each"])
    assert len([line for line in said if "NVRTC cannot compile" in line]) == len(said) - (gpus == 1) == 1


def test_mistakes_are_told_once(tmp_path):
    code, _, err = ranks.finish(ranks.start(tmp_path, 3, "run", "--data", "no.csv", "--target", "y"))
    assert (code, err.count("polykern: no.csv: there is no such file")) == (1, 1)
    assert err.count("polykern: ") == 1
    code, _, err = ranks.finish(ranks.start(tmp_path, 3, "run", "--clients", "many"))
    assert (code, err.count("polykern: ")) == (2, 1)
    code, _, err = ranks.finish(ranks.start(tmp_path, 2, "data", "list"))
    assert (code, err.count("start polykern data without it")) == (1, 1)
    code, out, _ = ranks.finish(ranks.start(tmp_path, 2, "--version"))
    assert (code, out.count("polykern ")) == (0, 1)
    code, _, err = ranks.finish(ranks.start(tmp_path, 4, "run", *SMALL, "--rank-groups", "3"))
    assert (code, err.count("--rank-groups is 3, which does not divide 4 ranks")) == (1, 1)


def test_ranks_with_different_command_lines_are_refused(tmp_path):
    polykern = os.environ["POLYKERN"]
    done = subprocess.run([*ranks.MPIRUN, "-n", "1", polykern, "run", *SMALL, ":", "-n", "1", polykern, "run",
                           *SMALL, "--seed", "1"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env=ranks.environment())
    assert (done.returncode, done.stderr.count("different command lines")) == (1, 1)


def test_ranks_keep_the_contract_of_every_communicator(tmp_path):
    for count in (1, 2, 4):
        done = subprocess.run(
            [*ranks.MPIRUN, "-n", str(count), os.environ["POLYKERN_SIM_TEST"], "--gtest_filter=*EveryCommunicator.*",
             "--gtest_brief=1", "--gtest_color=no"],
            cwd=tmp_path, env=ranks.environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        cases = 8 if count > 1 else 48
        assert done.stdout.count(f"{cases} tests from 1 test suite ran") == count, done.stdout

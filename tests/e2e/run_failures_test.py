"""polykern run with what it cannot use, or where it cannot write: one line, and nothing half done."""

import os
import resource
import signal

import pytest
from results import SMALL, runs_of


@pytest.mark.parametrize("text, said", [
    ("clients = 3\nstep = 9", """job.toml, line 2: 'step' is not an option of polykern run; did you mean "steps"? (see: polykern run --help)"""),
    ("clients = 3\nsteps = -3", "job.toml, line 2: --steps: '-3' is not"),
    ("steps = 9 x", "job.toml, line 1: invalid TOML; write a line as option = value, with texts in quotes (expected a comment or whitespace, saw 'x')"),
    ("steps = 9\nsteps = 8", "job.toml, line 2: invalid TOML; write a line as option = value, with texts in quotes (cannot redefine existing integer 'steps'"),
    ("[$]", "job.toml"),
])
def test_a_mistake_in_a_toml_file_is_told_with_its_line(polykern, tmp_path, text, said):
    (tmp_path / "job.toml").write_text(text)
    done = polykern("run", "--config", "job.toml")
    assert (done.code, done.err.count("\n")) == (2, 1) and done.err.startswith(f"polykern: {said}")


def test_a_toml_file_that_cannot_be_read_says_why(polykern, tmp_path):
    (tmp_path / "folder").mkdir()
    assert polykern("run", "--config", "none.toml").err == "polykern: none.toml: there is no such file; check the path\n"
    assert "polykern: folder: cannot be read (Is a directory); check" in polykern("run", "--config", "folder").err


@pytest.mark.parametrize("arguments, code, words", [
    ([], 2, ["commands are", "run"]),
    (["frobnicate"], 2, ["no command 'frobnicate'"]),
    (["run", "--bogus"], 2, ["not expected: --bogus (see: polykern run --help)"]),
    (["run", "--step", "10"], 2, ['not expected: --step 10; did you mean "--steps"? (see: polykern run --help)']),
    (["run", "more", "--sed=4"], 2, ['not expected: more --sed=4; did you mean "--seed"? (see']),
    (["data", "scan", "--targt", "y", "good.csv"], 2, ['not expected: --targt; did you mean "--target"?']),
    (["repport"], 2, ["no command 'repport'; did you mean \"report\"? (see: polykern --help)"]),
    (["--data", "good.csv"], 2, ["not expected: --data good.csv; a command comes first, as in: polykern run --data (see"]),
    (["--versoin"], 2, ['not expected: --versoin; did you mean "--version"?']),
    (["run", "--data", "nothere.csv", "--target", "y"], 1, ["nothere.csv", "no such file"]),
    (["run", "--data", "empty.csv", "--target", "y"], 1, ["empty.csv", "empty"]),
    (["run", "--data", "header.csv", "--target", "y"], 1, ["header.csv", "no row"]),
    (["run", "--data", "ragged.csv", "--target", "y"], 1, ["ragged.csv, line 3", "2 found"]),
    (["run", "--data", "text.csv", "--target", "y"], 1, ["text.csv, line 3", '"b"', '"x5"']),
    (["run", "--data", "na.csv", "--target", "y", "--missing", "error"], 1, ["na.csv, line 3", '"b"', "NA"]),
    (["run", "--data", "good.csv", "--target", "z"], 1, ["good.csv", '"z"', '"y"']),
    (["run", "--data", "good.csv"], 1, ["target", '"a", "b", "y"']),
    (["run", "--data", "good.csv", "--target", "y", "-k", "3", "-s", "3"], 1, ["2 rows", "--steps is 3", "at most 2"]),
    (["run", "--data", "good.csv", "--target", "y", "--split", "iid", "-k", "3", "-s", "3"], 1,
     ["4 rows", "9", "--steps", "--clients"]),
    (["run", "--data", "good.csv", "--target", "y", "--time", "a", "--calendar", "hour"], 1, ["--calendar needs dates"]),
    (["run", "--data", "good.csv", "--target", "y", "--lags", "0"], 2, ["--lags"]),
    (["run", "--data", "good.csv", "--target", "y", "--lags", "9"], 1, ["--lags has 9", "4 rows"]),
    (["run", "--data", "good.csv", "--target", "y", "--calendar", "moon"], 1, ["moon", "hour, weekday, month"]),
    (["run", "--data", "good.csv", "--target", "y", "--ahead", "0"], 2, ["--ahead"]),
    (["run", "--data", "good.csv", "--target", "y", "--ahead", "soon"], 2, ["--ahead"]),
    (["run", "--data", "good.csv", "--target", "y", "--ahead", "9"], 1, ["--ahead is 9", "4 rows"]),
    (["run", "--data", "good.csv", "--target", "y", "--ahead", "2", "--lags", "1"], 1,
     ["--lags has 1", "not known 2 steps ahead", "at least 2"]),
    (["run", "--ahead", "2"], 1, ["--ahead has no effect with --data synthetic"]),
    (["run", "--lags", "1"], 1, ["--lags has no effect with --data synthetic"]),
    (["run", "--data", "constant.csv", "--target", "y"], 1, ["constant.csv", "y", "3", "another target"]),
    (["run", "--data", "navel"], 1, ["navel", "naval"]),
    (["run", "--data", "naval", "--data-dir", "nowhere"], 1, ["nowhere/naval/data.txt", "polykern data get naval --data-dir nowhere"]),
    (["run", "-M", "52"], 1, ["--kernels-per-upload is 52", "51"]),
    (["run", "-M", "51", "--budget", "100"], 1, ["102", "100", "--budget"]),
    (["run", "-M", "5", "--features", "101"], 1, ["--features is 101", "100"]),
    (["run", "-a", "vm-kofl", "--features", "10"], 1, ["--features is 10", "51 losses", "allows 9"]),
    (["run", "-a", "perfedavg", "--budget", "10"], 1, ["--budget is 10", "11 numbers", "8 inputs"]),
    (["run", "-a", "pof-newton", "--ridge", "0"], 1, ["--ridge is 0", "above 0"]),
    (["run", "-a", "pof-newton", "--forgetting", "1.5"], 1, ["--forgetting is 1.5", "(0, 1]"]),
    (["run", "-a", "pof-gram", "--forgetting", "0"], 2, ["--forgetting", "'0' is neither auto nor a number above 0"]),
    (["run", "-a", "pof-newton", "--server-memory", "8"], 1, ["--server-memory is 8", "9 MiB", "--features"]),
    (["run", "-a", "pof-newton", "--loss", "huber"], 1, ["--loss", "pof-newton"]),
    (["run", "--experts", "local"], 2, ["--experts", "federated, federated,local"]),
    (["run", "-a", "local-rls", "--local-memory", "2"], 1, ["--local-memory is 2", "--kernels"]),
    (["run", "-a", "fomd-oms", "--kernels", "1"], 1, ["--kernels is 1", "fomd-oms"]),
    (["run", "--meta-rate", "0"], 1, ["--meta-rate is 0", "above 0"]),
    (["run", "--exploration", "0"], 1, ["--exploration is 0", "(0, 1]"]),
    (["run", "--exploration", "1.5"], 1, ["--exploration is 1.5"]),
    (["run", "--exploration", "abc"], 2, ["--exploration", "abc"]),
    (["run", "--clients", "0"], 2, ["--clients", "at least 1"]),
    (["run", "--clients", "-5"], 2, ["--clients", "-5"]),
    (["run", "--steps", "1.5"], 2, ["--steps", "1.5"]),
    (["run", "--repetitions", "0"], 2, ["--repetitions", "at least 1"]),
    (["run", "--learning-rate", "-1"], 1, ["--learning-rate is -1", "above 0"]),
    (["run", "--learning-rate", "0"], 1, ["--learning-rate is 0"]),
    (["run", "--weight-rate", "nan"], 1, ["--weight-rate"]),
    (["run", "--schedule", "fast"], 2, ["--schedule", "fast"]),
    (["run", "--participation", "2"], 1, ["--participation is 2"]),
    (["run", "--coverage", "0"], 1, ["--coverage is 0;", "0.9"]),
    (["run", "--coverage", "1"], 1, ["--coverage is 1;", "0.9"]),
    (["run", "--coverage", "90"], 1, ["--coverage is 90;", "0.9"]),
    (["run", "--predictions", "no/such/file.csv"], 1, ["no/such/file.csv"]),
    (["run", "--algorithm", "foo"], 1, ["foo", "pof-mkl"]),
    (["run", "--dictionary", "foo"], 1, ["foo", "gaussian"]),
    (["run", "--split", "foo"], 1, ["foo", "column"]),
    (["run", "--config", "nofile.toml"], 2, ["nofile.toml"]),
    (["run", "--config", "bad.toml"], 2, ["bad.toml, line 2"]),
    (["run", "--config", "unknown.toml"], 2, ["unknown.toml, line 2", "stepps", 'did you mean "steps"?']),
    (["run", "-k", "3", "-s", "5", "-r", "1", "--participation", "1e-9"], 1, ["--participation"]),
    (["run", "--threads", "100000"], 2, ["--threads", "1024"]),
    (["run", "--data", "good.csv", "--target", "y", "--range", "a=0:5x", "--scaling", "range"], 1, ["a=0:5x", "LOW:HIGH"]),
    (["run", "--data", "good.csv", "--target", "y", "--range", "a=0:5"], 1, ['"a"', "--scaling range"]),
    (["run", "--data", "good.csv", "--target", "y", "--inputs", "a", "--exclude", "a"], 1, ['"a"', "--exclude"]),
    (["run", "--data", "good.csv", "--target", "y", "--noise", "1"], 1, ["--noise", "good.csv"]),
    (["run", "--target", "y"], 1, ["--target", "synthetic"]),
    (["run", "--data", "naval", "--inputs", "a"], 1, ["--inputs", "naval"]),
    (["run", "--algorithm", "all,foo"], 1, ["foo"]),
    (["run", "--data", "wide.csv", "--target", "y"], 1, ["wide.csv", '"y"', "too wide"]),
    (["run", "--config"], 2, ["--config", "TOML"]),
    (["run", "--out", "good.csv"], 1, ["good.csv", "--out"]),
])
def test_bad_input_gets_one_clear_line(polykern, tmp_path, arguments, code, words):
    for name, text in {
        "empty.csv": "",
        "header.csv": "a,b,y\n",
        "ragged.csv": "a,b,y\n1,2,3\n4,5\n",
        "text.csv": "a,b,y\n1,2,3\n4,x5,6\n",
        "na.csv": "a,b,y\n1,2,3\n4,NA,6\n",
        "good.csv": "a,b,y\n1,2,3\n4,5,6\n7,8,1\n2,2,2\n",
        "constant.csv": "a,b,y\n1,2,3\n4,5,3\n7,8,3\n2,2,3\n",
        "wide.csv": "a,y\n1,-1.7e308\n2,1.7e308\n3,0\n",
        "bad.toml": "clients = 4\nsteps = = 3\n",
        "unknown.toml": "clients = 4\nstepps = 3\n",
    }.items():
        (tmp_path / name).write_text(text)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = polykern(*arguments)
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1 and done.err.startswith("polykern: "), done.err
    for word in words:
        assert word in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_diverging_run_says_where_and_keeps_what_it_had(polykern, tmp_path):
    done = polykern("run", "-k", "10", "-s", "50", "-r", "2", "-a", "pof-mkl", "-M", "1,51",
                    "--learning-rate", "8", "--out", "here")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "diverged at step" in done.err and "--learning-rate" in done.err
    runs = runs_of(tmp_path / "here")
    (wild,) = [run for run in runs if "diverged" in run][:1]
    assert len(wild["curves"]["mse"]) == wild["diverged"]["step"] - 1 > 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(polykern, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    done = polykern("run", *SMALL, "--out", "locked/inner")
    assert done.code == 1 and "locked/inner" in done.err


def test_a_full_disk_leaves_no_half_file(polykern, tmp_path):
    def no_room():  # files may not grow past 1000 bytes; writing then fails as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = polykern("run", *SMALL, "--out", "here", preexec_fn=no_room)
    assert done.code == 1 and "cannot write 'here/" in done.err and done.err.count("\n") == 1
    assert not any(path.is_file() for path in (tmp_path / "here").rglob("*"))


@pytest.mark.parametrize("arguments", [["run", *SMALL], ["run", *SMALL, "--format", "json"], ["--help"]])
def test_lost_output_is_a_failure(polykern, arguments):
    with open("/dev/full", "w") as full:
        done = polykern(*arguments, stdout=full)
    assert done.code == 1 and "standard output" in done.err

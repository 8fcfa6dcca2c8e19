"""polykern run with lists of numbers: a row each."""

import json

import pytest

SMALL = ["run", "-k", 5, "-s", 20, "-r", 1, "-N", 5, "-D", 4]


def rows_of(done):
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)["runs"]


def test_two_lists_make_the_product_of_both_and_each_row_is_that_of_its_own_run(polykern):
    rows = rows_of(polykern(*SMALL, "-a", "pof-newton", "-M", "1,2", "--forgetting", "0.9,auto", "--format", "json"))
    told = [(row["kernels_per_upload"], row["options"]["forgetting"]) for row in rows]
    assert told == [(1, 0.9), (1, "auto"), (2, 0.9), (2, "auto")]
    for row, (kernels, forgetting) in zip(rows, told):
        (alone,) = rows_of(polykern(*SMALL, "-a", "pof-newton", "-M", kernels, "--forgetting", forgetting,
                                    "--format", "json"))
        assert alone["fingerprint"] == row["fingerprint"]
    assert len({row["fingerprint"] for row in rows}) == 4


def test_an_algorithm_has_rows_only_for_what_it_uses_and_may_have_values_of_its_own(polykern):
    rows = rows_of(polykern(*SMALL, "-a", "pof-mkl,pof-newton,ofskl", "-M", "3,pof-newton=1,pof-newton=2",
                            "--learning-rate", "0.1,0.2", "--format", "json"))
    told = [(row["algorithm"], row["kernels_per_upload"], row["options"]["learning_rate"]) for row in rows]
    assert told == [("pof-mkl", 3, 0.1), ("pof-mkl", 3, 0.2), ("pof-newton", 1, None), ("pof-newton", 2, None),
                    ("ofskl", 1, 0.1), ("ofskl", 1, 0.2)]


def test_table_and_predictions_tell_rows_apart_by_what_varies(polykern, tmp_path):
    done = polykern(*SMALL[:-2], "-a", "pof-mkl,local-rls", "-M", 1, "-D", "4,6", "--learning-rate", "0.1,0.25",
                    "--predictions", "p.csv")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    (head,) = [i for i, line in enumerate(lines) if line.startswith("algorithm ")]
    assert lines[head].split()[:6] == ["algorithm", "M", "D", "learning", "rate", "MSE"]
    cells = [line.split()[:4] for line in lines[head + 2:head + 8]]
    assert cells == [["pof-mkl", "1", "4", "0.1"], ["pof-mkl", "1", "4", "0.25"], ["pof-mkl", "1", "6", "0.1"],
                     ["pof-mkl", "1", "6", "0.25"], ["local-rls", "-", "4", "-"], ["local-rls", "-", "6", "-"]]
    (best,) = [line for line in lines if line.startswith("Lowest error: ")]
    assert ("learning rate = " in best) == ("pof-mkl" in best)
    file = (tmp_path / "p.csv").read_text().splitlines()
    assert file[0] == "algorithm,kernels_per_upload,features,learning_rate,time,client,label,prediction"
    assert len(file) == 1 + 6 * 5 * 20
    assert file[1].startswith("pof-mkl,1,4,0.1,1,0,") and file[-1].startswith("local-rls,,6,,20,4,")


def test_a_config_file_has_lists_as_lists_and_the_command_line_wins(polykern, tmp_path):
    (tmp_path / "job.toml").write_text('[run]\nforgetting = [0.9, "auto"]\nkernels-per-upload = ["pof-newton=2", 3]\n')
    args = [*SMALL, "-a", "pof-mkl,pof-newton", "--config", "job.toml", "--format", "json"]
    rows = rows_of(polykern(*args))
    assert [(row["algorithm"], row["kernels_per_upload"], row["options"]["forgetting"]) for row in rows] == [
        ("pof-mkl", 3, 1.0), ("pof-newton", 2, 0.9), ("pof-newton", 2, "auto")]
    rows = rows_of(polykern(*args, "--forgetting", "0.5"))
    assert [row["options"]["forgetting"] for row in rows] == [0.5, 0.5]


@pytest.mark.parametrize("arguments, code, words", [
    (["run", "--learning-rate", "0.1,,0.2"], 2, ["--learning-rate", "'0.1,,0.2' lacks a value"]),
    (["run", "-M", "1,"], 2, ["--kernels-per-upload", "'1,' lacks a value"]),
    (["run", "-M", "1,1"], 2, ["--kernels-per-upload", "'1,1' has 1 twice"]),
    (["run", "-M", "1", "-M", "1"], 1, ["--kernels-per-upload", "'1,1' has 1 twice"]),
    (["run", "-M", "1,x"], 2, ["'x' is not a whole number of at least 1"]),
    (["run", "-M", "pof-newtn=2"], 2, ['"pof-newtn"', 'did you mean "pof-newton"']),
    (["run", "-M", "ofskl=2"], 2, ["--kernels-per-upload", "ofskl does not use it"]),
    (["run", "-a", "pof-mkl", "-M", "pof-newton=2"], 1, ["--kernels-per-upload", "pof-newton", "not run"]),
    (["run", "--forgetting", "0.9,1.5"], 1, ["--forgetting is 1.5", "(0, 1]"]),
    (["run", "--weighting", "hedge,adahedge"], 2, ["--weighting", "'hedge,adahedge'"]),
    (["run", "--participation", "0.5,0.9"], 2, ["--participation: '0.5,0.9' is not a number, but a list"]),
    (["run", "--coverage", "0.8,0.9"], 2, ["--coverage: '0.8,0.9' is not a number, but a list"]),
    (["run", "--clients", "3,4"], 2, ["--clients: '3,4' is not a whole number of at least 1, but a list"]),
    (["serve", "--learning-rate", "0.1,0.2"], 2, ["--learning-rate", "'0.1,0.2' is not a number, but a list"]),
])
def test_bad_lists_get_one_clear_line(polykern, arguments, code, words):
    done = polykern(*arguments)
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1 and done.err.startswith("polykern: "), done.err
    for word in words:
        assert word in done.err, done.err

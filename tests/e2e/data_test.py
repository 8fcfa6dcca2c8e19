"""polykern data, as a user types it: what there is, and what is in a user's own files."""

import json
import os
import pathlib
import re
import shlex

import pytest

REAL = os.environ.get("POLYKERN_DATA")
needs_data = pytest.mark.skipif(REAL is None, reason="POLYKERN_DATA is not set")


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


def proposed(text):
    """The words of the command at the end of what scan says, behind the program."""
    return shlex.split(text[text.rindex("\npolykern run") + 1:].replace("\\\n", " "))[1:]


QUICK = ["-r", "1", "-M", "51", "-s", "20"]


def test_scan_ends_with_a_line_that_runs(polykern, tmp_path):
    (tmp_path / "my file.csv").write_text(rows_of(200))
    done = polykern("data", "scan", "my file.csv")
    assert done.code == 0 and done.err == ""
    for pattern in [r"200 rows, 6 columns, divided by comma, with a line of names", r"a +number +0 +0 to 6",
                    r"b +number +0 +-3.5 to 6.5", r'where +text +0 +"south", "north"',
                    r'odd +mixed +0 +1 text, first "x" at my file.csv, line 11']:
        assert re.search(pattern, done.out), pattern
    assert done.out.endswith("polykern run --data 'my file.csv' --target y --client where --categorical wind "
                             "--exclude odd \\\n  --scaling range --range a=0:6,b=-3.5:6.5,y=0:12\n")
    run = polykern(*proposed(done.out), *QUICK)
    assert run.code == 0, run.err
    assert "2 clients" in run.out and "4 inputs" in run.out and "clipped" not in run.out


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


def test_scan_names_the_first_and_the_last_of_many_files(polykern, tmp_path):
    names = ["a.csv", "b.csv", "c.csv", "d.csv"]
    for name in names:
        (tmp_path / name).write_text("x,y\n1,2\n3,4\n")
    first = [polykern("data", "scan", *some).out.splitlines()[0] for some in (names[:3], names)]
    assert first[0].startswith("a.csv,b.csv,c.csv: 6 rows, ") and first[1].startswith("a.csv to d.csv: 4 files, 8 rows, ")


def test_scan_takes_what_a_person_knows_better_and_proposes_a_line_that_fits_it(polykern, tmp_path):
    (tmp_path / "my.csv").write_text("who,noted,day,a,kind,power\n" + "".join(
        f"{'Ann' if i % 2 else 'Bob'},2026-11-{1 + i // 40:02d},{i // 2},{i % 7},{'u' if i % 3 else 'v'},{i * 5 % 11}\n"
        for i in range(400)))
    guessed = proposed(polykern("data", "scan", "my.csv").out)
    assert "power" in guessed and "--client" not in guessed and "day" not in guessed
    done = polykern("data", "scan", "my.csv", "--client", "who", "--time", "day", "--target", "a", "--exclude", "power",
                    "--categorical", "kind", "--range", "a=-1:10", "--lags", "1,2", "--missing", "error")
    assert (done.code, done.err) == (0, "")
    words = proposed(done.out)
    assert words == ["run", "--data", "my.csv", "--target", "a", "--client", "who", "--time", "day", "--lags", "1,2",
                     "--categorical", "kind", "--exclude", "power", "--missing", "error", "--scaling", "range", "--range", "a=-1:10"]
    run = polykern(*words, *QUICK)
    assert run.code == 0 and "2 clients, 20 steps" in run.out, run.out + run.err
    words = proposed(polykern("data", "scan", "my.csv", "--client", "who", "--time", "none", "--inputs", "a,day").out)
    assert "--time" not in words and words[words.index("--inputs") + 1] == "a,day"
    assert polykern(*words, *QUICK).code == 0
    assert proposed(polykern("data", "scan", "--client", "who", "--time", "none", "--inputs", "a,day", "my.csv").out) == words
    polykern("data", "scan", "my.csv", "--client", "who", "--inputs", "a", "--time", "day", "--write-config", "my.toml")
    assert polykern("run", "--config", "my.toml", *QUICK).code == 0


@pytest.mark.parametrize("arguments, words", [
    (["--client", "whoo"], ["no column \"whoo\"", "\"who\""]),
    (["--time", "who"], ["who"]),
    (["--target", "a", "--client", "a"], ["\"a\" is named for two roles"]),
    (["--range", "b=0:1"], ["no column \"b\""]),
])
def test_scan_refuses_what_does_not_fit_the_file(polykern, tmp_path, arguments, words):
    (tmp_path / "my.csv").write_text("who,a,y\n" + "".join(f"n{i % 2},{i},{i % 5}\n" for i in range(40)))
    done = polykern("data", "scan", "my.csv", *arguments)
    assert done.code == 1 and done.err.count("\n") == 1
    for word in words:
        assert word in done.err, done.err


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
    run = polykern(*proposed(done.out), *QUICK)
    assert run.code == 0, run.err


@pytest.mark.parametrize("arguments, code, words", [
    (["data"], 2, ["missing command", "list, get, check, scan", "see: polykern data --help"]),
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
    (["data", "list", "--config", "job.toml"], 2, ["job.toml, line 2", "forse", "polykern data list --help"]),
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
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/use/data.md").read_text()
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

"""From a folder of files, as they come, to a result: polykern data scan, and the run that it proposes."""

import datetime
import gzip
import json
import math
import shlex

import pytest

QUICK = ["-a", "pof-mkl", "-r", "1", "-M", "51"]


def proposed(text):
    """The words of the command at the end of what scan says."""
    command = text[text.rindex("\npolykern run") + 1:]
    assert all(len(line) <= 110 for line in command.splitlines())
    return shlex.split(command.replace("\\\n", " "))


def result_of(polykern, tmp_path, command):
    run = polykern(*command[1:], *QUICK, "--out", "out", "--no-report")
    assert run.code == 0, run.err
    return json.loads((tmp_path / "out/result.json").read_text())["data"], run


def wind(folder, hours=72, zones=10):
    """Ten files of hours, each a zone, with some values missing."""
    folder.mkdir()
    for zone in range(1, zones + 1):
        lines = ["ZONEID,TIMESTAMP,TARGETVAR,U10,V10"]
        for i in range(hours):
            when = datetime.datetime(2012, 1, 1, 1) + datetime.timedelta(hours=i)
            stamp = f"{when:%Y%m%d} {when.hour}:00"
            power = 0.5 + 0.4 * math.sin(2 * math.pi * (i + zone) / 24)
            u10 = "NA" if i % 12 == zone % 12 else f"{5 * power + zone * 0.1:.3f}"
            label = "NA" if i == 5 else f"{power:.4f}"
            lines.append(f"{zone},{stamp},{label},{u10},{math.cos(i):.3f}")
        (folder / f"Task_Zone{zone}.csv").write_text("\n".join(lines) + "\n")
    return sorted(f"{folder.name}/{path.name}" for path in folder.iterdir())


def test_a_folder_of_wind_farms_is_learnt_from_with_two_commands(polykern, tmp_path):
    files = wind(tmp_path / "wind")
    scan = polykern("data", "scan", *files)
    assert scan.code == 0 and scan.err == "", scan.err
    command = proposed(scan.out)
    data, run = result_of(polykern, tmp_path, command)
    assert sorted(data["files"]) == files and data["target"] == "TARGETVAR" and data["time"] == ["TIMESTAMP"]
    assert (data["clients"], data["steps"], data["rows"], data["dropped_rows"]) == (10, 71, 710, 10)
    assert data["missing"] == "impute"
    assert data["inputs"] == ["U10", "V10", "U10.missing", "TARGETVAR.lag1", "TARGETVAR.lag24", "hour.sin", "hour.cos"]
    assert "a client for each file, in the order of time, 2012-01-01 01:00 to 2012-01-04 00:00" in run.out


def test_the_options_can_go_to_a_file(polykern, tmp_path):
    files = wind(tmp_path / "wind", zones=3)
    scan = polykern("data", "scan", *files, "--write-config", "wind.toml")
    assert scan.code == 0, scan.err
    assert scan.out.endswith("\npolykern run --config wind.toml\n")
    from_file, _ = result_of(polykern, tmp_path, proposed(scan.out))
    typed, _ = result_of(polykern, tmp_path, proposed(polykern("data", "scan", *files).out))
    assert from_file == typed and typed["clients"] == 3


@pytest.mark.parametrize("packed", [False, True])
def test_semicolons_decimal_commas_and_german_dates(polykern, tmp_path, packed):
    lines = ["Station;Datum;Temperatur;Feuchte;Last"]
    for station in ("Ulm", "Jena"):
        for i in range(60):
            when = datetime.datetime(2026, 11, 16, 8) + datetime.timedelta(hours=i)
            load = 3 + math.sin(2 * math.pi * i / 24)
            lines.append(f"{station};{when:%d.%m.%Y %H:%M};{i % 7},5;{40 + i % 11};" + f"{load:.3f}".replace(".", ","))
    text = "\n".join(lines) + "\n"
    name = "wetter.csv"
    if packed:
        name += ".gz"
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    else:
        (tmp_path / name).write_text(text)
    scan = polykern("data", "scan", name)
    assert scan.code == 0 and scan.err == "", scan.err
    assert "divided by semicolon, decimal commas, with a line of names" in scan.out
    command = proposed(scan.out)
    assert command[command.index("--decimal") + 1] == "," and command[command.index("--client") + 1] == "Station"
    data, run = result_of(polykern, tmp_path, command)
    assert (data["name"], data["clients"], data["steps"], data["target"]) == ("wetter", 2, 60, "Last")
    assert data["inputs"] == ["Temperatur", "Feuchte", "Last.lag1", "Last.lag24", "hour.sin", "hour.cos"]
    assert "2026-11-16 08:00 to 2026-11-18 19:00" in run.out


def numbers(rows=40):
    return "".join(f"{i % 7},{i % 5},{(i * 3) % 11}\n" for i in range(rows))


@pytest.mark.parametrize("text, options, words", [
    ("a;b;y\n" + "1,5;1;2\n2,5;2;3\n", ["--exclude", "b"], ['column "a"', "has a decimal comma", "--decimal ,"]),
    ("a;b;y\n" + "1,5;1;2\n2,5;2;3\n", [], ['line 2, column "a"', "--decimal ,"]),
    ("a,b,y\n" + numbers() + "1e300,1,1\n", ["--scaling", "range"], ['line 42, column "a"', "1e+300", "--range"]),
    ("a,b,y\n" + numbers() + "1e300,1,1\n", [], ["too large to be squared", 'line 42, column "a"']),
    ("id,b,y\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(20)), [], ['"id" numbers the rows', "--exclude id"]),
    ("one,b,y\n" + "".join(f"7,{i % 3},{i % 5}\n" for i in range(20)), [], ['"one" has the same value', "--exclude one"]),
    ("who,b,y\n" + "".join(f"w{i},{i % 3},{i % 5}\n" for i in range(20)), ["--client", "who"], ['"who" has a different value']),
    ("a,b,y\n" + numbers(), ["--delimiter", "pipe"], ["unknown delimiter 'pipe'"]),
    ("a,b,y\n" + numbers(), ["--decimal", ",", "--delimiter", "comma"], ["choose another --delimiter"]),
])
def test_what_a_person_would_want_to_know_is_one_line_of_standard_error(polykern, tmp_path, text, options, words):
    (tmp_path / "some.csv").write_text(text)
    done = polykern("run", "--data", "some.csv", "--target", "y", *options, *QUICK)
    assert done.err.count("\n") == 1, done.err
    for word in words:
        assert word in done.err, done.err


def test_a_parquet_file_gets_a_line_that_converts_it(polykern, tmp_path):
    (tmp_path / "some.parquet").write_bytes(b"PAR1\0\0")
    done = polykern("run", "--data", "some.parquet", "--target", "y")
    assert done.code == 1 and "pandas.read_parquet" in done.err and done.err.count("\n") == 1


def test_texts_become_inputs_or_codes(polykern, tmp_path):
    (tmp_path / "some.csv").write_text("wd,a,y\n" + "".join(f"{'NES'[i % 3]},{i % 5},{i % 7}\n" for i in range(30)))
    common = ["polykern", "run", "--data", "some.csv", "--target", "y", "--categorical", "wd"]
    data, _ = result_of(polykern, tmp_path, common)
    assert data["inputs"] == ["wd=N", "wd=E", "wd=S", "a"] and data["categories"] == "onehot"
    data, _ = result_of(polykern, tmp_path, [*common, "--categories", "code"])
    assert data["inputs"] == ["wd", "a"] and data["categories"] == "code"


@pytest.mark.parametrize("word, mark", [("tab", "\t"), ("semicolon", ";"), ("blank", "  "), ("|", "|")])
def test_any_character_divides_cells(polykern, tmp_path, word, mark):
    (tmp_path / "some.txt").write_text(("a,b,y\n" + numbers()).replace(",", mark))
    data, _ = result_of(polykern, tmp_path,
                        ["polykern", "run", "--data", "some.txt", "--target", "y", "--delimiter", word])
    assert data["inputs"] == ["a", "b"]

"""docs/operations.md tells the truth: its six commands make a federation that predicts well."""

import json
import math
import pathlib
import random
import re
import shlex
import subprocess


OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / "docs/operations.md"
NAMES = ["station-1", "station-2"]
ROWS = 150


def six_commands():
    """As words, by the command's name."""
    part = re.search(r"## Six commands\n(.*?)\n## ", OPERATIONS.read_text(), re.S)[1].replace("\\\n", " ")
    commands = [shlex.split(line.split(" < ")[0])[1:] for line in re.findall(r"^    (polykern .*)$", part, re.M)]
    assert [words[0] for words in commands] == ["pki", "pki", "pki", "serve", "join", "join"]
    return commands


def power(wind):
    """A turbine's, in kW: next to nothing below 3 m/s, all it has above 15."""
    return 3000 / (1 + math.exp((9 - wind) / 2))


def replaced(words, **options):
    """With other values of these options."""
    words = list(words)
    for name, value in options.items():
        words[words.index(f"--{name}") + 1] = value
    return words


def test_the_six_commands_predict_a_turbines_power(federation):
    f = federation("local", clients=1, steps=1)  # a folder, and processes that end with the test
    (f.folder / "pki").rename(f.folder / "other")
    init, *issue, serve, _, _ = six_commands()
    f.do(*replaced(init, server="127.0.0.1"))
    for words in issue:
        f.do(*words)
    # Who comes first may not go on alone, so that the bits are the same each time.
    f.server = f.start([*replaced(serve, listen="127.0.0.1:0"), "--clients", ",".join(NAMES)], "server",
                       stdout=subprocess.PIPE)
    port = re.match(r"listening on 127\.0\.0\.1:(\d+): pof-gram", f.server.stdout.readline())[1]
    labels, agents = [], []
    for k, words in enumerate(six_commands()[-2:]):
        chance = random.Random(k)
        rows = [(chance.uniform(0, 20), chance.uniform(-10, 30)) for _ in range(ROWS)]
        labels.append([power(wind) for wind, _ in rows])
        lines = [f"{wind},{heat},{label}\n" for (wind, heat), label in zip(rows, labels[k])]
        (f.folder / f"samples-{k}.csv").write_text("wind,heat,power\n" + "".join(lines))
        words = replaced(words, server=f"127.0.0.1:{port}", certificates=f"pki/clients/{NAMES[k]}")
        with open(f.folder / f"samples-{k}.csv") as samples, open(f.folder / f"{k}.out", "w") as out:
            agents.append(f.start([*words, "--give-up", "60"], f"agent-{k}", stdin=samples, stdout=out))
    squares = []
    for k, agent in enumerate(agents):
        assert agent.wait(120) == 0, (f.folder / f"agent-{k}.log").read_text()
        made = [json.loads(line)["prediction"] for line in (f.folder / f"{k}.out").read_text().splitlines()]
        squares += [(a - b) ** 2 for a, b in zip(made[-50:], labels[k][-50:])]
    assert len(squares) == 100
    off = math.sqrt(sum(squares) / len(squares))
    assert off <= 40, off  # of 3000

"""docs/operate tells the truth: deploy.md's six commands, and masks.md's ten, make federations that predict well."""

import json
import math
import pathlib
import random
import re
import shlex
import signal
import subprocess

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/operate"
ROWS = 150


def shown(page, heading=""):
    """The commands and the output in a part of a page, or before its first, a line each."""
    start = rf"\n## {heading}\n" if heading else "^# "
    part = re.search(rf"{start}(.*?)(?:\n## |$)", (DOCS / page).read_text(), re.S)[1].replace("\\\n", " ")
    return re.findall(r"^    (.*)$", part, re.M)


def commands(page, heading=""):
    """As words."""
    return [shlex.split(line.split(" < ")[0], comments=True)[1:] for line in shown(page, heading) if line.startswith("polykern ")]


def power(wind):
    """A turbine's, in kW: next to nothing below 3 m/s, all it has above 15."""
    return 3000 / (1 + math.exp((9 - wind) / 2))


def replaced(words, **options):
    """With other values of these options."""
    words = list(words)
    for name, value in options.items():
        words[words.index(f"--{name}") + 1] = value
    return words


def value(words, option):
    return words[words.index(option) + 1]


class Page:
    """A federation that is made by the commands of a page, all on this machine."""

    def __init__(self, federation):
        self.f = federation("local", clients=1, steps=1)  # a folder, and processes that end with the test
        (self.f.folder / "pki").rename(self.f.folder / "other")

    def listen(self, words, name):
        """Starts a server or helper; returns its process, its port and the two lines that it says."""
        process = self.f.start(replaced(words, listen="127.0.0.1:0"), name, stdout=subprocess.PIPE)
        said = [process.stdout.readline().rstrip("\n") for _ in range(2)]
        found = re.match(r"listening on 127\.0\.0\.1:(\d+): ", said[0])
        assert found, (self.f.folder / f"{name}.log").read_text()
        return process, found[1], said

    def join(self, joins, port):
        """Runs the clients to the end of their samples; returns how far they are off in the last 50."""
        labels, agents = [], []
        for k, words in enumerate(joins):
            chance = random.Random(k)
            rows = [(chance.uniform(0, 20), chance.uniform(-10, 30)) for _ in range(ROWS)]
            labels.append([power(wind) for wind, _ in rows])
            lines = [f"{wind},{heat},{label}\n" for (wind, heat), label in zip(rows, labels[k])]
            (self.f.folder / f"samples-{k}.csv").write_text("wind,heat,power\n" + "".join(lines))
            words = replaced(words, server=f"127.0.0.1:{port}", certificates=f"pki/clients/{value(words, '--certificates')}")
            with open(self.f.folder / f"samples-{k}.csv") as samples, open(self.f.folder / f"{k}.out", "w") as out:
                agents.append(self.f.start([*words, "--give-up", "60"], f"agent-{k}", stdin=samples, stdout=out))
        squares = []
        for k, agent in enumerate(agents):
            assert agent.wait(120) == 0, (self.f.folder / f"agent-{k}.log").read_text()
            made = [json.loads(line)["prediction"] for line in (self.f.folder / f"{k}.out").read_text().splitlines()]
            squares += [(a - b) ** 2 for a, b in zip(made[-50:], labels[k][-50:])]
        assert len(squares) == 50 * len(joins)
        return math.sqrt(sum(squares) / len(squares))


@pytest.fixture
def page(federation):
    return Page(federation)


def test_the_six_commands_predict_a_turbines_power(page):
    init, *issue, serve, first, second = commands("deploy.md", "Six commands")
    assert [words[:2] for words in [init, *issue]] == [["pki", "init"], ["pki", "issue"], ["pki", "issue"]]
    page.f.do(*replaced(init, server="127.0.0.1"))
    for words in issue:
        page.f.do(*words)
    # Who comes first may not go on alone, so that the bits are the same each time.
    server, port, said = page.listen([*serve, "--clients", "station-1,station-2"], "server")
    assert ": pof-gram," in said[0]
    assert page.join([first, second], port) <= 40  # of 3000

    # And the commands about what is left.
    server.send_signal(signal.SIGTERM)
    assert server.wait(10) == 0
    names = {"DIR": ".", "samples.csv": "samples-0.csv", "station-7": "station-2"}
    left = [words for part in [("server.md", "Clients that come and go"), ("store.md",), ("store.md", "Predict with a model"), ("store.md", "Backup")]
            for words in commands(*part)]
    assert {words[1] for words in left} > {"list", "label", "forget", "show", "export", "prune", "backup", "restore"}
    for words in left:
        if words[1] == "backup":
            (page.f.folder / words[-1]).unlink(missing_ok=True)  # a backup replaces nothing
        page.f.do(*(names.get(word, word) for word in words))

    # And a federation with other settings begins from the store.
    (page.f.folder / "old").mkdir()
    (page.f.folder / "new").mkdir()
    page.f.do("store", "backup", ".", "old/store.db")
    (again,) = commands("settings.md", "Other settings")
    again, _, _ = page.listen([*again, "--listen", "127.0.0.1:0"], "again")
    assert again.stdout.readline().startswith("clients also use the model of an earlier federation, of step ")


def test_ten_commands_make_a_federation_whose_server_sees_sums_alone(page):
    made = commands("masks.md", "Ten commands")
    assert len(made) <= 10
    init, *issue, issue_helper, helper, serve = made[:-3]
    page.f.do(*replaced(init, server="127.0.0.1"))
    for words in issue:
        page.f.do(*words)
    page.f.do(*replaced(issue_helper, host="127.0.0.1"))
    helper, helper_port, helper_said = page.listen(replaced(helper, certificates="pki/helpers/helper"), "helper")
    _, port, said = page.listen(replaced(serve, helper=f"127.0.0.1:{helper_port}"), "server")
    for line in helper_said + said:
        line = line.replace(f"127.0.0.1:{helper_port}", "0.0.0.0:7434").replace(f"127.0.0.1:{port}", "0.0.0.0:7433")
        assert line in shown("masks.md", "Ten commands")
    assert page.join(made[-3:], port) <= 40  # of 3000

    helper.send_signal(signal.SIGTERM)
    assert helper.wait(10) == 0
    answers = re.findall(r"helper answered: (release .*)", (page.f.folder / "helper.log").read_text())
    # The page's lines, but for their times.
    assert answers == [line.split("helper answered: ")[1] for line in shown("masks.md", "Ten commands") if "helper answered: " in line]


def test_certificates_are_made_and_revoked_as_the_page_says(page):
    made = commands("certificates.md") + commands("certificates.md", "Renewal")[:1] + commands("certificates.md", "Revocation")
    assert [words[1] for words in made] == ["init", "issue", "issue", "revoke"]
    made[2].append("--renew")  # a second one for the same name
    for words in made:
        page.f.do(*words)
    assert (page.f.folder / "pki/clients/station-7/client.crt").exists()


def test_a_server_says_whose_noise_it_is(page):
    init, serve = commands("masks.md", "Ten commands")[0], commands("masks.md", "Ten commands")[6]
    page.f.do(*replaced(init, server="127.0.0.1"))
    process, _, _ = page.listen([*replaced(serve, helper="127.0.0.1:1"), "--epsilon", "1"], "server")  # no helper is there yet
    assert process.stdout.readline().rstrip("\n") in shown("noise.md")


@pytest.mark.parametrize("page_of, line", [("settings.md", "Ranges that are not known"), ("pairwise-masks.md", "")])
def test_a_server_starts_as_its_page_says(page, page_of, line):
    page.f.do("pki", "init", "--server", "127.0.0.1")
    (serve,) = commands(page_of, line)
    process, _, said = page.listen(serve, "server")
    assert said[1].startswith("of each client it sees ")
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0

"""Runs what a page shows, as a reader types it: files are written, commands run one after the other, and what they print
is compared with the page.

A block that begins with ```console has commands after `$ ` (and `> ` on further lines) with what they print. Comments
before a block say more:

    <!-- file: NAME -->             the block is a file
    <!-- terminal: NAME -->         in a terminal of its own, where the last command keeps running; a line ^C ends it
    <!-- any order -->              lines come from several processes
    <!-- numbers within P % -->     numbers differ each time, by so much at most
    <!-- needs: NAME -->            skipped without this data set below POLYKERN_DATA
    <!-- long; else: OPTIONS -->    a long test; the short one adds OPTIONS, and compares first words alone

Times, serial numbers and the column us/sample always differ. A line `...` stands for any number of lines. Of a program that
keeps running the shown lines must come, in their order, among others. Ports 743x become free ones.

    POLYKERN=PROGRAM python3 tests/e2e/pages.py PAGE

writes what the commands print now into the page, where that is something else.
"""

import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


class Block:
    def __init__(self, language, text, marks):
        self.text = text
        self.file = marks.get("file")
        self.console = language == "console"
        self.terminal = marks.get("terminal")
        self.any_order = "any order" in marks
        self.percent = float(marks["numbers within"]) if "numbers within" in marks else None
        self.needs = marks.get("needs")
        self.otherwise = marks.get("long; else")

    def steps(self):
        """Each command with what it prints."""
        made = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                made.append([line[2:], []])
            elif line.startswith("> ") and not made[-1][1]:
                made[-1][0] += "\n" + line[2:]
            elif line == "^C":
                made.append(["^C", []])
            else:
                made[-1][1].append(line)
        return made


def blocks_of(page):
    made, marks = [], {}
    for comment, language, text in re.findall(r"^<!-- (.*?) -->$|^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if not comment:
            made.append(Block(language, text, marks))
            marks = {}
        elif within := re.fullmatch(r"numbers within (\d+) %", comment):
            marks["numbers within"] = within[1]
        else:
            name, _, value = comment.rpartition(": ")
            marks[name or comment] = value
    return made


def comparable(line):
    """A line without what differs from run to run."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", line)
    line = re.sub(r"\bexpires \d{4}-\d\d-\d\d", "expires DATE", line)
    line = re.sub(r"\bserial [0-9A-F]{32}", "serial HEX", line)
    if re.match(r"[a-z]+(-[a-z]+)* +[\d-]+ +[\d-]+ ", line):  # of a table of runs
        line = re.sub(r" +[\d.]+$", " SPEED", line)
    if re.match(r"algorithm +M +D ", line) or re.fullmatch(r"-+", line):
        line = re.sub(r"[ -]+", " ", line)
    return line.rstrip()


def alike(shown, printed, percent):
    shown, printed = comparable(shown), comparable(printed)
    if percent is None:
        return shown == printed
    words = [re.sub(r"\s+", " ", NUMBER.sub("N", line)) for line in (shown, printed)]
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed))
    return words[0] == words[1] and all(abs(float(a) - float(b)) <= percent / 100 * abs(float(a)) for a, b in pairs)


def check(shown, printed, percent=None, any_order=False):
    """Fails unless the lines are those of the page."""
    said = "printed:\n" + "\n".join(printed) + "\nthe page has:\n" + "\n".join(shown)
    if any_order:
        shown, printed = sorted(shown), sorted(printed)
    at = 0
    for i, line in enumerate(shown):
        if line == "...":
            rest = [other for other in shown[i + 1:] if other != "..."]
            if not rest:
                return
            while at < len(printed) and not alike(rest[0], printed[at], percent):
                at += 1
            continue
        assert at < len(printed) and alike(line, printed[at], percent), f"{line!r}\n{said}"
        at += 1
    assert at == len(printed), said


class Runner:
    """The terminals of a reader, all in one folder."""

    def __init__(self, folder, data=None):
        self.folder = folder
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "polykern").symlink_to(os.environ["POLYKERN"])
        (programs / "python3").symlink_to(sys.executable)
        (folder / "examples").symlink_to(ROOT / "examples")
        self.environment = {k: v for k, v in os.environ.items() if k != "POLYKERN_DATA"}
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        if data:
            self.environment["POLYKERN_DATA"] = str(data)
        self.ports = {}
        self.terminals = {}

    def with_ports(self, text):
        return re.sub(r"\b743\d\b", lambda found: str(self.port(found[0])), text)

    def port(self, shown):
        if shown not in self.ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.ports[shown] = free.getsockname()[1]
        return self.ports[shown]

    def as_shown(self, text):
        for shown, port in self.ports.items():
            text = re.sub(rf"\b{port}\b", shown, text)
        return text.splitlines()

    def run(self, block, short=False):
        if block.file:
            (self.folder / block.file).write_text(self.with_ports(block.text))
        elif block.console:
            for command, shown in block.steps():
                if block.terminal:
                    self.terminal(block.terminal, command, shown)
                else:
                    self.type(block, command, shown, short)

    def start(self, command):
        return subprocess.Popen(["bash", "-c", self.with_ports(command)], cwd=self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1)

    def type(self, block, command, shown, short):
        smaller = short and block.otherwise and command.startswith("polykern run ")
        process = self.start(f"{command} {block.otherwise}" if smaller else command)
        try:
            printed = process.communicate(timeout=900)[0]
        finally:
            process.kill()
        assert process.returncode == 0, f"{command}\n{printed}"
        if smaller:  # the same lines, by their first words
            shown, printed = ([comparable(line).split()[:1] for line in lines] for lines in (shown, printed.splitlines()))
            assert shown == printed, printed
        else:
            self.compare(shown, self.as_shown(printed), block.percent, block.any_order)

    compare = staticmethod(check)

    def terminal(self, name, command, shown):
        if command == "^C":
            process = self.terminals.pop(name)
            process.send_signal(signal.SIGINT)
            printed = process.communicate(timeout=30)[0]
            assert process.returncode == 0, printed
            self.compare(shown, self.as_shown(printed))
            return
        process = self.terminals[name] = self.start("exec " + command)
        self.wait_for(shown, process)

    def wait_for(self, shown, process):
        for line in shown:
            while not alike(line, *self.as_shown(self.read(process)), None):
                pass

    @staticmethod
    def read(process):
        """The next line, which comes soon; byte by byte, so that select knows of all that waits."""
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([process.stdout], [], [], 30)[0], f"nothing more was printed than {line}"
            byte = os.read(process.stdout.fileno(), 1)
            assert byte, f"the program has ended: {process.wait()}"
            line += byte
        return line.decode()

    def close(self):
        for process in self.terminals.values():
            process.kill()
            process.communicate()


class Recorder(Runner):
    """Believes what is printed, and writes it down."""

    def record(self, page):
        blocks = iter(blocks_of(page))

        def recorded(found):
            block = next(blocks)
            self.printed = []
            self.run(block)
            if not block.console:
                return found[0]
            lines = ["```console"]
            for (command, _), printed in zip(block.steps(), self.printed):
                lines += ["^C" if command == "^C" else "$ " + command.replace("\n", "\n> "), *printed]
            return "\n".join([*lines, "```"])

        page.write_text(re.sub(r"^```\w*\n.*?^```$", recorded, page.read_text(), flags=re.M | re.S))

    def compare(self, shown, printed, *how):
        try:
            check(shown, printed, *how)
            self.printed.append(shown)
        except AssertionError:
            self.printed.append(printed)

    def wait_for(self, shown, process):
        printed = [self.as_shown(self.read(process))[0] for _ in shown]
        self.compare(shown, printed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(pathlib.Path(folder), os.environ.get("POLYKERN_DATA"))
        try:
            recorder.record(pathlib.Path(sys.argv[1]))
        finally:
            recorder.close()

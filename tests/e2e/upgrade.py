"""What an older program left behind in tests/upgrade: how it was made, and how it is resumed."""

import json
import pathlib
import re
import shutil
import subprocess

INPUTS = pathlib.Path(__file__).resolve().parents[1] / "upgrade"
NAMES = ["north", "east", "south"]
STEPS = 200  # of which the older program did HALF
HALF = 100
# What the servers were started with, beside --clients and --steps. Each has options that are unset, set, and set without effect.
SERVE = {
    "pof-mkl": {
        "--columns": "wind,heat", "--range": "wind=0:20,heat=-40:60", "--target": "power", "--target-range": "0:3000",
        "--algorithm": "pof-mkl", "--kernels": 6, "--features": 4, "--kernels-per-upload": 3, "--exploration": 0.7,
        "--learning-rate": 0.5, "--dictionary": "mixed", "--loss": "huber", "--huber-delta": 0.3, "--meta-rate": 0.002,
        "--seed": 11,
    },
    "pof-newton": {
        "--dimension": 2, "--target": "power", "--scaling": "norm", "--norm": 80, "--target-range": "0:3000",
        "--algorithm": "pof-newton", "--kernels": 4, "--budget": 24, "--experts": "federated", "--forgetting": 0.99,
        "--weighting": "aggregating", "--ridge": 0.003, "--refresh": 0.1, "--orthogonal": None, "--horizon": 1234,
    },
}
# Simulations that were killed halfway, and what they gave when they were not. --out is the last word.
RUNS = {
    "reset": ["run", "-a", "pof-mkl,pof-newton,local-rls", "-M", "2", "-N", "4", "-D", "6", "-k", "6", "-s", "200",
              "-r", "4", "-j", "1", "--seed", "3", "--ridge", "0.003", "--weighting", "hedge", "--out"],
    "carried": ["run", "--data", "rows.csv", "--target", "power", "--split", "iid", "-a", "pof-mkl", "-N", "4", "-D", "6", "-M", "2",
                "-k", "4", "-r", "6", "-j", "1", "--weights", "carried", "--schedule", "anytime", "--out"],
}
# The paper's Table 4, of which some runs were finished; it needs the recipe's files in ./data.
REPRODUCE = ["reproduce", "table4", "-r", "1", "--data", "naval", "--data-dir", "data", "-j", "1", "--no-report", "--out"]
# Of a run, what depends on bits and on nothing else.
BITS = ["algorithm", "kernels_per_upload", "repetitions", "fingerprint", "mse", "mse_std", "regret_mean", "regret_std",
        "regret_bound", "uplink_numbers", "uplink_bytes", "downlink_bytes", "curves", "client_regret", "client_weights"]


def bits(result):
    return [{name: run[name] for name in BITS} for run in result["runs"]]


def figures(result):
    """Of a reproduction's runs."""
    return [[run[name] for name in ("algorithm", "kernels_per_upload", "fingerprint", "mse", "regret_mean")]
            for run in result["runs"]]


def words(options):
    """A command line's; None: a flag."""
    return [str(word) for pair in options.items() for word in pair if word is not None]


class Federation:
    """A server without certificates and its three agents, in a folder."""

    def __init__(self, folder, program):
        self.folder = folder
        self.program = program
        self.port = 0
        self.server = None
        self.agents = {}
        self.processes = []

    def start(self, program, arguments, name, stdout):
        with open(self.folder / f"{name}.log", "a") as log:
            process = subprocess.Popen([program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=stdout,
                                       stderr=log, text=True)
        self.processes.append(process)
        return process

    def serve(self, *options):
        """Its first line; empty if it ended instead, with the reason in server.log."""
        self.server = self.start(self.program, ["serve", "--quorum", "all", "--insecure", "--listen", "127.0.0.1:0", "--store", "store.db",
                                                *options], "server", subprocess.PIPE)
        line = self.server.stdout.readline()
        if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
            self.port = int(found[1])
        return line

    def join(self, k, program=None):
        with open(self.folder / f"{k}.out", "a") as out:
            self.agents[k] = self.start(
                program or self.program, ["join", "--insecure", "--name", NAMES[k], "--server", f"127.0.0.1:{self.port}",
                                          "--input", f"{k}.csv", "--state", f"{k}.state", "--give-up", "20"],
                f"agent-{k}", out)

    def wait(self, *agents):
        for k in agents or self.agents:
            assert self.agents[k].wait(60) == 0, (self.folder / f"agent-{k}.log").read_text()

    def stop(self):
        """The server, in good order; what it said."""
        self.server.terminate()
        assert self.server.wait(20) == 0, (self.folder / "server.log").read_text()
        return self.server.stdout.read()

    def predictions(self, k):
        """Line, step and prediction of all that an agent printed."""
        made = [json.loads(line) for line in (self.folder / f"{k}.out").read_text().splitlines()]
        return [[p["id"], p["step"], p["prediction"]] for p in made]

    def store(self, what, program=None):
        done = subprocess.run([program or self.program, "store", what, "store.db", "--format", "json"],
                              cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def copy(name, folder):
    """What the older program left of a federation or a run, in a folder where it may change; gives what is expected."""
    shutil.copytree(INPUTS / name, folder, dirs_exist_ok=True)
    (folder / "expected.json").unlink()
    return json.loads((INPUTS / name / "expected.json").read_text())

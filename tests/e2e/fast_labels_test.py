"""Labels that come faster than steps: with pof-gram none is lost, and every one of them helps."""

import json
import math
import os
import random
import re
import signal
import subprocess
import threading
import time

POLYKERN = os.environ["POLYKERN"]
SECONDS = 7  # as many steps


def law(a, b):
    return 0.5 + 0.4 * math.sin(5 * a) * b


class Device:
    """An agent whose samples come through a pipe, so many a second."""

    def __init__(self, folder, address, name, rate, count):
        self.rate, self.count, self.chance = rate, count, random.Random(name)
        self.agent = subprocess.Popen(
            [POLYKERN, "join", "--server", address, "--insecure", "--name", name, "--state", f"{name}.state"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.sent = []
        self.feeder = threading.Thread(target=self.feed)
        self.feeder.start()

    def feed(self):
        self.agent.stdin.write("a,b,y\n")
        began = time.monotonic()
        while len(self.sent) < self.count and self.agent.poll() is None:
            a, b = self.chance.random(), self.chance.random()
            try:
                self.agent.stdin.write(f"{a},{b},{law(a, b)}\n")
                self.agent.stdin.flush()
            except BrokenPipeError:  # it was killed
                return
            self.sent.append(law(a, b))
            time.sleep(max(0, began + len(self.sent) / self.rate - time.monotonic()))
        self.agent.stdin.close()

    def finish(self):
        """What it said, and its squared error over the last fifth of its samples."""
        self.feeder.join(60)
        predictions = [json.loads(line)["prediction"] for line in self.agent.stdout]
        said = self.agent.stderr.read()
        assert self.agent.wait(30) == 0, said
        last = len(self.sent) // 5
        errors = [(p - y) ** 2 for p, y in zip(predictions[-last:], self.sent[-last:])]
        return said, sum(errors) / len(errors)


def federate(folder, rate):
    """One device with `rate` samples a second beside one with a sample a second, which the steps wait for."""
    folder.mkdir()
    server = subprocess.Popen(
        [POLYKERN, "serve", "--quorum", "all", "--insecure", "--listen", "127.0.0.1:0", "--columns", "a,b", "--target", "y",
         "--target-range", "0:1", "--clients", "watched,slow", "--log", "none"],
        cwd=folder, stdout=subprocess.PIPE, text=True)
    address = re.search(r"listening on (\S+):", server.stdout.readline()).group(1)
    watched = Device(folder, address, "watched", rate, SECONDS * rate)
    slow = Device(folder, address, "slow", 1, 2 * SECONDS)
    result = watched.finish()
    slow.agent.kill()
    slow.feeder.join()
    server.send_signal(signal.SIGTERM)
    assert server.wait(10) == 0
    steps = int(re.search(r"stopped at step (\d+)", server.stdout.read()).group(1))
    return *result, steps


def test_a_device_with_100_samples_a_second_and_a_step_a_second_loses_none(tmp_path):
    said, error, steps = federate(tmp_path / "fast", 100)
    assert f"{SECONDS * 100} samples, {SECONDS * 100} learnt" in said, said
    assert "not learnt from" not in said
    assert 2 <= steps <= SECONDS + 1
    _, one_a_step, _ = federate(tmp_path / "slow", 5)  # of which a fifth is more than one sample
    assert error < one_a_step / 2, (error, one_a_step)

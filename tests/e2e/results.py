"""What a run has written."""

import json

SMALL = ["--clients", "30", "--steps", "20", "--repetitions", "2"]  # a run of a second


def runs_of(folder):
    return json.loads((folder / "result.json").read_text())["runs"]


def without_timings(folder):
    """result.json without timings and the command, which names the folder."""
    result = json.loads((folder / "result.json").read_text())
    del result["command"]
    for run in result["runs"]:
        del run["seconds"], run["microseconds_per_sample"]
    return result

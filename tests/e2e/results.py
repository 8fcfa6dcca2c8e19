"""What a run has written."""

import json


def without_timings(folder):
    """result.json without timings and the command, which names the folder."""
    result = json.loads((folder / "result.json").read_text())
    del result["command"]
    for run in result["runs"]:
        del run["seconds"], run["microseconds_per_sample"]
    return result

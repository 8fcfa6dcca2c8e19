"""What the makers of data in this folder share: noise that remembers, and CSV files of hourly rows."""

import argparse
import datetime
import pathlib

import numpy as np

START = datetime.datetime(2025, 1, 1)  # a Wednesday


def remembering(values, hours, first):
    """An average over about so many hours before."""
    keep = np.exp(-1 / hours)
    result, value = np.empty(len(values)), first
    for t, now in enumerate(values):
        value = keep * value + (1 - keep) * now
        result[t] = value
    return result


def slow_noise(chance, steps, hours):
    """Normal noise of deviation 1 that forgets within so many hours."""
    keep = np.exp(-1 / hours)
    return remembering(chance.normal(size=steps) * np.sqrt((1 + keep) / (1 - keep)), hours, chance.normal())


def times(hours):
    return [START + datetime.timedelta(hours=t) for t in range(hours)]


def write_files(description, folder, hours, make):
    """Writes FOLDER/NAME.csv of all that make(hours, seed) gives: names, and their columns."""
    command = argparse.ArgumentParser(description=description)
    command.add_argument("folder", nargs="?", default=folder, type=pathlib.Path, help=f"default: {folder}")
    command.add_argument("--hours", default=hours, type=int, help=f"rows of each file (default: {hours})")
    command.add_argument("--seed", default=0, type=int)
    given = command.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    clock = [f"{time:%Y-%m-%d %H:%M}" for time in times(given.hours)]
    for name, columns in make(given.hours, given.seed):
        rows = zip(clock, *(np.round(values, 1) for values in columns.values()))
        lines = [",".join(["time", *columns]), *(",".join(map(str, row)) for row in rows)]
        (given.folder / f"{name}.csv").write_text("\n".join(lines) + "\n")

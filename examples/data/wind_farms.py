"""Made-up data of ten wind farms on a plain 400 km wide: one CSV file for each, a row for each hour.

Weather comes from the west: calm and windy spells, and fronts every few days, which pass over one farm after the other
with the wind that they bring. A farm measures wind, direction, temperature and pressure at its mast, and its power,
in per cent of what it was built for, which follows the curve of its turbines: nothing below 3 m/s, the cube of the wind above, all it has from 12 m/s, nothing
above 25; less in thin, warm air, and less when the wind blows along the rows of turbines, which then stand in each
other's wake. Farms differ in their turbines, in how rough their ground is and how their rows lie.

    wind_farms.py [FOLDER] [--hours 2000] [--seed 0]
"""

import numpy as np
from made_up import slow_noise, write_files

FARMS = ["arden", "birch", "cedar", "delta", "egret", "fjord", "grove", "heath", "inlet", "juniper"]
CROSSING = 8  # hours that weather takes from the western edge to the eastern: 400 km at 50 km/h


def fronts(chance, hours):
    """What weather fronts add to the wind at the western edge, and by how many degrees they turn it."""
    t = np.arange(hours)
    gust, turn = np.zeros(hours), np.zeros(hours)
    at = chance.uniform(0, 60)
    while at < hours:
        since = t - at
        gust += chance.uniform(2, 9) * np.exp(np.where(since < 0, since / 3, -since / 12))
        turn += chance.uniform(20, 90) * np.exp(-(((since - 4) / 10) ** 2))
        at += chance.uniform(40, 120)
    return gust, turn


def share_of_rated(wind):
    """The power curve."""
    return np.where(wind < 25, np.clip((wind**3 - 3**3) / (12**3 - 3**3), 0, 1), 0)


def make(hours, seed):
    chance = np.random.default_rng(seed)
    long = hours + CROSSING
    gust, turn = fronts(chance, long)
    base = 7 + 2 * slow_noise(chance, long, 36)
    warmth = 8 + 3 * slow_noise(chance, long, 120)
    heading = 250 + 35 * slow_noise(chance, long, 48)
    t = np.arange(hours)
    for name in FARMS:
        here = t + CROSSING - round(chance.uniform(0, CROSSING))
        rough = chance.uniform(0.75, 1.1)
        rows, wake = chance.uniform(0, 180), chance.uniform(0.05, 0.25)
        wind = np.maximum(0, rough * (base[here] + gust[here] + 1.2 * slow_noise(chance, hours, 4)))
        direction = (heading[here] + turn[here] + 5 * chance.normal(size=hours)) % 360
        temperature = warmth[here] + 4 * np.sin(2 * np.pi * (t % 24 - 9) / 24) + 0.3 * chance.normal(size=hours)
        pressure = 1013 - 1.5 * gust[here] + 4 * slow_noise(chance, hours, 72)
        density = pressure / 1013 * 288 / (273 + temperature)
        behind = wake * np.cos(np.radians(direction - rows)) ** 8
        power = 100 * share_of_rated(wind * density ** (1 / 3) * (1 - behind)) * (1 + 0.04 * chance.normal(size=hours))
        yield name, {"wind": wind, "direction": direction, "temperature": temperature, "pressure": pressure,
                     "power": np.clip(power, 0, 100)}


if __name__ == "__main__":
    write_files("Writes made-up data of ten wind farms, a CSV file for each.", "farms", 2000, make)

"""Made-up data of the twelve buildings of a town: one CSV file for each, a row for each hour of a year from January on.

All have the same weather: seasons, warm and cold spells, sun. A file has what is known of an hour before it comes, the
forecast of the weather and, by its calendar, the share of people who will be there, and then the power that was needed,
in W for each square metre. A building needs power for what its people do, by the clock
and the weekday (offices, schools, shops, homes), for heating below 15 degrees and for cooling above 22, as far as its
walls let the weather in; walls and floors follow the weather hours later. Schools are closed in summer.

    buildings.py [FOLDER] [--hours 8760] [--seed 0]
"""

import numpy as np
from made_up import remembering, slow_noise, times, write_files

KINDS = {  # first and last hour of use, use at weekends, W for people, W for a degree
    "office": (7, 18, 0.15, 60, 5),
    "school": (7, 15, 0.05, 40, 7),
    "shop": (9, 20, 0.8, 70, 4),
    "homes": (6, 23, 1.0, 35, 6),
}


def weather(chance, hours):
    """Temperature and sun, in the whole town."""
    t = np.arange(hours)
    season = np.cos(2 * np.pi * (t / 8760 - 0.55))  # warmest in July
    daily = np.cos(2 * np.pi * (t % 24 - 14) / 24)  # and at two in the afternoon
    clear = 1 / (1 + np.exp(-1.5 * slow_noise(chance, hours, 30)))
    sun = 900 * clear * np.maximum(0, daily + 0.2 * season) / 1.2 * (0.65 + 0.35 * season)
    return 11 + 10 * season + (2 + 4 * clear) * daily + 3.5 * slow_noise(chance, hours, 72), sun


def share_of_people(kind, hours):
    """Of those who use the building, by clock and calendar alone."""
    first, last, weekend, _, _ = KINDS[kind]
    clock = times(hours)
    hour = np.array([time.hour for time in clock])
    share = 1 / (1 + np.exp(-2 * (hour - first))) / (1 + np.exp(2 * (hour - last)))
    share *= np.where([time.weekday() >= 5 for time in clock], weekend, 1)
    return share * np.where([kind == "school" and time.month in (7, 8) for time in clock], 0.1, 1)


def make(hours, seed):
    chance = np.random.default_rng(seed)
    temperature, sun = weather(chance, hours)
    for number in range(12):
        kind = list(KINDS)[number % 4]
        people_w, degree_w = KINDS[kind][3:]
        walls, inertia = chance.uniform(0.7, 1.4), chance.uniform(2, 12)
        people = np.maximum(0, share_of_people(kind, hours) * (1 + 0.1 * slow_noise(chance, hours, 24)))
        felt = remembering(temperature, inertia, temperature[0]) + 3 * walls * sun / 900
        awake = 0.4 + 0.6 * np.minimum(1, people)  # heating and cooling are turned down in an empty building
        heating = awake * np.minimum(90, walls * degree_w * np.maximum(0, 15 - felt))
        cooling = awake * 0.7 * degree_w * np.maximum(0, felt - 22)
        load = (8 + people_w * people + heating + cooling) * (1 + 0.03 * chance.normal(size=hours))
        yield f"{kind}-{number // 4 + 1}", {
            "temperature": temperature + 0.7 * chance.normal(size=hours), "sun": sun,
            "occupancy": 100 * share_of_people(kind, hours), "load": np.maximum(0, load)}


if __name__ == "__main__":
    write_files("Writes made-up data of the twelve buildings of a town, a CSV file for each.", "buildings", 8760, make)

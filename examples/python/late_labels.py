"""Labels that come late, in any order: meters of a building whose readings arrive hours after they were predicted.

Three buildings learn one model over the network. Each predicts the next hour's consumption when the hour begins; the meters
report later, some of them much later. Cell by cell in an editor that knows `# %%`, or whole. It needs polykern-net.
"""

# %% The buildings: consumption in kWh, from the outside temperature and the hour

from typing import Iterator

import numpy as np

import polykern as pk

BUILDINGS = ["library", "school", "hall"]
HOURS = 24 * 10
chance = np.random.default_rng(0)
outside = 8 + 7 * np.sin(2 * np.pi * (np.arange(HOURS) - 9) / 24) + chance.normal(size=HOURS)


def consumption(building: int, hour: int) -> float:
    occupied = 8 <= hour % 24 < 18 + building
    return float(80 - 2.5 * outside[hour] + (40 + 10 * building) * occupied + chance.normal())


# %% What happens in a building: a sample each hour, and readings that come 1 to 6 hours after it


def events(building: int) -> Iterator[tuple[str, int, float]]:
    due: dict[int, list[tuple[int, float]]] = {}
    for hour in range(HOURS):
        yield "sample", hour, 0.0
        due.setdefault(hour + int(chance.integers(1, 7)), []).append((hour, consumption(building, hour)))
        for measured, reading in due.pop(hour, []):
            yield "reading", measured, reading


# %% Three agents that never wait for each other: what an id names is predicted now, and learnt when its label comes

server = pk.Server(columns={"outside": (-20, 40), "hour": (0, 24)}, target=("kWh", 0, 250), clients=BUILDINGS, quorum=1)
agents = [pk.Agent(server.address, name=name, wait=0) for name in BUILDINGS]

said: dict[tuple[int, int], float] = {}
errors: list[tuple[int, float]] = []
streams = [events(building) for building in range(len(BUILDINGS))]
for turn in zip(*streams):
    for building, (what, hour, reading) in enumerate(turn):
        if what == "sample":
            said[building, hour] = agents[building].predict([outside[hour], hour % 24], id=hour)
        else:
            errors.append((hour, said.pop((building, hour)) - reading))
            agents[building].learn(reading, id=hour)

# %% How far they were off, and what still waits

for day in (0, 4, 8):
    off = np.array([error for hour, error in errors if day <= hour / 24 < day + 1])
    print(f"day {day + 1}: {np.sqrt((off ** 2).mean()):.1f} kWh off")
print(f"{sum(agent.status()['waiting'] for agent in agents)} predictions wait for their readings")

for agent in agents:
    agent.close()
server.close()

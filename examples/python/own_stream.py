"""A stream of your own, three ways: one model, a federation driven by hand, and a real one over the network.

The stream: rooms whose heating power depends on the outside temperature and the hour, each in its own way.
Cell by cell in an editor that knows `# %%`, or whole.
"""

# %% The stream

from typing import Iterator

import numpy as np

import polykern as pk

ROOMS, HOURS = 3, 24 * 14


def readings() -> Iterator[tuple[int, int, dict[str, float], float]]:
    """Hour by hour and room by room: a dict of inputs, and the power in watts that turns out later."""
    chance = np.random.default_rng(0)
    for hour in range(HOURS):
        outside = 5 + 8 * np.sin(2 * np.pi * (hour - 9) / 24) + chance.normal()
        for room in range(ROOMS):
            inputs = {"outside": outside, "hour": hour % 24}
            power = 1500 - 60 * outside + (200 + 150 * room) * (6 <= hour % 24 < 9 + room) + 20 * chance.normal()
            yield hour, room, inputs, power


def scaled(inputs: dict[str, float], power: float) -> tuple[list[float], float]:
    """Algorithms want inputs of about 1 and labels in [0, 1]."""
    return [inputs["outside"] / 20, inputs["hour"] / 24], power / 3000

# %% One model for each room


def one_model_per_room() -> list[float]:
    models = [pk.OnlineRegressor() for _ in range(ROOMS)]
    errors = []
    for _, room, inputs, power in readings():
        errors.append(models[room].predict_one(inputs) - power)
        models[room].learn_one(inputs, power)
    return errors

# %% A federation whose messages the program carries itself


def a_federation_by_hand() -> list[float]:
    bank = pk.KernelBank.rbf(dimension=2, features=30, bandwidths=pk.paper_bandwidths(15), seed=0)
    algorithm = pk.PofNewton(bank)
    server = algorithm.server()
    rooms = [algorithm.client(room) for room in range(ROOMS)]
    errors, updates = [], []
    for _, room, inputs, power in readings():
        x, y = scaled(inputs, power)
        rooms[room].receive(server.broadcast())
        errors.append(3000 * rooms[room].predict(x).value - power)
        updates.append(rooms[room].learn(y))
        if room == ROOMS - 1:  # everyone has answered: the step ends
            server.aggregate(updates)
            updates = []
    return errors

# %% A federation over the network, with polykern-net


def a_real_federation() -> list[float]:
    columns = {"outside": (-20, 40), "hour": (0, 24)}
    with pk.Server("pof-newton", columns=columns, target=("power", 0, 3000), kernels=15, features=30,
                   clients=[f"room-{room}" for room in range(ROOMS)]) as server:
        rooms = [pk.Agent(server.address, name=f"room-{room}") for room in range(ROOMS)]
        errors = []
        for _, room, inputs, power in readings():
            errors.append(rooms[room].predict([inputs["outside"], inputs["hour"]]) - power)
            rooms[room].learn(power)
        for agent in rooms:
            agent.close()
    return errors

# %% How far they are off

for way in (one_model_per_room, a_federation_by_hand, a_real_federation):
    last = np.array(way())[-ROOMS * 48:]
    print(f"{way.__name__.replace('_', ' ')}: {np.sqrt((last ** 2).mean()):.0f} W off in the last two days")

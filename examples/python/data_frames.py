"""From pandas and back: a data frame becomes a federation's arrays, and its predictions a data frame.

Cell by cell in an editor that knows `# %%`, or whole. It needs pandas.
"""

# %% A table such as people have: one row per shop and day, a column to predict

import numpy as np
import pandas  # type: ignore[import]

import polykern as pk

chance = np.random.default_rng(0)
shops, days = ["north", "south", "west"], 200
table = pandas.DataFrame(
    {"shop": shop, "day": day, "weekday": day % 7, "rain": chance.uniform()} for day in range(days) for shop in shops)
table["sold"] = (60 + 15 * (table["weekday"] >= 5) - 20 * table["rain"] * (table["shop"] != "south")
                 + chance.normal(size=len(table)))

# %% As arrays: steps, clients, inputs; labels in [0, 1]

inputs = ["weekday", "rain"]
X = table[inputs].to_numpy().reshape(days, len(shops), len(inputs)) / [6, 1]
Y = table["sold"].to_numpy().reshape(days, len(shops)) / 100

# %% A simulated federation of the shops, with intervals

result = pk.simulate(X, Y, pk.PofGram(dimension=len(inputs)), coverage=0.9)
print(result)

# %% Its predictions beside the labels, each made before its label was known

frame = result.to_frame() * 100
frame["sold"] = table["sold"].to_numpy()
last = frame.loc[100:]
error = (last["prediction"] - last["sold"]).pow(2).groupby("client").mean().pow(0.5)
for client, shop in enumerate(shops):
    print(f"{shop}: {error[client]:.1f} pieces off from the 100th day on")
within = ((last["low"] <= last["sold"]) & (last["sold"] <= last["high"])).mean()
print(f"{100 * within:.0f} % of them within their intervals")

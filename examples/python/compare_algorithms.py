"""Every algorithm on the same fleet, each within a thousand numbers per client and step.

Cell by cell in an editor that knows `# %%`, or whole: compare_algorithms.py [PICTURE] draws the errors over time into a file,
if matplotlib is installed.
"""

# %% The fleet: the streams of twenty devices

import sys
from typing import Optional

import polykern as pk

BUDGET = 1000
fleet = pk.load("synthetic", clients=20, steps=200, seed=1)
dimension = fleet.X.shape[2]

# %% The algorithms. D is what the budget allows: 2 D numbers for each kernel that is sent


def bank(features: int, bandwidths: Optional[list[float]] = None) -> pk.KernelBank:
    return pk.KernelBank.rbf(dimension, features, pk.paper_bandwidths() if bandwidths is None else bandwidths, seed=1)


algorithms: list[pk.Algorithm] = [
    pk.PofMkl(bank(100), kernels_per_upload=1, budget=BUDGET),
    pk.PofMkl(bank(20), kernels_per_upload=25, budget=BUDGET),
    pk.PofNewton(bank(20), kernels_per_upload=25, budget=BUDGET),
    pk.PofAdagrad(bank(20), kernels_per_upload=25, budget=BUDGET),
    pk.Ofskl(bank(100, [10]), budget=BUDGET),
    pk.OfmklAvg(bank(9), budget=BUDGET),
    pk.VmKofl(bank(9), budget=BUDGET),
    pk.EmKofl(bank(100), budget=BUDGET),
    pk.FomdOms(bank(100), budget=BUDGET),
    pk.PerFedAvg(dimension, meta_rate=0.0447, budget=BUDGET),
    pk.Local(bank(20)),
    pk.LocalRls(bank(17)),
]

# %% All of them, the best first

results = [pk.simulate(fleet.X, fleet.Y, algorithm, seed=1) for algorithm in algorithms]

print(f"{'algorithm':12} {'numbers up':>10} {'MSE x 1e-3':>11} {'seconds':>8}")
for result in sorted(results, key=lambda result: result.mse):
    print(f"{result.algorithm:12} {result.uplink_numbers:10} {1000 * result.mse:11.2f} {result.seconds:8.2f}")

# %% A picture of them

if len(sys.argv) > 1:
    axes = results[0].plot()
    for result in results[1:]:
        result.plot(axes)
    axes[0].figure.savefig(sys.argv[1])

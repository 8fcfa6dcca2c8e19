"""A federation of forty devices in ten lines: simulate it, look at the error, save what came out."""

import polykern as pk

fleet = pk.load("synthetic", clients=40, steps=500)  # X (500, 40, 8): steps, clients, inputs; Y (500, 40)
bank = pk.KernelBank.rbf(dimension=8, features=20, bandwidths=pk.paper_bandwidths(), seed=0)
algorithm = pk.PofMkl(bank, kernels_per_upload=25)

result = pk.simulate(fleet.X, fleet.Y, algorithm)

print(f"{result.uplink_numbers} numbers up per client and step, MSE {result.mse:.4f}")
print(f"squared error at the first step {result.step_mse[0]:.3f}, at the last {result.step_mse[-1]:.3f}")

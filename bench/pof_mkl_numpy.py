#!/usr/bin/env python3
"""POF-MKL in plain NumPy: one client and one kernel at a time, vectorised only within a kernel.

The algorithm as docs/understand/algorithm.md states it, written for reading; `polykern bench --numpy` runs it
beside the engine. Prints one line of JSON: time per sample (its quickest 5 ms, the
server's sum left out) and squared error.
Example: python3 pof_mkl_numpy.py --dimension 15 --features 100 --clients 23 --seconds 2
"""

import argparse
import json
import sys
import time

import numpy as np

LEAST_STEPS = 4  # the first predicts 0 whatever the algorithm: too little to compare


def features(rho, x):
    """z_i(x), equation (6)."""
    angles = rho @ x
    return np.concatenate([np.sin(angles), np.cos(angles)]) / np.sqrt(len(rho))


def choose(weights, per_upload, xi, uniform):
    """Algorithm 1: the kernels to send, and the probability they were drawn with."""
    order = np.arange(len(weights)) if xi == 1 else np.argsort(-weights, kind="stable")
    bins = [order[first:first + per_upload] for first in range(0, len(order), per_upload)]
    mass = np.array([weights[b].sum() for b in bins])
    q = (1 - xi) * mass / mass.sum() + xi / len(bins)
    drawn = min(np.searchsorted(np.cumsum(q), uniform, side="right"), len(bins) - 1)
    return bins[drawn], q[drawn]


def run(rho, x, y, uniform, per_upload, xi, rate, regularization, seconds):
    """x is (steps, clients, d). Returns squared errors per step, and seconds per sample."""
    steps, clients, _ = x.shape
    kernels, count, _ = rho.shape
    theta = np.zeros((kernels, 2 * count))
    log_weights = np.zeros((clients, kernels))
    errors, times = [], []
    for t in range(steps):
        error = 0.0
        total = np.zeros_like(theta)
        for k in range(clients):
            start = time.perf_counter()
            z, f = np.zeros_like(theta), np.zeros(kernels)
            for i in range(kernels):
                z[i] = features(rho[i], x[t, k])
                f[i] = np.dot(theta[i], z[i])
            weights = np.exp(log_weights[k] - np.max(log_weights[k]))
            prediction = np.sum(weights * f) / np.sum(weights)  # (9)
            error += (prediction - y[t, k]) ** 2
            chosen, p = choose(weights, per_upload, xi, uniform[t, k])
            for i in range(kernels):  # (12)
                loss = (f[i] - y[t, k]) ** 2 + regularization * np.dot(theta[i], theta[i])
                log_weights[k, i] -= rate * loss
            for i in chosen:  # (11)
                gradient = 2 * (f[i] - y[t, k]) * z[i] + 2 * regularization * theta[i]
                total[i] += rate / p * gradient
            times.append(time.perf_counter() - start)
        theta -= total / clients  # (13)
        errors.append(error / clients)
        if sum(times) >= seconds and len(errors) >= LEAST_STEPS:
            break
    return errors, times


def quickest(times, slice_seconds=0.005):
    """Seconds per sample in the quickest run of neighbouring samples that takes about a slice."""
    count = min(len(times), int(np.ceil(slice_seconds / np.median(times))))
    return min(np.convolve(times, np.ones(count), "valid")) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--dimension", type=int, default=14, help="d, inputs (%(default)s)")
    parser.add_argument("-N", "--kernels", type=int, default=51, help="N, Gaussian kernels (%(default)s)")
    parser.add_argument("-D", "--features", type=int, default=100, help="D, features per kernel (%(default)s)")
    parser.add_argument("-M", "--kernels-per-upload", type=int, default=1, help="M (%(default)s)")
    parser.add_argument("-K", "--clients", type=int, default=23, help="K, clients (%(default)s)")
    parser.add_argument("--steps", type=int, default=500, help="T, which sets the rates (%(default)s)")
    parser.add_argument("--exploration", type=float, default=1, help="xi, in (0, 1] (%(default)s)")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after the step that reaches this, the fourth at the earliest")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn here (%(default)s)")
    parser.add_argument("--rows", help="float32 file, step by step and client by client: d inputs, label, uniform draw")
    parser.add_argument("--frequencies", help="float32 file of N x D x d frequencies; else drawn")
    o = parser.parse_args()

    random = np.random.default_rng(o.seed)
    if o.frequencies:
        rho = np.fromfile(o.frequencies, np.float32).reshape(o.kernels, o.features, o.dimension).astype(float)
    else:
        sigma = np.logspace(-2, 2, o.kernels) if o.kernels > 1 else np.ones(1)
        rho = random.standard_normal((o.kernels, o.features, o.dimension)) / np.sqrt(sigma)[:, None, None]
    if o.rows:
        rows = np.fromfile(o.rows, np.float32).reshape(-1, o.clients, o.dimension + 2).astype(float)
    else:
        rows = random.random((o.steps, o.clients, o.dimension + 2))
        rows[..., o.dimension] = 0.5 + 0.5 * np.sin(4 * rows[..., :2].sum(axis=2))
        rows[..., :o.dimension] /= np.linalg.norm(rows[..., :o.dimension], axis=2).max()
    x, y, uniform = rows[..., :o.dimension], rows[..., o.dimension], rows[..., o.dimension + 1]
    errors, times = run(rho, x, y, uniform, o.kernels_per_upload, o.exploration, 1 / np.sqrt(o.steps), 1e-6, o.seconds)
    json.dump({"microseconds_per_sample": 1e6 * quickest(times), "steps": len(errors),
               "mse": float(np.mean(errors))}, sys.stdout)
    print()


if __name__ == "__main__":
    main()

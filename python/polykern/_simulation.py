"""Whole federations in one process, and what comes out of them."""

import html
import json
import warnings

import numpy as np

from polykern import _core


class DivergenceWarning(RuntimeWarning):
    """A run has diverged: its rates are too high for these data."""


class Result:
    """What a simulation gave.

    predictions (T, K): made before each label; NaN where a client was not there. intervals (T, K, 2), if a coverage was wished:
    low and high of each, NaN at a client's first; else None. mse: over all of them. regret (K,):
    of each client against its best kernel, NaN without kernels to compare with. seconds: that it took.
    step_mse, step_regret (T,): means over the clients, step by step. regret_bound: Theorem 2's, or None.
    uplink_numbers: the most a client sent in a step; uplink_numbers_mean, uplink_bytes, downlink_bytes: per client and
    step.
    fingerprint: of every bit of every prediction and of the final model, as in result.json.
    divergence: None, or where and why the run ended early. Every other plain value of a run in result.json
    (docs/result.md) is here under the same name, such as regret_mean.
    """

    def __init__(self, fields):
        self._json = fields.pop("json")
        self.__dict__.update(fields)

    def to_json(self):
        """The text of result.json (docs/result.md), which `polykern report` shows."""
        return self._json

    def to_dict(self):
        """The same as a dict."""
        return json.loads(self._json)

    def _summary(self):
        clients = self.predictions.shape[1]
        regret = np.nanmean(self.regret) if np.isfinite(self.regret).any() else float("nan")
        return [
            ("algorithm", self.algorithm),
            ("clients x steps", f"{clients} x {self.predictions.shape[0]}"),
            ("MSE", f"{self.mse:.6g}"),
            ("regret, mean over clients", f"{regret:.4g}"),
            ("numbers up, most in a step", f"{self.uplink_numbers}"),
            ("bytes up / down, per client and step", f"{self.uplink_bytes:.4g} / {self.downlink_bytes:.4g}"),
            ("seconds", f"{self.seconds:.3g}"),
        ] + ([("diverged", self.divergence)] if self.divergence else [])

    def __repr__(self):
        return f"<Result of {self.algorithm}: MSE {self.mse:.6g}, {self.seconds:.3g} s>"

    def _repr_html_(self):
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                       for name, value in self._summary())
        return f"<table>{rows}</table>"

    def plot(self, axes=None):
        """Error and regret over time, with matplotlib; returns the two axes. axes: two to draw on."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot needs matplotlib: install it, or use to_dict()") from error
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(10, 3.5), constrained_layout=True)
        steps = np.arange(1, len(self.step_mse) + 1)
        known = ~np.isnan(self.step_mse)
        running = np.cumsum(np.where(known, self.step_mse, 0)) / np.maximum(np.cumsum(known), 1)
        axes[0].plot(steps, running, label=self.algorithm)
        axes[0].set(xlabel="step", ylabel="MSE so far", yscale="log")
        axes[0].legend()
        if len(self.step_regret) and np.isfinite(self.step_regret).any():
            axes[1].plot(steps, self.step_regret, label=self.algorithm)
            axes[1].legend()
        axes[1].set(xlabel="step", ylabel="regret, mean over clients")
        return axes


def simulate(X, Y, algorithm, seed=0, threads=0, *, uniforms=None, participation=1.0, present=None, progress=None,
             coverage=None, ahead=1, device="cpu"):
    """Takes K clients through T steps: each predicts, sees its label, learns and sends; the server combines.

    X (T, K, d) and Y (T, K) may be float32 or float64 in any memory layout; they are not copied. The same seed gives
    the same bits, whatever the number of threads (0: all cores), and the same as `polykern run --seed` if the bank has
    the same seed. uniforms (T, K) in [0, 1) fixes every random draw of a client. A client takes part in a step with
    probability `participation`, and only where present (T, K) is True. progress(steps_done, steps) is called a few times
    a second; what it raises ends the run. Other Python threads go on meanwhile. coverage, such as 0.9, is the part of the labels
    that is to be within an interval of each prediction. ahead: X[t] is known, and Y[t] predicted, ahead - 1 steps before step t,
    with the model of then, as `load(..., ahead=...)` makes them; Y[t] is learnt at step t. device="gpu": an NVIDIA GPU does the
    work, with the same bits; an Error says so if there is none, or if it does not have the algorithm.

    >>> import polykern as pk
    >>> fleet = pk.load("synthetic", clients=8, steps=50)
    >>> bank = pk.KernelBank.rbf(dimension=8, features=20, bandwidths=pk.paper_bandwidths())
    >>> result = pk.simulate(fleet.X, fleet.Y, pk.PofMkl(bank, kernels_per_upload=25))
    >>> result.predictions.shape, result.regret.shape, result.uplink_numbers
    ((50, 8), (8,), 1000)
    """
    if not isinstance(algorithm, _core.Algorithm):
        raise TypeError(f"algorithm must be an Algorithm, not {type(algorithm).__name__}")
    result = Result(_core.simulate(X, Y, algorithm, seed, threads, uniforms, float(participation), present, progress,
                                   None if coverage is None else float(coverage), ahead, device))
    if result.divergence:
        warnings.warn(f"{algorithm.name} diverged at {result.divergence}", DivergenceWarning, stacklevel=2)
    labels = np.asarray(Y)[np.asarray(present)] if present is not None else np.asarray(Y)
    if _core.has_unit_labels(algorithm.name) and labels.size and (labels.min() < 0 or labels.max() > 1):
        warnings.warn(f"{algorithm.name} works with labels in [0, 1]; these go from {labels.min():g} to {labels.max():g}: "
                      "scale them", UserWarning, stacklevel=2)
    return result

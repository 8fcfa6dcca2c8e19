"""What comes out of a simulation."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas  # type: ignore[import]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a simulation gave. What has a name in result.json (docs/use/result.md) has the same one here.

    >>> import polykern as pk
    >>> fleet = pk.load("synthetic", clients=4, steps=30)
    >>> result = pk.simulate(fleet.X, fleet.Y, pk.PofGram(dimension=8))
    >>> result.predictions.shape, result.step_mse.shape, result.regret.shape
    ((30, 4), (30,), (4,))
    """

    predictions: Numbers
    """(T, K): made before each label; NaN where a client was not there."""
    intervals: Optional[Numbers]
    """(T, K, 2), low and high of each prediction, NaN at a client's first; None without a coverage."""
    regret: Numbers
    """(K,): of each client against its best kernel; NaN without kernels to compare with."""
    step_mse: Numbers
    """(T,): means over the clients; NaN where none was there."""
    step_regret: Numbers
    """(T,): likewise, cumulative; empty without kernels to compare with."""
    divergence: Optional[str]
    """None, or where and why the run ended early."""

    algorithm: str
    kernels_per_upload: Optional[int]
    """None without kernels."""
    features: Optional[int]
    """For each kernel; None without kernels."""
    clients: int
    steps: int
    repetitions: int
    """1, or 0 if the run diverged."""
    mse: float
    """Over all predictions."""
    mse_std: float
    rmse: Optional[float]
    """In the label's own unit."""
    r2: Optional[float]
    skill: Optional[float]
    """The part of the naive error that is gone."""
    last_label_mse: Optional[float]
    """Of predicting the last label."""
    running_mean_mse: Optional[float]
    """Of predicting the mean of the labels so far."""
    coverage: Optional[float]
    """The part of the labels within their interval."""
    interval_width: Optional[float]
    """The mean, in the label's own unit."""
    regret_mean: Optional[float]
    regret_std: Optional[float]
    regret_bound: Optional[float]
    """Theorem 2's, where it applies."""
    epsilon_spent: Optional[float]
    """None without noise."""
    losses_in_unit_range: bool
    client_runs_over_bound: int
    uplink_numbers: int
    """The most that a client sent in a step."""
    uplink_numbers_mean: Optional[float]
    """Per client and step, as the next two."""
    uplink_bytes: float
    downlink_bytes: float
    seconds: float
    """That the run took."""
    microseconds_per_sample: float
    fingerprint: str
    """Of every bit of every prediction and of the final model."""
    _json: str

    def to_json(self) -> str:
        """The text of result.json (docs/use/result.md), which `polykern report` shows."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict."""
        document: dict[str, Any] = json.loads(self._json)
        return document

    def to_frame(self, of: str = "predictions") -> pandas.DataFrame:
        """A pandas DataFrame, a new one at each call.

        of="predictions": a row for each prediction that was made, by step and client (their places in X, from 0), with
        `prediction` and, if a coverage was wished, `low` and `high`; "steps": `mse` and `regret` by step; "clients":
        `regret` by client.
        """
        try:
            import pandas
        except ImportError:
            pandas = None
        if pandas is None:
            raise ImportError("to_frame needs pandas: apt install python3-pandas, or pip install pandas")
        if of == "steps":
            return pandas.DataFrame({"mse": self.step_mse, "regret": _filled(self.step_regret, len(self.step_mse))},
                                    index=pandas.RangeIndex(len(self.step_mse), name="step"))
        if of == "clients":
            return pandas.DataFrame({"regret": self.regret}, index=pandas.RangeIndex(len(self.regret), name="client"))
        if of != "predictions":
            raise ValueError(f"of is {of!r}: it must be predictions, steps or clients")
        columns = {"prediction": self.predictions.ravel()}
        if self.intervals is not None:
            columns |= {"low": self.intervals[..., 0].ravel(), "high": self.intervals[..., 1].ravel()}
        places = pandas.MultiIndex.from_product([range(size) for size in self.predictions.shape], names=["step", "client"])
        return pandas.DataFrame(columns, index=places).dropna(subset=["prediction"])

    def _summary(self) -> list[tuple[str, str]]:
        steps, clients = self.predictions.shape
        regret = np.nanmean(self.regret) if np.isfinite(self.regret).any() else float("nan")
        return [
            ("algorithm", self.algorithm),
            ("clients x steps", f"{clients} x {steps}"),
            ("MSE", f"{self.mse:.6g}"),
            ("regret, mean over clients", f"{regret:.4g}"),
            ("numbers up, most in a step", f"{self.uplink_numbers}"),
            ("bytes up / down, per client and step", f"{self.uplink_bytes:.4g} / {self.downlink_bytes:.4g}"),
            ("seconds", f"{self.seconds:.3g}"),
        ] + ([("diverged", self.divergence)] if self.divergence else [])

    def __repr__(self) -> str:
        return f"<Result of {self.algorithm}: MSE {self.mse:.6g}, {self.seconds:.3g} s>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                       for name, value in self._summary())
        return f"<table>{rows}</table>"

    def plot(self, axes: Any = None) -> Any:
        """Error and regret over time, with matplotlib; returns the two axes. axes: two to draw on."""
        try:
            import matplotlib.pyplot as plt  # type: ignore[import]
        except ImportError:
            plt = None
        if plt is None:
            raise ImportError("plot needs matplotlib: apt install python3-matplotlib, or pip install matplotlib")
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


def _filled(numbers: Numbers, size: int) -> Numbers:
    return numbers if len(numbers) else np.full(size, np.nan)

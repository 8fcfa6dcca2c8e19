"""Whole federations in one process."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Callable, Literal, Optional

import numpy as np
from numpy.typing import ArrayLike

from polykern import _core
from polykern._result import Result


class DivergenceWarning(RuntimeWarning):
    """A run has diverged: its rates are too high for these data."""


def simulate(X: ArrayLike, Y: ArrayLike, algorithm: _core.Algorithm, seed: int = 0, threads: int = 0, *,
             uniforms: Optional[ArrayLike] = None, participation: float = 1.0, present: Optional[ArrayLike] = None,
             progress: Optional[Callable[[int, int], object]] = None, coverage: Optional[float] = None, ahead: int = 1,
             device: Literal["cpu", "gpu"] = "cpu") -> Result:
    """Takes K clients through T steps: each predicts, sees its label, learns and sends; the server combines.

    X (T, K, d) and Y (T, K) may be float32 or float64 in any memory layout; they are not copied. The same seed gives
    the same bits, whatever the number of threads (0: all cores), and the same as `polykern run --seed` if the bank has
    the same seed. uniforms (T, K) in [0, 1) fixes every random draw of a client. A client takes part in a step with
    probability `participation`, and only where present (T, K) is True. progress(steps_done, steps) is called a few times
    a second; what it raises ends the run. Other Python threads keep running. coverage, such as 0.9, is the part of the labels
    that is to be within an interval of each prediction. ahead: X[t] is known, and Y[t] predicted, ahead - 1 steps before step t,
    with the model of then, as `load(..., ahead=...)` makes them; Y[t] is learnt at step t. device="gpu": an NVIDIA GPU does the
    work, with the same bits; a ValueError says so if there is none, or if it does not have the algorithm.

    >>> import polykern as pk
    >>> fleet = pk.load("synthetic", clients=8, steps=50)
    >>> bank = pk.KernelBank.rbf(dimension=8, features=20, bandwidths=pk.paper_bandwidths())
    >>> result = pk.simulate(fleet.X, fleet.Y, pk.PofMkl(bank, kernels_per_upload=25))
    >>> result.predictions.shape, result.regret.shape, result.uplink_numbers
    ((50, 8), (8,), 1000)
    """
    if not isinstance(algorithm, _core.Algorithm):
        raise TypeError(f"algorithm must be an Algorithm, not {type(algorithm).__name__}")
    fields = _core.simulate(X, Y, algorithm, seed, threads, uniforms, float(participation), present, progress,
                            None if coverage is None else float(coverage), ahead, device)
    fields["_json"] = fields.pop("json")
    declared = {field.name for field in dataclasses.fields(Result)}  # a list that a run has none of is a plain null in JSON
    result = Result(**{name: value for name, value in fields.items() if name in declared})
    if result.divergence:
        warnings.warn(f"{algorithm.name} diverged at {result.divergence}", DivergenceWarning, stacklevel=2)
    labels = np.asarray(Y)[np.asarray(present)] if present is not None else np.asarray(Y)
    if _core.has_unit_labels(algorithm.name) and labels.size and (labels.min() < 0 or labels.max() > 1):
        warnings.warn(f"{algorithm.name} works with labels in [0, 1]; these go from {labels.min():g} to {labels.max():g}: "
                      "scale them", UserWarning, stacklevel=2)
    return result

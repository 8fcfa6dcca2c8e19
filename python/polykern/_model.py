"""A federation's model on its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern import _net
from polykern._data import Path
from polykern._network import Time

if TYPE_CHECKING:
    from polykern_net import _agent


class Model:
    """What `polykern store export` wrote; `load_model` reads it. It predicts, and learns nothing."""

    def __init__(self, core: _agent.Model) -> None:
        self._core = core

    def predict(self, X: Iterable[Any], time: Optional[Sequence[Time]] = None,
                y: Optional[ArrayLike] = None) -> NDArray[np.float64]:
        """Predictions for the rows of X, (samples,), in the label's unit: those of `polykern predict`, every bit of them.

        X: the samples' own columns, as `Agent.predict` takes each. time: of each row, if the federation has a column of times.
        y: their labels, if it has lags: each is known to the rows after it. Every call starts again.
        """
        if isinstance(X, np.ndarray) and self.columns and X.shape[1:] != (len(self.columns),):
            raise ValueError(f"X has the shape {X.shape}, but it must be (samples, {len(self.columns)}), with the columns " +
                             ", ".join(self.columns))
        return self._core.predict(X, time, y)

    def configuration(self) -> dict[str, str]:
        """What the federation is, as a dict of texts."""
        return self._core.configuration()

    @property
    def columns(self) -> list[str]:
        """Names of the inputs; empty if they have none."""
        return self._core.columns()

    @property
    def step(self) -> int:
        """How many steps it has learnt in."""
        return self._core.step()


def load_model(path: Path, state: Optional[Path] = None) -> Model:
    """Reads what `polykern store export` wrote. Experts are weighed by the clients' mean, where the server knows it (pof-gram),
    or all alike; with `state`, an agent's file, as that agent does. ValueError for a file that is something else or damaged,
    and for a state of another federation.
    """
    return Model(_net.agent.Model(os.fspath(path), None if state is None else os.fspath(state)))

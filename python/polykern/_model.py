"""A federation's model by itself."""

import os

from polykern import _core


class Model:
    """What `polykern store export` wrote; `load_model` reads it. It predicts, and learns nothing."""

    def __init__(self, core):
        self._core = core

    def predict(self, X, time=None, y=None):
        """Predictions for the rows of X, (samples,), in the label's unit: those of `polykern predict`, every bit of them.

        X: the samples' own columns, as `Agent.predict` takes each. time: of each row, if the federation has a column of times.
        y: their labels, if it has lags: each is known to the rows after it. Every call begins anew.
        """
        return self._core.predict(X, time, y)

    def configuration(self):
        """What the federation is, as a dict of texts."""
        return self._core.configuration()

    columns = property(lambda self: self._core.columns(), doc="Names of the inputs; empty if they have none.")
    step = property(lambda self: self._core.step(), doc="How many steps it has learnt in.")


def load_model(path, state=None):
    """Reads what `polykern store export` wrote. Experts are weighed by the clients' mean, where the server knows it (pof-gram),
    or all alike; with `state`, an agent's file, as that agent does. ValueError for a file that is something else or damaged,
    and for a state of another federation.
    """
    return Model(_core.Model(os.fspath(path), None if state is None else os.fspath(state)))

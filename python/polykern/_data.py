"""Data sets: the paper's recipes, your CSV files, the synthetic fleet."""

import os

from polykern import _core


class Data:
    """Samples that are read, scaled and dealt to clients.

    X (T, K, d), Y (T, K) and present (T, K) are what the clients see, step by step. x (n, d) and y (n,) are the rows
    behind them in the order of the files, for one stream; None for the synthetic fleet.
    """

    def __init__(self, core):
        self._core = core
        self._dealt = None

    def _deal(self):
        if self._dealt is None:
            self._dealt = self._core.deal()
        return self._dealt

    X = property(lambda self: self._deal()[0], doc="Inputs, (T, K, d).")
    Y = property(lambda self: self._deal()[1], doc="Labels, (T, K).")
    present = property(lambda self: self._deal()[2], doc="Who has a sample, (T, K); 0 stands in X and Y for others.")
    x = property(lambda self: self._core.x, doc="All rows, (n, d); not a copy.")
    y = property(lambda self: self._core.y, doc="Their labels, (n,); not a copy.")
    name = property(lambda self: self._core.name, doc="What was loaded.")
    seed = property(lambda self: self._core.seed, doc="Of the deal.")
    inputs = property(lambda self: self._core.inputs, doc="The names of the columns.")
    target = property(lambda self: self._core.target, doc="The name of the label's column.")
    sites = property(lambda self: self._core.sites, doc="The site of each client, (K,), a place in site_names.")
    site_names = property(lambda self: self._core.site_names, doc="The names of the sites.")
    notices = property(lambda self: self._core.notices, doc="What a person would want to know of the columns, a text each.")
    dropped_rows = property(lambda self: self._core.dropped_rows, doc="Rows left out because a value is missing.")

    def __repr__(self):
        core = self._core
        return f"<Data {core.name}: {core.clients} clients, {core.steps} steps, {core.dimension} inputs>"


def load(data, data_dir="data", *, target=None, site=None, client=None, time=None, lags=None, calendar=None, ahead=None,
         inputs=None, exclude=None, categorical=None, categories=None, missing=None, decimal=None, delimiter=None,
         scaling=None, ranges=None, split=None, clients=None, steps=None, dimension=None, noise=None, drift=None,
         seed=0):
    """Reads, scales and deals samples, with the same options and the same bits as `polykern run`.

    data: "naval", "uji", "air" or "wec" (their files are below data_dir: `polykern data get`), "synthetic", or one or
    several CSV files, which need a target column. Rows of files keep their order, or that of time (its column, or those
    of year, month, day and so on); lags are own past labels as inputs, calendar hour, weekday and month. ahead: how many steps ahead labels are
    predicted (`simulate` must be told too). ranges, such as {"wind": (0, 60)}, are known beforehand: values outside are clipped.

    >>> import polykern as pk
    >>> fleet = pk.load("synthetic", clients=6, steps=10, seed=3)
    >>> fleet.X.shape, fleet.Y.shape, fleet
    ((10, 6, 8), (10, 6), <Data synthetic: 6 clients, 10 steps, 8 inputs>)
    """
    names = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    names = [os.fspath(name) for name in names]
    for name in names:
        if name != "synthetic" and name not in _core.recipe_names() and os.path.basename(name) != name \
                and not os.path.exists(name):
            raise FileNotFoundError(f"there is no file {name!r}")
    settings = dict(target=target, site=site, client=client, time=time, lags=lags, calendar=calendar, ahead=ahead,
                    inputs=inputs, exclude=exclude, categorical=categorical, categories=categories, missing=missing,
                    decimal=decimal, delimiter=delimiter, scaling=scaling, ranges=ranges, split=split, clients=clients,
                    steps=steps, dimension=dimension, noise=noise, drift=drift, seed=seed)
    return Data(_core.load(names, os.fspath(data_dir), settings))

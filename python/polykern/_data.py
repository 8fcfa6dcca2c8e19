"""Data sets: the paper's recipes, your CSV files, the synthetic fleet."""

from __future__ import annotations

import os
from typing import Literal, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from polykern import _core

Path = Union[str, "os.PathLike[str]"]
Texts = Union[str, Sequence[str]]


class Data:
    """Samples that are read, scaled and dealt to clients.

    X (T, K, d), Y (T, K) and present (T, K) are what the clients see, step by step. x (n, d) and y (n,) are the rows
    behind them in the order of the files, for one stream; None for the synthetic fleet.
    """

    def __init__(self, core: _core.Data) -> None:
        self._core = core
        self._dealt: Optional[tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]] = None

    def _deal(self) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        if self._dealt is None:
            self._dealt = self._core.deal()
        return self._dealt

    @property
    def X(self) -> NDArray[np.float32]:
        """Inputs, (T, K, d)."""
        return self._deal()[0]

    @property
    def Y(self) -> NDArray[np.float64]:
        """Labels, (T, K)."""
        return self._deal()[1]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Who has a sample, (T, K); 0 stands in X and Y for others."""
        return self._deal()[2]

    @property
    def x(self) -> Optional[NDArray[np.float32]]:
        """All rows, (n, d); not a copy."""
        return self._core.x

    @property
    def y(self) -> Optional[NDArray[np.float64]]:
        """Their labels, (n,); not a copy."""
        return self._core.y

    @property
    def name(self) -> str:
        """What was loaded."""
        return self._core.name

    @property
    def seed(self) -> int:
        """Of the deal."""
        return self._core.seed

    @property
    def inputs(self) -> list[str]:
        """The names of the columns."""
        return self._core.inputs

    @property
    def target(self) -> str:
        """The name of the label's column."""
        return self._core.target

    @property
    def sites(self) -> NDArray[np.int64]:
        """The site of each client, (K,), a place in site_names."""
        return self._core.sites

    @property
    def site_names(self) -> list[str]:
        """The names of the sites."""
        return self._core.site_names

    @property
    def notices(self) -> list[str]:
        """What a person would want to know of the columns, a text each."""
        return self._core.notices

    @property
    def dropped_rows(self) -> int:
        """Rows left out because a value is missing."""
        return self._core.dropped_rows

    def __repr__(self) -> str:
        core = self._core
        return f"<Data {core.name}: {core.clients} clients, {core.steps} steps, {core.dimension} inputs>"


def load(data: Union[Path, Sequence[Path]], data_dir: Optional[Path] = None, *, target: Optional[str] = None,
         site: Optional[str] = None, client: Optional[str] = None, time: Optional[Texts] = None,
         lags: Optional[Union[int, Sequence[int]]] = None, calendar: Optional[Texts] = None, ahead: Optional[int] = None,
         inputs: Optional[Texts] = None, exclude: Optional[Texts] = None, categorical: Optional[Texts] = None,
         categories: Optional[Literal["onehot", "code"]] = None,
         missing: Optional[Literal["drop", "error", "impute"]] = None, decimal: Optional[str] = None,
         delimiter: Optional[str] = None, scaling: Optional[Literal["norm", "range"]] = None,
         ranges: Optional[Mapping[str, tuple[float, float]]] = None,
         split: Optional[Literal["iid", "runs", "site", "column", "order"]] = None, major_share: Optional[float] = None,
         clients: Optional[int] = None, steps: Optional[int] = None, dimension: Optional[int] = None,
         noise: Optional[float] = None, drift: Optional[float] = None, seed: int = 0) -> Data:
    """Reads, scales and deals samples, with the same options and the same bits as `polykern run`.

    data: "naval", "uji", "air" or "wec" (their files are below data_dir: `polykern data get`), "synthetic", or one or
    several CSV files, which need a target column. data_dir: as there, POLYKERN_DATA or "data". Rows of files keep their order, or
    that of time (its column, or those of year, month, day and so on); lags are own past labels as inputs, calendar hour, weekday
    and month. ahead: how many steps ahead labels are predicted (`simulate` must be told too). ranges, such as
    {"wind": (0, 60)}, are known beforehand: values outside are clipped. `polykern run --help` says what each of the others is.

    >>> import polykern as pk
    >>> fleet = pk.load("synthetic", clients=6, steps=10, seed=3)
    >>> fleet.X.shape, fleet.Y.shape, fleet
    ((10, 6, 8), (10, 6), <Data synthetic: 6 clients, 10 steps, 8 inputs>)
    """
    settings = {name: value for name, value in locals().items() if name not in ("data", "data_dir")}
    names = [os.fspath(name) for name in ([data] if isinstance(data, (str, os.PathLike)) else data)]
    for name in names:
        if name != "synthetic" and name not in _core.recipe_names() and os.path.basename(name) != name \
                and not os.path.exists(name):
            raise FileNotFoundError(f"there is no file {name!r}")
    folder = os.environ.get("POLYKERN_DATA", "data") if data_dir is None else os.fspath(data_dir)
    return Data(_core.load(names, folder, settings))

"""The real federation: agents beside data streams, and a server inside this process."""

from __future__ import annotations

import atexit
import datetime
import os
import tempfile
import warnings
import weakref
from types import TracebackType
from typing import Any, Literal, Mapping, Optional, Sequence, Union

from numpy.typing import ArrayLike

from polykern import _net
from polykern._data import Path, Texts

Time = Union[str, float, datetime.datetime]
"""Of a sample: a datetime, a text such as "2026-11-16 08:30", or seconds since 1970."""

_open: weakref.WeakSet[Union[Agent, Server]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # Their threads must end before the interpreter does.
    for one in list(_open):
        one.close()


class AgentPrediction(float):
    """A prediction, the step of the model it was made with, and its interval: (low, high), or None."""

    step: int
    interval: Optional[tuple[float, float]]

    def __new__(cls, value: float, step: int, interval: Optional[tuple[float, float]] = None) -> AgentPrediction:
        self = super().__new__(cls, value)
        self.step = step
        self.interval = interval
        return self

    @property
    def value(self) -> float:
        return float(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return AgentPrediction, (float(self), self.step, self.interval)


class Agent:
    """One client of a federation, beside its data: predicts, learns when the label comes, and stays connected without help.

    server: "HOST:PORT". certificates: the folder that `polykern pki issue` (or `issue_certificate`) made; without one
    the connection is not encrypted, the server must be of that kind, and `name` says who this is. state: a file for what
    must survive a restart. wait: how many seconds `predict` waits for a model that this agent has not answered, so that
    every label counts; then it predicts with the newest model it has. 0: it never waits but for the first model. coverage,
    such as 0.9: predictions get an `.interval` that has this part of the labels; None before the first label. masked: it takes
    part only where what it sends is masked, which it does by itself where the server asks for it and its folder has a mask key.
    pending: how many samples with an id may wait for their labels; of more, the oldest is forgotten.

    Inputs and labels are in the units that the server declares; see `configuration()`. Labels outside the target range are
    clipped, with a warning at the first; `status()["clipped"]` counts them, and the server learns their number.

    >>> import polykern as pk
    >>> with pk.Server(dimension=2, target_range=(0, 1)) as server:
    ...     with pk.Agent(server.address, name="kitchen") as agent:
    ...         for step in range(3):
    ...             prediction = agent.predict([0.1, 0.2])
    ...             learnt = agent.learn(0.5)
    ...         agent.wait_until_counted(), prediction.step, learnt
    (True, 2, True)
    """

    def __init__(self, server: str = "127.0.0.1:7433", certificates: Optional[Path] = None, *, name: Optional[str] = None,
                 state: Optional[Path] = None, wait: float = 10.0, coverage: Optional[float] = None, masked: bool = False,
                 pending: int = 10_000) -> None:
        if certificates is None and name is None:
            raise ValueError("an agent needs certificates (the folder of `polykern pki issue`), or, for trials, a name")
        self.wait = float(wait)
        self._warned = False
        self._core = _net.agent.Agent(str(server), _path(certificates), name, _path(state),
                                      None if coverage is None else float(coverage), bool(masked), pending)
        _open.add(self)

    def predict(self, x: Union[Sequence[Any], ArrayLike], time: Optional[Time] = None, *,
                id: Optional[Union[str, int]] = None) -> AgentPrediction:
        """A float that also has `.value`, `.step` and `.interval`. RuntimeError if there is no model yet.

        x: the sample's own columns; past labels and the calendar are added here, where the server asks for them. Of a column of
        texts a str, of a missing number None or NaN, if the server has `missing="impute"`. time: when it was, if the server has
        a column of times: a datetime, a text such as "2026-11-16 08:30", or seconds since 1970. id: what this sample is called when
        its label comes late, after other samples; `learn` is given the same one. A second sample with the id takes the place of the
        first. Samples that wait are not in the state file: after a restart, predict them again.

        If the server refuses this agent, it predicts with the newest model it has; `status()["failure"]` says why.
        """
        self._meet()
        return AgentPrediction(*self._core.predict(x, time, _text(id)))

    def _meet(self) -> None:
        """Waits for a model that this agent has not answered, or at least for one."""
        status = self.status()
        if self.wait > 0 or not status["ready"] or status["superseded"]:
            try:
                self._core.wait_for_step(self.wait if self.wait > 0 else 10.0)
            except RuntimeError:
                if not self.status()["ready"]:
                    raise

    def learn(self, y: float, position: int = 0, *, id: Optional[Union[str, int]] = None) -> bool:
        """Learns from the label of the last prediction. False if its step was answered already or all is finished.
        Where the server predicts several steps `ahead`, it is the label of so many samples before, less 1, and False for the first ones.

        RuntimeError if the state cannot be written, or the label is so far off that the server would reject the update:
        then nothing is learnt, and `learn` may be called again.

        id: the label is that of the sample with this id, in any order; RuntimeError if no such sample waits. As `polykern join`
        does, it is learnt with the newest model (waiting for one as `predict` does), while intervals go by what was predicted.

        position: kept with the state file, for the caller.
        """
        if id is not None:
            self._meet()
        learnt = self._core.learn(y, position, _text(id))
        if not self._warned and self.status()["clipped"] > 0:
            self._warned = True
            warnings.warn(f"the label {y} is outside the federation's target range and is clipped, as others will be",
                          stacklevel=2)
        return learnt

    def wait_for_step(self, timeout: float = 10.0) -> bool:
        """Waits for a model that this agent has not answered; False if none came in time."""
        return self._core.wait_for_step(timeout)

    def wait_until_counted(self, timeout: float = 10.0) -> bool:
        """Waits until the server is past the last step that was answered."""
        return self._core.wait_until_counted(timeout)

    def tell_ranges(self, x: ArrayLike, y: ArrayLike) -> bool:
        """Where the server learns ranges: tells it the least and greatest value of each column of x (samples, inputs) and of
        the labels y, once, and nothing else of them. Then `wait_for_step` waits until enough agents have told theirs, and
        these samples can be predicted and learnt from like any other. `status()["learn_ranges"]`: how many it wants.

        False if the ranges are known already: then nothing is told.
        """
        return self._core.tell_ranges(x, y, self.wait if self.wait > 0 else 10.0)

    def configuration(self) -> dict[str, str]:
        """What the federation is, as a dict of texts."""
        return self._core.configuration()

    def status(self) -> dict[str, Any]:
        """A dict: ready, learn_ranges, connected, finished, superseded (another federation has begun from this one, to which `predict`
        moves), step, client, learnt, unlearnt, clipped, rejected,
        not_learnt (why the last label was not learnt from, though it is good), waiting and forgotten (samples with an id),
        trouble, failure."""
        return self._core.status()

    @property
    def position(self) -> int:
        """The position of the last learn, of an earlier process as well."""
        return self._core.position()

    def close(self) -> None:
        """Ends the connection; nothing else can be called then."""
        self._core.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 place: Optional[TracebackType]) -> None:
        self.close()


class Server:
    """A federation's server in this process: for tests and notebooks. `polykern serve` is the same for months.

    algorithm: a name of `algorithm_names()` (default: "pof-gram"); its options are further arguments (kernels, features, kernels_per_upload,
    ...). dimension: inputs per sample; or columns, {name: (low, high)}, which are scaled by these ranges. target_range: (low,
    high), by which labels are scaled to [0, 1], or "none": they are used as they are; a new store needs one of them, or
    learn_ranges: all ranges are learnt from so many samples of each client (`Agent.tell_ranges`); columns are a list of names then,
    and clients or a quorum must say whose samples count. target: the label's name, or (name, low, high) for both. store: the file that remembers everything; None: a temporary one.
    listen: "HOST:PORT", port 0: any that is free. certificates: the authority's folder (`polykern pki init`, or `init_authority`); None: no encryption,
    on the loopback only. clients: the only ones, numbered in this order; None: all that come. quorum: how many, or which
    share of those that are there ("80%" or 0.8, but least_clients, 2, at least), must answer a step; None: all. deadline: seconds after the first answer when a quorum ends a step. steps: 0:
    without end. seed: that of `polykern run` gives the same features (default: 0). time, lags, calendar, ahead, missing,
    categories ({column: its texts}, or names of columns) as `polykern serve` has them: agents make these inputs.

    With masking="helper" the server sees only sums over several clients, as long as it does not work with the helper; helper says
    where `polykern helper` listens. With epsilon,
    sums get noise, from the helper or, without masks, from this server; `status()["noise"]` says what is spent.

    from_store: the store of a federation from which a new one begins: what is not given is as there, and clients use its model beside
    what they learn. Agents that know that federation move to the new one, and are given samples as it wants them from then on.

    A store that exists says what its federation is: whatever is not given comes from there, and what is given must agree.

    >>> import polykern as pk
    >>> with pk.Server(dimension=3, target_range=(0, 100), steps=5) as server:
    ...     server.status()["step"], server.address.startswith("127.0.0.1:")
    (0, True)
    """

    def __init__(self, algorithm: Optional[str] = None, dimension: Optional[int] = None, *,
                 columns: Optional[Union[Sequence[str], Mapping[str, Optional[tuple[float, float]]]]] = None,
                 target: Optional[Union[str, tuple[str, float, float]]] = None,
                 target_range: Optional[Union[tuple[float, float], Literal["none"]]] = None,
                 learn_ranges: Optional[int] = None, store: Optional[Path] = None, listen: str = "127.0.0.1:0",
                 certificates: Optional[Path] = None, clients: Optional[Sequence[str]] = None,
                 quorum: Optional[Union[int, float, str]] = None, deadline: float = 10.0, steps: int = 0,
                 horizon: Optional[int] = None, seed: Optional[int] = None, time: Optional[str] = None,
                 lags: Optional[Union[int, Sequence[int]]] = None, calendar: Optional[Texts] = None,
                 ahead: Optional[int] = None, missing: Optional[str] = None,
                 categories: Optional[Union[Texts, Mapping[str, Sequence[str]]]] = None, helper: Optional[str] = None,
                 from_store: Optional[Path] = None, **options: Any) -> None:
        if target is not None and not isinstance(target, str):
            if target_range is not None:
                raise ValueError("target has a range already: leave out target_range, or give the target's name alone")
            name, low, high = target
            target, target_range = name, (low, high)
        plain = isinstance(target_range, str)
        if plain and target_range != "none":
            raise ValueError(f'target_range is {target_range!r}: it must be (low, high) or "none"')
        ends = None if target_range is None or isinstance(target_range, str) else (float(target_range[0]), float(target_range[1]))
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        if store is None:
            self._folder = tempfile.TemporaryDirectory(prefix="polykern-")
            store = os.path.join(self._folder.name, "store.db")
        ends_of = columns if isinstance(columns, Mapping) else {}
        ranges = [(name, float(pair[0]), float(pair[1])) for name, pair in ends_of.items() if pair is not None]
        if isinstance(categories, Mapping):
            categories = [f"{name}={':'.join(texts)}" if texts else name for name, texts in categories.items()]
        inputs = dict(time=time, lags=lags, calendar=calendar, ahead=ahead, missing=missing, categories=categories,
                      from_store=_path(from_store))
        self._core = _net.server.Server(algorithm, dimension, list(columns or []), ranges, target, ends, plain, learn_ranges, os.fspath(store), listen,
                                        _path(certificates), list(clients or []), quorum, float(deadline), steps, horizon, seed, inputs, options, helper or "")
        _open.add(self)

    @property
    def address(self) -> str:
        """HOST:PORT, with the port it got."""
        return self._core.address()

    def status(self) -> dict[str, Any]:
        """A dict: step, finished, learns_ranges, enrolled, connected, answered, accepted, late, duplicates, rejected, clipped, releases,
        discarded, noise (None, or a dict: epsilon, delta, epsilon_spent, releases, releases_left), trouble, failure."""
        return self._core.status()

    def close(self) -> None:
        """Stops listening. The store, unless temporary, is where another server resumes."""
        self._core.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 place: Optional[TracebackType]) -> None:
        self.close()


def init_authority(folder: Path, hosts: Sequence[str] = ()) -> None:
    """Makes an authority in the folder, and the server's certificate for these hosts: `polykern pki init`."""
    _net.agent.init_authority(os.fspath(folder), list(hosts))


def issue_certificate(folder: Path, name: str) -> str:
    """Makes a client's certificates: `polykern pki issue`. Returns their folder, for `Agent`."""
    return _net.agent.issue_certificate(os.fspath(folder), name)


def _path(given: Optional[Path]) -> Optional[str]:
    return None if given is None else os.fspath(given)


def _text(id: Optional[Union[str, int]]) -> Optional[str]:
    return None if id is None else str(id)

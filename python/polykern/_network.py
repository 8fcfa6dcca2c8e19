"""The real federation: agents beside data streams, and a server inside this process."""

import atexit
import os
import tempfile
import warnings
import weakref

from polykern import _core

_open = weakref.WeakSet()


@atexit.register
def _close_all():
    # Their threads must end before the interpreter does.
    for one in list(_open):
        one.close()


class AgentPrediction(float):
    """A prediction, the step of the model it was made with, and its interval: (low, high), or None."""

    def __new__(cls, value, step, interval=None):
        self = super().__new__(cls, value)
        self.step = step
        self.interval = interval
        return self

    @property
    def value(self):
        return float(self)

    def __reduce__(self):
        return AgentPrediction, (float(self), self.step, self.interval)


class Agent:
    """One client of a federation, beside its data: predicts, learns when the label comes, keeps in touch by itself.

    server: "HOST:PORT". certificates: the folder that `polykern pki issue` (or `issue_certificate`) made; without one
    the connection is not encrypted, the server must be of that kind, and `name` says who this is. state: a file for what
    must survive a restart. wait: how many seconds `predict` waits for a model that this agent has not answered, so that
    every label counts; then it predicts with the newest model it has. 0: it never waits but for the first model. coverage,
    such as 0.9: predictions get an `.interval` that has this part of the labels; None before the first label. masked: it takes
    part only where what it sends is masked, which it does by itself where the server asks for it and its folder has a mask key.

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

    def __init__(self, server="127.0.0.1:7433", certificates=None, *, name=None, state=None, wait=10.0, coverage=None,
                 masked=False):
        if certificates is None and name is None:
            raise ValueError("an agent needs certificates (the folder of `polykern pki issue`), or, for trials, a name")
        self.wait = float(wait)
        self._warned = False
        self._core = _core.Agent(str(server), None if certificates is None else os.fspath(certificates), name,
                                 None if state is None else os.fspath(state),
                                 None if coverage is None else float(coverage), bool(masked))
        _open.add(self)

    def predict(self, x, time=None):
        """A float that also has `.value`, `.step` and `.interval`. RuntimeError if there is no model yet.

        x: the sample's own columns; past labels and the calendar are added here, where the server asks for them. Of a column of
        texts a str, of a missing number None or NaN, if the server has `missing="impute"`. time: when it was, if the server has
        a column of times: a datetime, a text such as "2026-11-16 08:30", or seconds since 1970.

        If the server refuses this agent, it predicts with the newest model it has; `status()["failure"]` says why.
        """
        status = self.status()
        if self.wait > 0 or not status["ready"] or status["superseded"]:
            try:
                self._core.wait_for_step(self.wait if self.wait > 0 else 10.0)
            except RuntimeError:
                if not self.status()["ready"]:
                    raise
        return AgentPrediction(*self._core.predict(x, time))

    def learn(self, y, position=0):
        """Learns from the label of the last prediction. False if its step was answered already or all is finished.
        Where the server predicts several steps `ahead`, it is the label of so many samples before, less 1, and False for the first ones.

        RuntimeError if the state cannot be written, or the label is so far off that the server would reject the update:
        then nothing is learnt, and `learn` may be called again.

        position: kept with the state file, for the caller.
        """
        learnt = self._core.learn(y, position)
        if not self._warned and self.status()["clipped"] > 0:
            self._warned = True
            warnings.warn(f"the label {y} is outside the federation's target range and is clipped; so will others be",
                          stacklevel=2)
        return learnt

    def wait_for_step(self, timeout=10.0):
        """Waits for a model that this agent has not answered; False if there is none by then."""
        return self._core.wait_for_step(timeout)

    def wait_until_counted(self, timeout=10.0):
        """Waits until the server is past the last step that was answered."""
        return self._core.wait_until_counted(timeout)

    def tell_ranges(self, x, y):
        """Where the server learns ranges: tells it the least and greatest value of each column of x (samples, inputs) and of
        the labels y, once, and nothing else of them. Then `wait_for_step` waits until enough agents have told theirs, and
        these samples can be predicted and learnt from like any other. `status()["learn_ranges"]`: how many it wants.

        False if the ranges are known already: then nothing is told.
        """
        return self._core.tell_ranges(x, y, self.wait if self.wait > 0 else 10.0)

    def configuration(self):
        """What the federation is, as a dict of texts."""
        return self._core.configuration()

    def status(self):
        """A dict: ready, learn_ranges, connected, finished, superseded (another federation has begun from this one, to which `predict`
        moves), step, client, learnt, unlearnt, clipped, rejected,
        not_learnt (why the last label was not learnt from, though it is good), trouble, failure."""
        return self._core.status()

    @property
    def position(self):
        """The position of the last learn, of an earlier process as well."""
        return self._core.position()

    def close(self):
        """Ends the connection; nothing else can be called then."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """A federation's server in this process: for tests and notebooks. `polykern serve` is the same for months.

    algorithm: a name of `algorithm_names()` (default: "pof-gram"); its options are further arguments (kernels, features, kernels_per_upload,
    ...). dimension: inputs per sample; or columns, {name: (low, high)}, which are scaled by these ranges. target_range: (low,
    high), by which labels are scaled to [0, 1], or "none": they are used as they are; a new store needs one of them, or
    learn_ranges: all ranges are learnt from so many samples of each client (`Agent.tell_ranges`); columns are a list of names then,
    and clients or a quorum must say whose samples count. target: the label's name, or (name, low, high) for both. store: the file that remembers everything; None: a temporary one.
    listen: "HOST:PORT", port 0: any that is free. certificates: the authority's folder (`polykern pki init`, or `init_authority`); None: no encryption,
    on the loopback only. clients: the only ones, numbered in this order; None: whoever comes. quorum: how many, or which
    share of those that are there ("80%" or 0.8, but least_clients, 2, at least), must answer a step; None: all. deadline: seconds after the first answer when a quorum ends a step. steps: 0:
    without end. seed: that of `polykern run` gives the same features (default: 0). time, lags, calendar, ahead, missing,
    categories ({column: its texts}, or names of columns) as `polykern serve` has them: agents make these inputs.

    With masking="helper" the server sees sums over many clients alone; helper says where `polykern helper` listens. With epsilon,
    sums get noise, from the helper or, without masks, from this server; `status()["noise"]` says what is spent.

    from_store: the store of a federation from which a new one begins: what is not given is as there, and clients use its model beside
    what they learn. Agents that know that federation move to the new one, and are given samples as it wants them from then on.

    A store that exists says what its federation is: whatever is not given comes from there, and what is given must agree.

    >>> import polykern as pk
    >>> with pk.Server(dimension=3, target_range=(0, 100), steps=5) as server:
    ...     server.status()["step"], server.address.startswith("127.0.0.1:")
    (0, True)
    """

    def __init__(self, algorithm=None, dimension=None, *, columns=None, target=None, target_range=None, learn_ranges=None,
                 store=None, listen="127.0.0.1:0", certificates=None, clients=None, quorum=None, deadline=10.0, steps=0, horizon=None,
                 seed=None, time=None, lags=None, calendar=None, ahead=None, missing=None, categories=None, helper=None, from_store=None, **options):
        if target is not None and not isinstance(target, str):
            if target_range is not None:
                raise ValueError("target has a range already: leave out target_range, or give the target's name alone")
            name, low, high = target
            target, target_range = name, (low, high)
        plain = isinstance(target_range, str)
        if plain and target_range != "none":
            raise ValueError(f'target_range is {target_range!r}: it must be (low, high) or "none"')
        ends = None if target_range is None or plain else tuple(map(float, target_range))
        self._folder = None
        if store is None:
            self._folder = tempfile.TemporaryDirectory(prefix="polykern-")
            store = os.path.join(self._folder.name, "store.db")
        ends_of = columns if hasattr(columns, "items") else {}
        ranges = [(name, float(pair[0]), float(pair[1])) for name, pair in ends_of.items() if pair is not None]
        if hasattr(categories, "items"):
            categories = [f"{name}={':'.join(texts)}" if texts else name for name, texts in categories.items()]
        inputs = dict(time=time, lags=lags, calendar=calendar, ahead=ahead, missing=missing, categories=categories,
                      from_store=None if from_store is None else os.fspath(from_store))
        self._core = _core.Server(algorithm, dimension, list(columns or []), ranges, target, ends, plain, learn_ranges, os.fspath(store), listen,
                                  None if certificates is None else os.fspath(certificates), list(clients or []), quorum,
                                  float(deadline), steps, horizon, seed, inputs, options, helper or "")
        _open.add(self)

    @property
    def address(self):
        """HOST:PORT, with the port it got."""
        return self._core.address()

    def status(self):
        """A dict: step, finished, learns_ranges, enrolled, connected, answered, accepted, late, duplicates, rejected, clipped, releases,
        discarded, noise (None, or a dict: epsilon, delta, epsilon_spent, releases, releases_left), trouble, failure."""
        return self._core.status()

    def close(self):
        """Stops listening. The store, unless temporary, is where another server resumes."""
        self._core.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

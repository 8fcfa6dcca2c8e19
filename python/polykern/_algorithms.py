"""The algorithms: a class for each, all of one shape."""

from polykern import _core


def _restore(cls, bank, dimension, settings):
    algorithm = cls.__new__(cls)
    Algorithm.__init__(algorithm, cls._name, bank, dimension=dimension, **settings)
    return algorithm


class Algorithm(_core.Algorithm):
    """An online federated learner. Immutable; use one of its subclasses, or `make_algorithm`.

    It is refused at once if it does not fit its bank:

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=2, features=4, bandwidths=[0.1, 1, 10])
    >>> pk.PofMkl(bank, kernels_per_upload=4)
    Traceback (most recent call last):
    ...
    ValueError: kernels_per_upload is 4; the dictionary has only 3 kernels

    Settings that all share: `horizon` is T in rates of 1 / sqrt(T) (default: the steps of `simulate`; for halves of
    their own 10,000); `seed` is of the halves' draws (`simulate` has its own); `budget` is the most numbers a client may
    send in a step (default: whatever the bank and the other settings make).
    """

    _name = None

    def __init__(self, name, bank=None, *, dimension=None, horizon=None, seed=0, **options):
        super().__init__(name, bank, dimension, horizon, seed, options)
        given = dict(options, horizon=horizon, seed=seed)
        self._settings = {key: value for key, value in given.items() if value is not None}

    def client(self, id=0):
        """A client's half. Clients of one server have numbers of their own: keys of their random draws."""
        return _core.ClientHalf(self, id)

    def server(self):
        """A server's half, at its start."""
        return _core.ServerHalf(self)

    @property
    def settings(self):
        """What it was given, as a dict."""
        return dict(self._settings)

    def __reduce__(self):
        return _restore, (type(self), self.bank, self.dimension, self._settings)

    def __repr__(self):
        shown = ", ".join(f"{key}={value!r}" for key, value in self._settings.items() if (key, value) != ("seed", 0))
        what = repr(self.bank) if self.bank is not None else f"dimension={self.dimension}"
        return f"{type(self).__name__}({what}{', ' if shown else ''}{shown})"


class PofMkl(Algorithm):
    """POF-MKL, the paper's algorithm: a shared model per kernel, a private mix of kernels per client.

    kernels_per_upload: M. exploration: xi in (0, 1]. learning_rate: eta; weight_rate: eta_k; both 1 / sqrt(T) if
    unset, and with schedule="anytime" multiplied by 1 / sqrt(t), so that they need no T. regularization: lambda.
    loss: squared, huber (with huber_delta) or logistic (labels 0 and 1).

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=2, features=50, bandwidths=pk.paper_bandwidths(), seed=1)
    >>> algorithm = pk.PofMkl(bank, kernels_per_upload=5, learning_rate=0.1, weight_rate=0.1)
    >>> server, client = algorithm.server(), algorithm.client(0)
    >>> for step in range(3):
    ...     client.receive(server.broadcast())
    ...     prediction = client.predict([0.3, -0.1])
    ...     server.aggregate([client.learn(0.7)])
    >>> server.theta.shape, prediction.per_kernel.shape, client.weights.shape
    ((51, 100), (51,), (51,))
    """

    _name = "pof-mkl"

    def __init__(self, bank, *, kernels_per_upload=1, exploration=1.0, learning_rate=None, weight_rate=None,
                 schedule="constant", regularization=1e-6, loss="squared", huber_delta=0.1, budget=None, horizon=None,
                 seed=0):
        super().__init__(self._name, bank, kernels_per_upload=kernels_per_upload, exploration=exploration,
                         learning_rate=learning_rate, weight_rate=weight_rate, schedule=schedule,
                         regularization=regularization, loss=loss, huber_delta=huber_delta, budget=budget,
                         horizon=horizon, seed=seed)


class PofNewton(Algorithm):
    """The second-order successor of POF-MKL: the server solves every kernel's ridge regression.

    Labels must lie in [0, 1]: outside they are clipped on their way to the server. kernels_per_upload: by default as
    many as 1000 numbers hold. local_experts: private regressions of `local_kernels` kernels beside the shared ones,
    in at most `local_memory` KiB per client. forgetting: what a step leaves of the samples before it, in (0, 1].
    weighting: adahedge, hedge or aggregating. server_memory: MiB, most that the regressions may take.

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=8, features=20, bandwidths=pk.paper_bandwidths())
    >>> data = pk.load("synthetic", steps=100)
    >>> bool(pk.simulate(data.X, data.Y, pk.PofNewton(bank)).mse < pk.simulate(data.X, data.Y, pk.PofMkl(bank)).mse)
    True
    """

    _name = "pof-newton"

    def __init__(self, bank, *, kernels_per_upload=None, exploration=0.2, weighting="adahedge", weight_rate=None,
                 ridge=1e-4, forgetting=1.0, refresh=0.02, server_memory=4096, local_experts=True, local_kernels=8,
                 local_memory=None, budget=None, horizon=None, seed=0):
        super().__init__(self._name, bank, kernels_per_upload=kernels_per_upload, exploration=exploration,
                         weighting=weighting, weight_rate=weight_rate, ridge=ridge, forgetting=forgetting,
                         refresh=refresh, server_memory=server_memory, local_experts=local_experts,
                         local_kernels=local_kernels, local_memory=local_memory, budget=budget, horizon=horizon,
                         seed=seed)


class PofAdagrad(Algorithm):
    """POF-MKL with AdaGrad's step sizes and AdaHedge's weights: for servers that may see only sums.

    learning_rate is 1 if unset; there is no T in it.
    """

    _name = "pof-adagrad"

    def __init__(self, bank, *, kernels_per_upload=1, exploration=1.0, learning_rate=None, regularization=1e-6,
                 loss="squared", huber_delta=0.1, budget=None, horizon=None, seed=0):
        super().__init__(self._name, bank, kernels_per_upload=kernels_per_upload, exploration=exploration,
                         learning_rate=learning_rate, regularization=regularization, loss=loss,
                         huber_delta=huber_delta, budget=budget, horizon=horizon, seed=seed)


class _Stepped:
    """Settings of algorithms that take gradient steps and learn no weights."""

    def __init__(self, bank, *, learning_rate=None, regularization=1e-6, loss="squared", huber_delta=0.1, budget=None,
                 horizon=None, seed=0):
        super().__init__(self._name, bank, learning_rate=learning_rate, regularization=regularization, loss=loss,
                         huber_delta=huber_delta, budget=budget, horizon=horizon, seed=seed)


class _Weighted:
    """Settings of algorithms that take gradient steps and learn weights of the kernels."""

    def __init__(self, bank, *, learning_rate=None, weight_rate=None, regularization=1e-6, loss="squared",
                 huber_delta=0.1, budget=None, horizon=None, seed=0):
        super().__init__(self._name, bank, learning_rate=learning_rate, weight_rate=weight_rate,
                         regularization=regularization, loss=loss, huber_delta=huber_delta, budget=budget,
                         horizon=horizon, seed=seed)


class Ofskl(_Stepped, Algorithm):
    """One kernel, stepped by every client. The bank has one kernel (the paper's: bandwidth 10).

    >>> import polykern as pk
    >>> pk.Ofskl(pk.KernelBank.rbf(dimension=2, features=100, bandwidths=[10])).uplink_numbers
    200
    """

    _name = "ofskl"


class OfmklAvg(_Stepped, Algorithm):
    """Every client steps every kernel; the prediction is their mean."""

    _name = "ofmkl-avg"


class VmKofl(_Weighted, Algorithm):
    """Every client steps every kernel; the server keeps one weight per kernel for all."""

    _name = "vm-kofl"


class EmKofl(_Weighted, Algorithm):
    """Clients step all kernels for themselves; the server draws one kernel a step and averages it."""

    _name = "em-kofl"


class FomdOms(Algorithm):
    """FOMD-OMS: the server draws two kernels for each client. Needs two kernels at least."""

    _name = "fomd-oms"

    def __init__(self, bank, *, learning_rate=None, weight_rate=None, regularization=1e-6, projection_radius=10.0,
                 loss="squared", huber_delta=0.1, budget=None, horizon=None, seed=0):
        super().__init__(self._name, bank, learning_rate=learning_rate, weight_rate=weight_rate,
                         regularization=regularization, projection_radius=projection_radius, loss=loss,
                         huber_delta=huber_delta, budget=budget, horizon=horizon, seed=seed)


class PerFedAvg(Algorithm):
    """A small neural network, personalised by a step of its own: no kernels, so no bank.

    The network has as many hidden layers of 20 units as keep it within `budget` parameters.

    >>> import polykern as pk
    >>> pk.PerFedAvg(dimension=15).uplink_numbers
    761
    """

    _name = "perfedavg"

    def __init__(self, dimension, *, inner_rate=0.01, meta_rate=0.001, hessian_free=False, loss="squared",
                 huber_delta=0.1, budget=1000, horizon=None, seed=0):
        super().__init__(self._name, dimension=dimension, inner_rate=inner_rate, meta_rate=meta_rate,
                         hessian_free=hessian_free, loss=loss, huber_delta=huber_delta, budget=budget, horizon=horizon,
                         seed=seed)


class Local(Algorithm):
    """No federation: POF-MKL's client alone, every kernel stepped."""

    _name = "local"

    def __init__(self, bank, *, learning_rate=None, weight_rate=None, regularization=1e-6, loss="squared",
                 huber_delta=0.1, horizon=None, seed=0):
        super().__init__(self._name, bank, learning_rate=learning_rate, weight_rate=weight_rate,
                         regularization=regularization, loss=loss, huber_delta=huber_delta, horizon=horizon, seed=seed)


class LocalRls(Algorithm):
    """No federation: recursive least squares per kernel, mixed by AdaHedge. Labels lie in [0, 1].

    local_memory: KiB, most that a client may take (default: 512, which 51 kernels with 17 features need).
    """

    _name = "local-rls"

    def __init__(self, bank, *, weighting="adahedge", weight_rate=None, ridge=1e-4, forgetting=1.0, local_memory=None,
                 horizon=None, seed=0):
        super().__init__(self._name, bank, weighting=weighting, weight_rate=weight_rate, ridge=ridge,
                         forgetting=forgetting, local_memory=local_memory, horizon=horizon, seed=seed)


_BY_NAME = {cls._name: cls for cls in (PofMkl, PofNewton, PofAdagrad, Ofskl, OfmklAvg, VmKofl, EmKofl, FomdOms, PerFedAvg,
                                       Local, LocalRls)}


def make_algorithm(name, bank_or_dimension, **settings):
    """An algorithm by the name that the program uses; `perfedavg` takes a dimension, all others a bank.

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=2, features=4, bandwidths=[0.1, 1, 10])
    >>> pk.make_algorithm("pof-mkl", bank, kernels_per_upload=2)
    PofMkl(<KernelBank: 3 kernels, 4 features, 2 inputs>, kernels_per_upload=2, ...)
    """
    if name not in _BY_NAME:
        raise ValueError(f"unknown algorithm {name!r}; there are: {', '.join(_BY_NAME)}")
    return _BY_NAME[name](bank_or_dimension, **settings)

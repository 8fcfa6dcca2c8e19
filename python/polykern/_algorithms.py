"""The algorithms: a class for each, all of one shape. Their options come from the library's declarations."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Optional, Union

from polykern import _core

# A bank has these already.
_FROM_BANK = {"dictionary", "kernels", "features", "orthogonal", "shared_draws", "single_bandwidth"}


def _restore(cls: Any, bank: Optional[_core.KernelBank], dimension: int, settings: dict[str, Any]) -> Algorithm:
    made: Algorithm = cls(dimension if bank is None else bank, **settings)
    return made


def _keyword(name: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


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
    send in a step (default: whatever the bank and the other settings make). `help` lists the options of a class.
    """

    _name: ClassVar[str] = ""
    _over: ClassVar[str] = "bank"  # or dimension: what it is made over
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        options = [option for option in _core.algorithm_options(cls._name)
                   if cls._over == "dimension" or option[0] not in _FROM_BANK]
        # Over a bank no budget means none.
        keywords = [_keyword(key, None if key == "budget" and cls._over == "bank" else default)
                    for key, default, *_ in options]
        cls.__signature__ = inspect.Signature(
            [inspect.Parameter(cls._over, inspect.Parameter.POSITIONAL_OR_KEYWORD), *keywords,
             _keyword("horizon", None), _keyword("seed", 0)])
        listed = "".join(f"    {key}: {text}.\n" for key, _, text, *_ in options)
        cls.__doc__ = f"{cls.__doc__ or ''}\n    Options:\n\n{listed}"

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        if not self._name:
            raise TypeError("use one of the classes below Algorithm, or make_algorithm")
        given = dict(settings)
        if "local_experts" in given and "experts" in type(self).__signature__.parameters:
            given["experts"] = given.pop("local_experts")  # its former name
            if "experts" in settings:
                raise TypeError(f"{type(self).__name__}: local_experts is the former name of experts: give one of them")
        try:
            bound = type(self).__signature__.bind(*arguments, **given)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        over = bound.arguments[self._over]
        self._settings = {key: value for key, value in settings.items() if key != self._over and value is not None}
        options = {key: value for key, value in self._settings.items() if key not in ("horizon", "seed")}
        bank, dimension = (over, None) if self._over == "bank" else (None, over)
        super().__init__(self._name, bank, dimension, settings.get("horizon"), settings.get("seed", 0), options)

    def client(self, id: int = 0) -> _core.ClientHalf:
        """A client's half. Clients of one server have numbers of their own: keys of their random draws."""
        return _core.ClientHalf(self, id)

    def server(self, clients: int = 0) -> _core.ServerHalf:
        """A server's half, at its start. `clients`: that are expected in the first step, if known, for pof-gram's turn."""
        return _core.ServerHalf(self, clients)

    @property
    def settings(self) -> dict[str, Any]:
        """What it was given, as a dict."""
        return dict(self._settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.bank, self.dimension, self._settings)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._settings.items())
        what = repr(self.bank) if self.bank is not None else f"dimension={self.dimension}"
        return f"{type(self).__name__}({what}{', ' if shown else ''}{shown})"


class PofMkl(Algorithm):
    """POF-MKL, the paper's algorithm: a shared model per kernel, a private mix of kernels per client.

    Logistic loss is for labels 0 and 1.

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


class PofNewton(Algorithm):
    """The second-order successor of POF-MKL: the server solves every kernel's ridge regression.

    Labels must lie in [0, 1]: outside they are clipped on their way to the server.

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=8, features=20, bandwidths=pk.paper_bandwidths())
    >>> data = pk.load("synthetic", steps=100)
    >>> bool(pk.simulate(data.X, data.Y, pk.PofNewton(bank)).mse < pk.simulate(data.X, data.Y, pk.PofMkl(bank)).mse)
    True
    """

    _name = "pof-newton"


class PofGram(Algorithm):
    """Second order, whose server needs only sums over samples. Without masks it sees each client's own sums.

    It has kernels of its own, so it is made over the number of inputs. Labels must lie in [0, 1]: outside they are
    clipped on their way to the server. `uplink_numbers` is the most in one message; on average it is at most `budget`.

    >>> import polykern as pk
    >>> data = pk.load("synthetic", steps=100)
    >>> bank = pk.KernelBank.rbf(dimension=8, features=100, bandwidths=pk.paper_bandwidths())
    >>> gram, mkl = pk.PofGram(dimension=8), pk.PofMkl(bank)
    >>> bool(pk.simulate(data.X, data.Y, gram).mse < pk.simulate(data.X, data.Y, mkl).mse)
    True

    With epsilon, sums get noise that hides whether a sample is in them:

    >>> private = pk.simulate(data.X, data.Y, pk.PofGram(dimension=8, epsilon=1))
    >>> 0 < private.epsilon_spent <= 1
    True
    """

    _name = "pof-gram"
    _over = "dimension"


class PofAdagrad(Algorithm):
    """POF-MKL with AdaGrad's step sizes and AdaHedge's weights: for servers that may see only sums.

    There is no T in its rates.
    """

    _name = "pof-adagrad"


class Ofskl(Algorithm):
    """One kernel, stepped by every client. The bank has one kernel (the paper's: bandwidth 10).

    >>> import polykern as pk
    >>> pk.Ofskl(pk.KernelBank.rbf(dimension=2, features=100, bandwidths=[10])).uplink_numbers
    200
    """

    _name = "ofskl"


class OfmklAvg(Algorithm):
    """Every client steps every kernel; the prediction is their mean."""

    _name = "ofmkl-avg"


class VmKofl(Algorithm):
    """Every client steps every kernel; the server keeps one weight per kernel for all."""

    _name = "vm-kofl"


class EmKofl(Algorithm):
    """Clients step all kernels for themselves; the server draws one kernel a step and averages it."""

    _name = "em-kofl"


class FomdOms(Algorithm):
    """FOMD-OMS: the server draws two kernels for each client. Needs two kernels at least."""

    _name = "fomd-oms"


class FedPoe(Algorithm):
    """Fed-POE: a client mixes the federated model with a private copy of it. The bank has three kernels (the paper's below).

    >>> import polykern as pk
    >>> pk.FedPoe(pk.KernelBank.rbf(dimension=2, features=100, bandwidths=[0.1, 1, 10])).uplink_numbers
    600
    """

    _name = "fed-poe"


class PerFedAvg(Algorithm):
    """A small neural network, personalised by a step of its own: no kernels, so no bank.

    The network has as many hidden layers of 20 units as keep it within `budget` parameters.

    >>> import polykern as pk
    >>> pk.PerFedAvg(dimension=15).uplink_numbers
    761
    """

    _name = "perfedavg"
    _over = "dimension"


class Local(Algorithm):
    """No federation: POF-MKL's client alone, every kernel stepped."""

    _name = "local"


class LocalRls(Algorithm):
    """No federation: recursive least squares per kernel, mixed by AdaHedge. Labels lie in [0, 1].

    The default memory holds 51 kernels with 17 features.
    """

    _name = "local-rls"


_BY_NAME: dict[str, type[Algorithm]] = {cls._name: cls for cls in Algorithm.__subclasses__()}


def make_algorithm(name: str, bank_or_dimension: Union[_core.KernelBank, int], **settings: Any) -> Algorithm:
    """An algorithm by the name that the program uses; `pof-gram` and `perfedavg` take a dimension, all others a bank.

    >>> import polykern as pk
    >>> bank = pk.KernelBank.rbf(dimension=2, features=4, bandwidths=[0.1, 1, 10])
    >>> pk.make_algorithm("pof-mkl", bank, kernels_per_upload=2)
    PofMkl(<KernelBank: 3 kernels, 4 features, 2 inputs>, kernels_per_upload=2)
    """
    if name not in _BY_NAME:
        raise ValueError(f"unknown algorithm {name!r}; there are: {', '.join(_BY_NAME)}")
    return _BY_NAME[name](bank_or_dimension, **settings)

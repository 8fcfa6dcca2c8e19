"""Online federated learning with many kernels: NumPy in, NumPy out.

>>> import numpy as np, polykern as pk
>>> bank = pk.KernelBank.rbf(dimension=3, features=20, bandwidths=pk.paper_bandwidths(), seed=0)
>>> algorithm = pk.PofMkl(bank, kernels_per_upload=25)
>>> chance = np.random.default_rng(0)
>>> X = chance.normal(size=(200, 10, 3))        # steps, clients, inputs
>>> Y = 0.5 + 0.4 * np.sin(X.sum(axis=2))       # steps, clients
>>> result = pk.simulate(X, Y, algorithm)
>>> result.predictions.shape, bool(result.step_mse[-50:].mean() < result.step_mse[:50].mean())
((200, 10), True)

`simulate` runs a whole federation in one process. `algorithm.client()` and `algorithm.server()` are its two halves, to
be driven step by step. `OnlineRegressor` learns one stream, as scikit-learn and River do. `Agent` and `Server` are the
real federation over a network. docs/use/python.md has a section on each.
"""

from typing import TYPE_CHECKING, Any

from polykern import _modules

_modules.load("polykern", "_core")
_modules.need_numpy()

from polykern._core import (
    Broadcast,
    ClientHalf,
    Kernel,
    KernelBank,
    Prediction,
    ServerHalf,
    Update,
    __version__,
    algorithm_names,
    dictionary,
    dictionary_names,
    paper_bandwidths,
    recipe_names,
)
from polykern._algorithms import (
    Algorithm,
    EmKofl,
    FedPoe,
    FomdOms,
    Local,
    LocalRls,
    OfmklAvg,
    Ofskl,
    PerFedAvg,
    PofAdagrad,
    PofGram,
    PofMkl,
    PofNewton,
    VmKofl,
    make_algorithm,
)
from polykern._data import Data, load
from polykern._model import Model, load_model
from polykern._network import Agent, AgentPrediction, Server, init_authority, issue_certificate
from polykern._result import Result
from polykern._simulation import DivergenceWarning, simulate

if TYPE_CHECKING:
    from polykern._regressor import OnlineRegressor

__all__ = [
    "Agent", "AgentPrediction", "Algorithm", "Broadcast", "ClientHalf", "Data", "DivergenceWarning", "EmKofl", "FedPoe", "FomdOms",
    "Kernel", "KernelBank", "Local", "LocalRls", "Model", "OfmklAvg", "Ofskl", "OnlineRegressor", "PerFedAvg", "PofAdagrad",
    "PofGram", "PofMkl", "PofNewton", "Prediction", "Result", "Server", "ServerHalf", "Update", "VmKofl", "__version__",
    "algorithm_names",
    "dictionary", "dictionary_names", "init_authority", "issue_certificate", "load", "load_model", "make_algorithm",
    "paper_bandwidths", "recipe_names", "simulate",
]


def __getattr__(name: str) -> Any:
    # Only who uses it waits for scikit-learn to load.
    if name == "OnlineRegressor":
        from polykern._regressor import OnlineRegressor

        return OnlineRegressor
    raise AttributeError(f"module 'polykern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

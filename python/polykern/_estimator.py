"""What `OnlineRegressor` takes from scikit-learn, for where that is not installed; and for type checkers, as it has no types."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Self = TypeVar("Self", bound="BaseEstimator")


class NotFittedError(ValueError, AttributeError):
    """As scikit-learn's."""


class DataConversionWarning(UserWarning):
    """As scikit-learn's."""


class BaseEstimator:
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self: Self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"


class RegressorMixin:
    _estimator_type = "regressor"

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        raise NotImplementedError

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        labels = np.asarray(y, dtype=float)
        return 1 - float(((labels - self.predict(X)) ** 2).sum() / ((labels - labels.mean()) ** 2).sum())

"""One stream, learnt online: scikit-learn's manners, and River's."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern import _core

if TYPE_CHECKING:
    from polykern._estimator import BaseEstimator, DataConversionWarning, NotFittedError, RegressorMixin
else:
    try:
        from sklearn.base import BaseEstimator, RegressorMixin
        from sklearn.exceptions import DataConversionWarning, NotFittedError
    except ImportError:
        from polykern._estimator import BaseEstimator, DataConversionWarning, NotFittedError, RegressorMixin


class OnlineRegressor(RegressorMixin, BaseEstimator):
    """Regression on one stream: random features of many kernels, each a recursive ridge regression, mixed by AdaHedge.

    It needs no scaling, no learning rate and one pass, and takes the samples one by one or in arrays, with the same bits.

    kernels, features: of the dictionary ("gaussian", "matern32", "mixed", ...: `dictionary_names()`); time and memory
    grow with kernels x features^2. ridge: of the regressions. forgetting: what a sample's weight is multiplied by with
    every later one, in (0, 1]; below 1 it follows drift. warm_up: so many samples, at most, say how inputs are scaled.
    random_state: seed of the features.

    >>> import numpy as np, polykern as pk
    >>> chance = np.random.default_rng(0)
    >>> X = chance.uniform(-1, 1, size=(500, 2))
    >>> y = 100 * np.sin(3 * X[:, 0]) * X[:, 1]
    >>> model = pk.OnlineRegressor().partial_fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.99)
    True

    and as River's users know it:

    >>> model = pk.OnlineRegressor()
    >>> for n in range(100):
    ...     x = {"hour": n % 24, "day": n // 24 % 7}
    ...     prediction = model.predict_one(x)
    ...     model = model.learn_one(x, 20 + (n % 24) ** 2)
    >>> abs(model.predict_one({"hour": 5, "day": 4}) - 45) < 10
    True
    """

    def __init__(self, kernels: int = 5, features: int = 60, dictionary: str = "gaussian", ridge: float = 1e-4,
                 forgetting: float = 1.0, warm_up: int = 256,
                 random_state: Optional[Union[int, np.random.RandomState]] = 0) -> None:
        self.kernels = kernels
        self.features = features
        self.dictionary = dictionary
        self.ridge = ridge
        self.forgetting = forgetting
        self.warm_up = warm_up
        self.random_state = random_state

    # scikit-learn's manners

    def fit(self, X: ArrayLike, y: ArrayLike) -> OnlineRegressor:
        """Forgets everything, then learns the rows in their order."""
        rows, names = self._inputs(X, reset=True)
        labels = self._labels(y, rows)
        self._begin(rows.shape[1], names)
        self._core.learn(rows, labels)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> OnlineRegressor:
        """Continues with these rows, in their order, in one call."""
        self.predict_then_learn(X, y)
        return self

    def predict_then_learn(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Predicts each row before its label is learnt, in their order; returns the predictions: prequential."""
        fresh = not hasattr(self, "_core")
        rows, names = self._inputs(X, reset=fresh)
        labels = self._labels(y, rows)
        if fresh:
            self._begin(rows.shape[1], names)
        return self._core.learn(rows, labels)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predictions (n,) for rows (n, d)."""
        if not hasattr(self, "_core"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit, partial_fit or "
                                 "learn_one first")
        return self._core.predict(self._inputs(X, reset=False)[0])

    # River's manners

    def learn_one(self, x: Mapping[Any, float], y: float) -> OnlineRegressor:
        """Learns one sample, a dict of numbers."""
        names = list(x)
        if not hasattr(self, "_core"):
            if not names:
                raise ValueError("x is empty: a sample needs at least one input")
            self._begin(len(names), np.array(sorted(names), dtype=object))
        self._core.learn(self._row(x), np.array([self._one_label(y)]))
        return self

    def predict_one(self, x: Mapping[Any, float]) -> float:
        """The prediction for one sample, a dict of numbers; 0.0 before anything was learnt."""
        if not hasattr(self, "_core"):
            return 0.0
        return float(self._core.predict(self._row(x))[0])

    def weights(self) -> NDArray[np.float64]:
        """How the kernels are mixed now, (kernels,)."""
        return self._core.weights

    # What is judged, and kept

    def _begin(self, dimension: int, names: Optional[NDArray[np.object_]]) -> None:
        seed = 0 if self.random_state is None else self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        self._core = _core.OnlineLearner(dimension, self.kernels, self.features, self.dictionary, self.ridge,
                                         self.forgetting, self.warm_up, seed)
        self.n_features_in_ = dimension
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _row(self, x: Mapping[Any, float]) -> NDArray[np.float64]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError("this model has learnt from arrays without names: it cannot take dicts")
        if len(x) != len(names) or any(name not in x for name in names):
            raise ValueError(f"x has the inputs {sorted(map(str, x))}, but it must have {sorted(map(str, names))}")
        row: list[Any] = [x[name] for name in names]
        value: Any
        for name, value in zip(names, row):
            if isinstance(value, (str, bytes)) or not np.isscalar(value):
                raise TypeError(f"x[{name!r}] is not a number, but of the type {type(value).__name__}")
            number: Any = value
            if not np.isfinite(number):
                raise ValueError(f"x[{name!r}] is {number}; every number must be finite")
        return np.array([row], dtype=float)

    @staticmethod
    def _one_label(y: Any) -> float:
        if isinstance(y, (str, bytes)) or not np.isscalar(y):
            raise TypeError(f"y is not a number, but of the type {type(y).__name__}")
        number: Any = y
        return float(number)

    def _inputs(self, X: ArrayLike, reset: bool) -> tuple[NDArray[Any], Optional[NDArray[np.object_]]]:
        """X as an array (n, d), and the names of its columns if it has any."""
        names = _column_names(X)
        X = _as_array(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X has the shape {X.shape}, but it must be (n, d). Expected 2D array, got {X.ndim}D array "
                             "instead. Reshape your data with X.reshape(-1, 1) if it has a single feature or "
                             "X.reshape(1, -1) if it is a single sample.")
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.shape[1] == 0:
            raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if not reset:
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                                 f"{self.n_features_in_} features as input: X has the shape {X.shape}, but it must be "
                                 f"(n, {self.n_features_in_})")
            self._check_names(names)
        return X, names

    def _check_names(self, names: Optional[NDArray[np.object_]]) -> None:
        known = getattr(self, "feature_names_in_", None)
        if names is None and known is not None and all(isinstance(name, str) for name in known):
            warnings.warn(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        if names is not None and known is None:
            warnings.warn(f"X has feature names, but {type(self).__name__} was fitted without feature names")
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError("The feature names should match those that were passed during fit: they were "
                             f"{list(known)}, and are {list(names)}")

    def _labels(self, y: Any, X: NDArray[Any]) -> NDArray[Any]:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        labels = _as_array(y, "y")
        if labels.ndim == 2 and labels.shape[1] == 1:
            warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                          "(n_samples,), for example using ravel().", DataConversionWarning, stacklevel=3)
            labels = labels.ravel()
        if labels.ndim != 1 or len(labels) != len(X):
            raise ValueError(f"y has the shape {labels.shape}, but it must be ({len(X)},), as X has the shape {X.shape}")
        return labels

    def _more_tags(self) -> dict[str, Any]:
        return {"non_deterministic": False}


def _column_names(X: Any) -> Optional[NDArray[np.object_]]:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """An array of numbers without NaN or inf, in scikit-learn's words where it has some."""
    if hasattr(values, "tocsr"):
        raise TypeError(f"{name} is a sparse matrix, but dense data is required. Use {name}.toarray() to convert")
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds {array.dtype}")
    if array.dtype.kind in "US":
        raise TypeError(f"{name} holds texts, not numbers")
    if array.dtype.kind == "O":
        try:
            array = array.astype(float)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} does not hold numbers: argument must be a string or a number, as float() takes") from error
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} holds {array.dtype}, not numbers")
    if array.dtype.kind == "f" and array.size and not np.isfinite(array.sum()) and not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        what = "NaN" if np.isnan(array[place]) else "infinity or a value too large"
        raise ValueError(f"Input {name} contains {what}: {name}{list(place)} is {array[place]}; every number must be "
                         "finite")
    return array

"""OnlineRegressor: scikit-learn's checks, River's manners, and what it achieves."""

import copy
import pickle

import numpy as np
import pytest

import polykern as pk

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone, is_regressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402


def checks():
    """All of scikit-learn's; none is left out."""
    for estimator, check in check_estimator(pk.OnlineRegressor(), generate_only=True):
        yield pytest.param(estimator, check, id=check.func.__name__)


@pytest.mark.parametrize("estimator, check", checks())
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_check(estimator, check):
    check(estimator)


@pytest.fixture
def stream():
    chance = np.random.default_rng(2)
    X = chance.normal(size=(600, 4)) * [1, 50, 0.01, 3] + [0, 1000, 5, -7]
    y = 1e4 + 300 * np.sin(X[:, 0]) * (X[:, 1] - 1000) / 50 + 20 * (X[:, 3] + 7)
    return X, y


def test_the_same_bits_in_one_call_in_many_and_one_by_one(stream):
    X, y = stream
    whole = pk.OnlineRegressor().predict_then_learn(X, y)
    parts = pk.OnlineRegressor()
    assert (np.concatenate([parts.predict_then_learn(X[a:b], y[a:b])
                            for a, b in [(0, 1), (1, 300), (300, 307), (307, 600)]]) == whole).all()
    single = pk.OnlineRegressor()
    for i in range(600):
        if i > 0:
            assert single.predict(X[i:i + 1])[0] == whole[i]
        single.partial_fit(X[i:i + 1], y[i:i + 1])
    assert (single.predict(X) == parts.predict(X)).all()
    assert (pk.OnlineRegressor().fit(X, y).predict(X) == parts.predict(X)).all()


def test_it_learns_in_any_units(stream):
    X, y = stream
    predictions = pk.OnlineRegressor().predict_then_learn(X, y)
    assert ((predictions - y)[300:] ** 2).mean() < 0.05 * y.var()
    # y in other units: the same predictions in those, as labels are scaled by what was seen (to float's rounding).
    for unit, zero in [(1e-6, 0), (1e6, -1e9), (-1, 0)]:
        other = pk.OnlineRegressor().predict_then_learn(X, unit * y + zero)
        assert np.abs((other - zero) / unit - predictions)[300:].max() < 1e-2 * y.std()


def test_labels_may_outgrow_every_range_seen_so_far():
    chance = np.random.default_rng(4)
    X = chance.uniform(-1, 1, size=(2000, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    y[1000:] = 50 * y[1000:]  # long after the warm-up
    predictions = pk.OnlineRegressor(forgetting=0.98).predict_then_learn(X, y)
    assert ((predictions - y)[1500:] ** 2).mean() < 0.02 * y[1500:].var()


def test_forgetting_follows_drift():
    chance = np.random.default_rng(5)
    X = chance.uniform(-1, 1, size=(3000, 1))
    angle = np.linspace(0, 6, 3000)
    y = np.sin(3 * X[:, 0] + angle)
    error = {f: ((pk.OnlineRegressor(features=10, forgetting=f).predict_then_learn(X, y) - y)[500:] ** 2).mean()
             for f in (1.0, 0.97)}
    assert error[0.97] < 0.2 * error[1.0]


def test_pickle_copy_and_clone_predict_the_same(stream):
    X, y = stream
    for seen in (0, 1, 3, 100, 256, 600):  # within the warm-up, at its end, and after it
        model = pk.OnlineRegressor(random_state=3)
        if seen:
            model.partial_fit(X[:seen], y[:seen])
        for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert twin.get_params() == model.get_params()
            assert (twin.predict_then_learn(X, y) == copy.deepcopy(model).predict_then_learn(X, y)).all()
    fresh = clone(model)
    assert not hasattr(fresh, "n_features_in_")
    assert (fresh.fit(X, y).predict(X) == pk.OnlineRegressor(random_state=3).fit(X, y).predict(X)).all()
    assert (fresh.predict(X) != pk.OnlineRegressor(random_state=4).fit(X, y).predict(X)).any()


def test_in_a_pipeline_with_parameters(stream):
    X, y = stream
    assert is_regressor(pk.OnlineRegressor())
    model = make_pipeline(StandardScaler(), pk.OnlineRegressor(kernels=3))
    model.set_params(onlineregressor__features=30)
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.named_steps["onlineregressor"].features == 30
    assert len(model.named_steps["onlineregressor"].weights()) == 3


def test_rivers_manners():
    model = pk.OnlineRegressor(kernels=3, features=20)
    assert model.predict_one({"a": 1.0, "b": 2}) == 0.0
    chance = np.random.default_rng(6)
    errors = []
    for _ in range(500):
        x = {"b": float(chance.uniform()), "a": float(chance.uniform())}
        y = x["a"] * x["b"]
        errors.append((model.predict_one(x) - y) ** 2)
        assert model.learn_one(x, y) is model
    assert np.mean(errors[250:]) < 1e-3
    for wrong, kind in [({"a": 1}, ValueError), ({"a": 1, "c": 2}, ValueError), ({"a": 1, "b": "x"}, TypeError),
                        ({"a": 1, "b": None}, TypeError), ({"a": 1, "b": float("nan")}, ValueError)]:
        for call in (lambda: model.predict_one(wrong), lambda: model.learn_one(wrong, 1)):
            with pytest.raises(kind):
                call()
    with pytest.raises(TypeError):
        model.learn_one({"a": 1, "b": 2}, "three")
    with pytest.raises(ValueError):
        model.learn_one({"a": 1, "b": 2}, float("inf"))
    with pytest.raises(ValueError, match="empty"):
        pk.OnlineRegressor().learn_one({}, 1)
    with pytest.raises(ValueError, match="cannot take dicts"):
        pk.OnlineRegressor().fit(np.eye(3), [1, 2, 3]).predict_one({"a": 1})


@pytest.fixture
def readings(stream):
    X, y = stream
    return [({name: float(value) for name, value in zip("abcd", row)}, float(label)) for row, label in zip(X, y)]


def test_prequential_as_river_does_it_gives_the_bits_of_arrays(stream, readings):
    X, y = stream
    model = pk.OnlineRegressor()
    predictions = []
    for x, label in readings:  # River's progressive validation
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
    assert predictions == [0.0, *pk.OnlineRegressor().predict_then_learn(X, y)[1:]]


def test_predict_one_changes_nothing_and_inputs_stay_as_they_were(readings):
    once, often = pk.OnlineRegressor(), pk.OnlineRegressor()
    for x, label in readings[:300]:
        before = dict(x)
        for _ in range(3):
            assert often.predict_one(x) == once.predict_one(x)
        once.learn_one(x, label)
        often.learn_one(x, label)
        assert x == before and list(x) == list(before)
    assert type(once.predict_one(x)) is float


def test_the_order_of_the_inputs_does_not_matter(readings):
    straight, turned = pk.OnlineRegressor(), pk.OnlineRegressor()
    for n, (x, label) in enumerate(readings[:300]):
        names = list(x)[n % 4:] + list(x)[:n % 4]
        straight.learn_one(x, label)
        turned.learn_one({name: x[name] for name in names}, label)
    for x, _ in readings[300:]:
        assert straight.predict_one(x) == turned.predict_one(dict(reversed(x.items())))


def test_it_can_be_pickled_and_copied_between_any_two_samples(readings):
    model = pk.OnlineRegressor(warm_up=50)
    resumed = pk.OnlineRegressor(warm_up=50)
    for n, (x, label) in enumerate(readings[:200]):
        assert model.predict_one(x) == resumed.predict_one(x)
        model.learn_one(x, label)
        resumed.learn_one(x, label)
        if n % 10 == 0:
            resumed = (copy.deepcopy if n % 20 else lambda m: pickle.loads(pickle.dumps(m)))(resumed)
    assert not hasattr(clone(model), "n_features_in_")


def test_river_may_give_any_kind_of_number_and_name():
    model, plain = pk.OnlineRegressor(kernels=2, features=10), pk.OnlineRegressor(kernels=2, features=10)
    for n in range(40):
        model.learn_one({0: np.float32(n % 3), 1: n % 2 == 0, 2: np.int64(n)}, np.float64(n % 5))
        plain.learn_one({0: n % 3, 1: float(n % 2 == 0), 2: n}, n % 5)
    assert model.predict_one({0: 1, 1: True, 2: 3}) == plain.predict_one({0: 1.0, 1: 1, 2: 3.0})


def test_inputs_that_come_or_go_are_refused_and_change_nothing(readings):
    model = pk.OnlineRegressor()
    for x, label in readings[:50]:
        model.learn_one(x, label)
    before = model.predict_one(x)
    for other in ({**x, "new": 1.0}, {name: x[name] for name in "abc"}, {}):
        with pytest.raises(ValueError, match="but it must have"):
            model.learn_one(other, 1.0)
        with pytest.raises(ValueError, match="but it must have"):
            model.predict_one(other)
    assert model.predict_one(x) == before


def test_bad_input_is_told_and_changes_nothing(stream):
    X, y = stream
    model = pk.OnlineRegressor().fit(X[:300], y[:300])
    before = model.predict(X)
    broken = X.copy()
    broken[7, 2] = np.nan
    for call, words in [
        (lambda: model.partial_fit(X[:, :3], y), r"X has the shape \(600, 3\), but it must be \(n, 4\)"),
        (lambda: model.partial_fit(X, y[:5]), r"y has the shape \(5,\), but it must be \(600,\), as X has the shape \(600, 4\)"),
        (lambda: model.partial_fit(broken, y), r"X\[7, 2\] is nan"),
        (lambda: model.partial_fit(X, np.where(y > 1e4, np.inf, y)), r"y\[\d+\] is inf"),
        (lambda: model.partial_fit(X * 1e300, y), "too large"),
        (lambda: pk.OnlineRegressor(kernels=0).fit(X, y), "kernels is 0"),
        (lambda: pk.OnlineRegressor(features=10**9).fit(X, y), "too many"),
        (lambda: pk.OnlineRegressor(ridge=-1).fit(X, y), "ridge is -1"),
        (lambda: pk.OnlineRegressor(forgetting=2).fit(X, y), "forgetting is 2"),
        (lambda: pk.OnlineRegressor(forgetting=0).fit(X, y), "forgetting is 0"),
        (lambda: pk.OnlineRegressor(warm_up=1).fit(X, y), "warm_up is 1"),
        (lambda: pk.OnlineRegressor(dictionary="square").fit(X, y), "there are: gaussian"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    for wrong in (X.astype(str), [["a"] * 4] * 600, "text", None, np.full((600, 4), {})):
        with pytest.raises((TypeError, ValueError)):
            model.partial_fit(wrong, y)
    with pytest.raises(TypeError, match="y holds .*, not numbers"):
        model.partial_fit(X, y.astype(str))
    assert (model.predict(X) == before).all()

// What stands behind OnlineRegressor: one stream, learnt in one call.

#include <mutex>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "breath.h"
#include "online_learner.h"
#include "polykern/core/error.h"

namespace polykern::python {
namespace {

/// Calls may come from several threads; they wait for each other without the GIL.
struct Guarded {
  using MustBeMade = void;
  explicit Guarded(const OnlineLearnerOptions& options) : learner(options) {}
  OnlineLearner learner;
  std::mutex mutex;
};

std::unique_ptr<Guarded> Make(const py::object& dimension, const py::object& kernels,
                              const py::object& features, const std::string& dictionary,
                              const py::object& ridge, const py::object& forgetting,
                              const py::object& warm_up, const py::object& seed) {
  OnlineLearnerOptions options;
  options.dimension = ReadCount(dimension, "dimension", 1);
  options.kernels = ReadCount(kernels, "kernels", 1);
  options.features = ReadCount(features, "features", 1);
  options.dictionary = dictionary;
  options.ridge = ReadNumber(ridge, "ridge");
  options.forgetting = ReadNumber(forgetting, "forgetting");
  options.warm_up = ReadCount(warm_up, "warm_up", 2);
  options.seed = ReadCount(seed, "random_state");
  return std::make_unique<Guarded>(options);
}

py::array Rows(const Guarded& self, const py::object& given) {
  const py::array x = Numbers(given, "X");
  const std::size_t d = self.learner.options().dimension;
  CheckShape(x, "X", {-1, static_cast<py::ssize_t>(d)}, "(n, " + std::to_string(d) + ")");
  CheckFinite(x, "X", true);
  return x;
}

void CopyRow(const ArrayView& view, std::size_t row, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = view.At(row, i);
}

py::array Predict(Guarded& self, const py::object& given) {
  const py::array x = Rows(self, given);
  const auto n = static_cast<std::size_t>(x.shape(0));
  const ArrayView view = ViewOf(x);
  std::vector<double> predictions(n);
  const py::none nobody;
  Breath breathe(nobody, n);
  WithoutGil([&] {
    const std::lock_guard lock(self.mutex);
    const std::size_t d = self.learner.options().dimension;
    constexpr std::size_t kRows = 1024;
    std::vector<double> rows(std::min(n, kRows) * d);
    for (std::size_t from = 0; from < n; from += kRows) {
      const std::size_t count = std::min(kRows, n - from);
      for (std::size_t i = 0; i < count; ++i) {
        CopyRow(view, from + i, std::span(rows).subspan(i * d, d));
      }
      self.learner.Predict(std::span(rows).first(count * d),
                           std::span(predictions).subspan(from, count));
      breathe(from);
    }
  });
  return Taken<double>({static_cast<py::ssize_t>(n)}, std::move(predictions));
}

py::array Learn(Guarded& self, const py::object& given, const py::object& labels) {
  const py::array x = Rows(self, given);
  const py::array y = Numbers(labels, "y");
  CheckShape(y, "y", {x.shape(0)},
             "(" + std::to_string(x.shape(0)) + ",), as X has the shape " + ShapeText(x));
  CheckFinite(y, "y", true);
  const auto n = static_cast<std::size_t>(x.shape(0));
  const ArrayView rows = ViewOf(x);
  const ArrayView truth = ViewOf(y);
  std::vector<double> predictions(n);
  const py::none nobody;
  Breath breathe(nobody, n);
  WithoutGil([&] {
    const std::lock_guard lock(self.mutex);
    std::vector<double> row(self.learner.options().dimension);
    for (std::size_t i = 0; i < n; ++i) {
      CopyRow(rows, i, row);
      predictions[i] = self.learner.PredictAndLearn(row, truth.At(i, 0));
      breathe(i);
    }
  });
  return Taken<double>({static_cast<py::ssize_t>(n)}, std::move(predictions));
}

}  // namespace

void BindOnlineLearner(py::module_& module) {
  py::class_<Guarded>(module, "OnlineLearner")
      .def(py::init(&Make), py::arg("dimension"), py::arg("kernels"), py::arg("features"),
           py::arg("dictionary"), py::arg("ridge"), py::arg("forgetting"), py::arg("warm_up"),
           py::arg("seed"))
      .def("predict", &Predict, py::arg("X"))
      .def("learn", &Learn, py::arg("X"), py::arg("y"))
      .def_property_readonly("samples",
                             [](Guarded& self) {
                               return WithoutGil([&] {
                                 const std::lock_guard lock(self.mutex);
                                 return self.learner.samples();
                               });
                             })
      .def_property_readonly("weights",
                             [](Guarded& self) {
                               auto weights = WithoutGil([&] {
                                 const std::lock_guard lock(self.mutex);
                                 return self.learner.Weights();
                               });
                               const auto count = static_cast<py::ssize_t>(weights.size());
                               return Taken<double>({count}, std::move(weights));
                             })
      .def(py::pickle(
          [](Guarded& self) {
            auto saved = WithoutGil([&] {
              const std::lock_guard lock(self.mutex);
              return self.learner.Save();
            });
            const OnlineLearnerOptions& o = self.learner.options();
            const auto count = static_cast<py::ssize_t>(saved.size());
            return py::make_tuple(o.dimension, o.kernels, o.features, o.dictionary, o.ridge,
                                  o.forgetting, o.warm_up, o.seed,
                                  Taken<double>({count}, std::move(saved)));
          },
          [](const py::tuple& t) {
            auto self = Make(t[0], t[1], t[2], t[3].cast<std::string>(), t[4], t[5], t[6], t[7]);
            const auto saved = t[8].cast<py::array_t<double, py::array::c_style>>();
            self->learner.Load({saved.data(), static_cast<std::size_t>(saved.size())});
            return self;
          }));
}

}  // namespace polykern::python

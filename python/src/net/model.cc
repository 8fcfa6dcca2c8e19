// A federation's model on its own: what `polykern store export` wrote.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "agent_samples.h"
#include "arrays.h"
#include "bindings.h"
#include "polykern/core/error.h"
#include "polykern/net/agent/model_predictor.h"

namespace polykern::python {
namespace {

class PythonModel {
 public:
  using MustBeMade = void;

  PythonModel(const std::string& path, const std::optional<std::string>& state) {
    const ExportedModel model = WithoutGil([&] { return ReadExport(path); });
    std::optional<AgentState> own;
    if (state) {
      own = WithoutGil([&] { return ReadAgentState(*state); });
      if (!own) throw Error(*state + ": there is no such file; check the path");
    }
    configuration_ = model.configuration;
    step_ = model.model.step;
    predictor_ = WithoutGil([&] { return std::make_unique<ModelPredictor>(model, own); });
  }

  /// Row after row: labels that are known by then are the lags of later ones.
  py::array Predict(const py::object& x, const py::object& time, const py::object& y) {
    AgentSamples samples(predictor_->configuration(), predictor_->position());
    std::vector<double> predictions;
    for (const py::handle row : py::iter(x)) {
      const py::int_ at(predictions.size());
      const std::vector<double> own = samples.Read(row);
      const Seconds when = samples.ReadTime(time.is_none() ? time : time[at]);
      const double value = predictor_->Predict(samples.Make(own, when)).value;
      predictions.push_back(samples.scale().ToldLabel(value));
      if (!y.is_none()) samples.Know(ReadNumber(y[at], "y"));
    }
    const auto size = static_cast<py::ssize_t>(predictions.size());
    return Taken({size}, std::move(predictions));
  }

  const ConfigurationTexts& Configuration() const { return configuration_; }
  std::uint64_t Step() const { return step_; }
  std::vector<std::string> Columns() const { return predictor_->configuration().own_columns(); }

 private:
  ConfigurationTexts configuration_;
  std::uint64_t step_ = 0;
  std::unique_ptr<ModelPredictor> predictor_;
};

}  // namespace

void BindModel(py::module_& module) {
  py::class_<PythonModel>(module, "Model")
      .def(py::init<const std::string&, const std::optional<std::string>&>(), py::arg("path"),
           py::arg("state"))
      .def("predict", &PythonModel::Predict, py::arg("x"), py::arg("time"), py::arg("y"))
      .def("configuration", &PythonModel::Configuration)
      .def("columns", &PythonModel::Columns)
      .def("step", &PythonModel::Step);
}

}  // namespace polykern::python

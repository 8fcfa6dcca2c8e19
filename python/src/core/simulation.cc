// A whole federation in one process: the simulator of sim/ over NumPy's arrays.

#include <cmath>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "breath.h"
#include "polykern/core/error.h"
#include "polykern/data/source.h"
#include "polykern/data/stream.h"
#include "polykern/gpu/gpu.h"
#include "polykern/results/result.h"
#include "polykern/sim/experiment.h"

namespace polykern::python {
namespace {

struct Arrays {
  py::array x, y, uniforms, present;
  ArrayShape shape;

  std::span<const std::uint8_t> Present() const {
    return {static_cast<const std::uint8_t*>(present.data()),
            static_cast<std::size_t>(present.size())};
  }
};

py::array Presence(const py::object& given, const ArrayShape& shape) {
  if (given.is_none()) return py::array_t<std::uint8_t>(0);
  const py::array present = py::module_::import("numpy").attr("asarray")(given);
  if (present.dtype().kind() != 'b') throw py::type_error("present must hold True and False");
  CheckShape(
      present, "present",
      {static_cast<py::ssize_t>(shape.steps), static_cast<py::ssize_t>(shape.clients)},
      "(T, K) = (" + std::to_string(shape.steps) + ", " + std::to_string(shape.clients) + ")");
  return py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>(present);
}

Arrays ReadArrays(const py::object& x, const py::object& y, const Learner& learner,
                  const py::object& uniforms, const py::object& present) {
  Arrays a;
  a.x = Numbers(x, "X");
  a.y = Numbers(y, "Y");
  const auto d = static_cast<py::ssize_t>(learner.problem.dimension);
  CheckShape(
      a.x, "X", {-1, -1, d},
      "(T, K, " + std::to_string(d) + "), as the algorithm has " + std::to_string(d) + " inputs");
  const py::ssize_t steps = a.x.shape(0);
  const py::ssize_t clients = a.x.shape(1);
  if (steps == 0 || clients == 0) {
    throw py::value_error("X has the shape " + ShapeText(a.x) + ": there is nothing to learn from");
  }
  const std::string wanted = "(" + std::to_string(steps) + ", " + std::to_string(clients) +
                             "), as X has the shape " + ShapeText(a.x);
  CheckShape(a.y, "Y", {steps, clients}, wanted);
  a.shape = {static_cast<std::size_t>(steps), static_cast<std::size_t>(clients),
             static_cast<std::size_t>(d)};
  a.present = Presence(present, a.shape);
  CheckFinite(a.x, "X", true, a.Present());
  CheckFinite(a.y, "Y", false, a.Present());
  a.uniforms = py::array_t<double>(0);
  if (!uniforms.is_none()) {
    const py::array given = Numbers(uniforms, "uniforms");
    CheckShape(given, "uniforms", {steps, clients}, wanted);
    const py::array_t<double, py::array::c_style | py::array::forcecast> numbers(given);
    for (py::ssize_t i = 0; i < numbers.size(); ++i) {
      if (numbers.data()[i] >= 0 && numbers.data()[i] < 1) continue;
      throw py::value_error("uniforms[" + std::to_string(i / clients) + ", " +
                            std::to_string(i % clients) + "] is " +
                            std::to_string(numbers.data()[i]) + "; it must lie in [0, 1)");
    }
    a.uniforms = numbers;
  }
  return a;
}

/// Every plain value of the run in result.json, but with the seconds that passed; its arrays; and
/// the file.
/// Low and high of each prediction's interval: (T, K, 2). None without a wished coverage.
py::object Intervals(const SingleRun& run, py::ssize_t steps, py::ssize_t clients) {
  if (run.result.ends.empty()) return py::none();
  return Taken<double>({steps, clients, 2}, run.result.ends);
}

py::dict ToDict(SingleRun run, const std::vector<RunValue>& values, const std::string& json,
                const ArrayShape& shape) {
  const RowResult& r = run.result;
  const auto steps = static_cast<py::ssize_t>(shape.steps);
  const auto clients = static_cast<py::ssize_t>(shape.clients);
  const auto list = [](const std::vector<double>& numbers) {
    return Taken<double>({static_cast<py::ssize_t>(numbers.size())}, numbers);
  };
  py::dict result;
  for (const RunValue& one : values) result[py::str(one.name)] = py::cast(one.value);
  result["seconds"] = run.seconds;
  result["intervals"] = Intervals(run, steps, clients);
  result["predictions"] = Taken<double>({steps, clients}, std::move(run.predictions));
  result["regret"] = r.client_regret.empty()
                         ? list(std::vector<double>(shape.clients, std::nan("")))
                         : list(r.client_regret);
  result["step_mse"] = list(r.step_mse);
  result["step_regret"] = list(r.step_regret);
  result["divergence"] = r.divergence
                             ? py::object(py::str("step " + std::to_string(r.divergence->step + 1) +
                                                  ": " + r.divergence->message))
                             : py::object(py::none());
  result["json"] = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(json.data(), static_cast<py::ssize_t>(json.size()), "replace"));
  return result;
}

py::dict Simulate(const py::object& x, const py::object& y, const Learner& learner,
                  const py::object& seed, const py::object& threads, const py::object& uniforms,
                  double participation, const py::object& present, const py::object& progress,
                  const std::optional<double>& coverage, const py::object& ahead,
                  const std::string& device) {
  Arrays a = ReadArrays(x, y, learner, uniforms, present);
  a.shape.ahead = ReadCount(ahead, "ahead", 1);
  const std::size_t horizon = learner.problem.horizon > 0 ? learner.problem.horizon : a.shape.steps;
  ExperimentOptions experiment;
  experiment.repetitions = 1;
  experiment.seed = ReadCount(seed, "seed");
  experiment.participation = participation;
  experiment.threads = ReadCount(threads, "threads");
  experiment.coverage = coverage;
  const Row row = {learner.name, learner.options};
  CheckExperiment({}, experiment);

  Source source;
  source.stream = std::make_unique<ArrayStream>(a.shape, ViewOf(a.x), ViewOf(a.y), a.Present());
  source.name = "arrays";
  source.scaling = "none";
  source.split = "given";
  SingleRunOptions options;
  options.simulation.seed = experiment.seed;
  options.simulation.participation = participation;
  options.simulation.coverage = coverage;
  options.simulation.keep_predictions = true;
  options.simulation.uniforms = {static_cast<const double*>(a.uniforms.data()),
                                 static_cast<std::size_t>(a.uniforms.size())};
  options.threads = experiment.threads;
  options.after_step = Breath(progress, a.shape.steps);

  SingleRun run;
  std::string json;
  std::vector<RunValue> values;
  WithoutGil([&] {
    const auto algorithm =
        learner.Make(horizon, experiment.seed, source.stream->clients(), a.shape.ahead);
    const auto opened = OpenDevice(device);
    options.device = opened.get();
    run = RunAlgorithm(*source.stream, row, *algorithm, options);
    for (double& f : run.predictions) f = algorithm->loss().Predicted(f);
    // Without a dictionary's name there are no names for the kernels of the weights.
    if (learner.bank && learner.bank->dictionary.empty()) run.result.weights = {};
    SourceOptions source_options;
    source_options.seed = experiment.seed;
    json = ResultJson(source, source_options, experiment, {run.result}, "polykern.simulate");
    values = RunValues(run.result, *source.stream, experiment);
  });

  return ToDict(std::move(run), values, json, a.shape);
}

}  // namespace

void BindSimulation(py::module_& module) {
  module.def("simulate", &Simulate, py::arg("X"), py::arg("Y"), py::arg("algorithm"),
             py::arg("seed") = 0, py::arg("threads") = 0, py::arg("uniforms") = py::none(),
             py::arg("participation") = 1.0, py::arg("present") = py::none(),
             py::arg("progress") = py::none(), py::arg("coverage") = py::none(),
             py::arg("ahead") = 1, py::arg("device") = "cpu");
}

}  // namespace polykern::python

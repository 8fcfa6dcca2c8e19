#include "agent_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "arrays.h"
#include "polykern/core/text.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/data/samples/agreed_columns.h"

namespace polykern::python {
namespace {

bool IsMissing(const py::handle& value) {
  return value.is_none() ||
         (PyFloat_Check(value.ptr()) && std::isnan(PyFloat_AS_DOUBLE(value.ptr())));
}

}  // namespace

AgentSamples::AgentSamples(const FederationConfiguration& federation, const InputPosition& before)
    : columns_(AgreedColumns(federation, "", "")),
      scale_(AgreedScale(federation)),
      inputs_(columns_, scale_) {
  inputs_.Remember(before);
  if (federation.problem.ahead > 1) {
    forecasts_.emplace(federation.problem.ahead, federation.problem.dimension);
    forecasts_->Load(before.ahead);
  }
}

std::vector<double> AgentSamples::Read(const py::handle& x) const {
  const std::string rule = "(" + std::to_string(columns_.dimension) + ",): the federation's inputs";
  std::vector<double> own;
  if (columns_.texts.empty() && !columns_.impute) {
    const py::array numbers = Numbers(x, "x");
    CheckShape(numbers, "x", {static_cast<py::ssize_t>(columns_.dimension)}, rule);
    CheckFinite(numbers, "x", true);
    const ArrayView view = ViewOf(numbers);
    for (std::size_t i = 0; i < columns_.dimension; ++i) own.push_back(view.At(i, 0));
    return own;
  }
  for (const py::handle value : py::iter(x)) {
    if (own.size() == columns_.dimension) throw py::value_error("x is longer than " + rule);
    const std::string& column = columns_.inputs[own.size()];
    if (columns_.impute && IsMissing(value)) {
      own.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (columns_.texts.contains(column)) {
      if (!py::isinstance<py::str>(value)) {
        throw py::type_error("x has something else than a str for " + Quoted(column));
      }
      own.push_back(columns_.PlaceOf(column, value.cast<std::string>()));
    } else {
      own.push_back(ReadNumber(value, column));
    }
  }
  if (own.size() < columns_.dimension) throw py::value_error("x is shorter than " + rule);
  return own;
}

Seconds AgentSamples::ReadTime(const py::object& time) const {
  if (columns_.time.empty()) {
    if (time.is_none()) return 0;
    throw py::value_error("the federation has no column of times; leave out time");
  }
  if (time.is_none()) {
    throw py::value_error("the federation has a column of times, " + Quoted(columns_.time) +
                          ": give time");
  }
  return columns_.TimeOf(py::str(time).cast<std::string>());
}

std::vector<float> AgentSamples::Make(const std::vector<double>& own, Seconds time) {
  std::vector<float> x;
  inputs_.Make(own, time, x);
  return x;
}

void AgentSamples::Said(const std::vector<float>& x, const ToldPrediction& told) {
  if (forecasts_) due_ = forecasts_->Add({x, told});
}

InputPosition AgentSamples::Keep() const {
  InputPosition position;
  inputs_.Keep(position);
  if (forecasts_) position.ahead = forecasts_->Save();
  return position;
}

}  // namespace polykern::python

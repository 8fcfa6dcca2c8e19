#pragma once

#include <optional>
#include <vector>

#include <pybind11/pybind11.h>

#include "polykern/data/samples/forecasts.h"
#include "polykern/data/samples/sample_inputs.h"
#include "polykern/data/scaling.h"
#include "polykern/io/input_position.h"
#include "polykern/net/configuration.h"

namespace polykern::python {

namespace py = pybind11;

/// What an agent makes of the samples that Python hands it: as `polykern join` does of lines.
class AgentSamples {
 public:
  /// `before`: what an earlier process kept.
  AgentSamples(const FederationConfiguration& federation, const InputPosition& before);

  /// A sample's own columns: numbers, a str where the federation has texts, None or NaN where one
  /// is missing and may be. TypeError and ValueError.
  std::vector<double> Read(const py::handle& x) const;
  /// When it was; None only if the federation does not ask.
  Seconds ReadTime(const py::object& time) const;

  /// Scaled, with what an agent adds.
  std::vector<float> Make(const std::vector<double>& own, Seconds time);
  /// What was said of these inputs. Several steps ahead the next label belongs to an earlier
  /// sample.
  void Said(const std::vector<float>& x, const ToldPrediction& told);

  /// Several steps ahead: the sample whose label comes next; none in the first steps.
  const std::optional<WaitingSample>& due() const { return due_; }
  bool ahead() const { return forecasts_.has_value(); }
  /// The label comes: this is what is to be kept then.
  void Know(double label) { inputs_.Know(label); }
  InputPosition Keep() const;

  const Scale& scale() const { return scale_; }

 private:
  SampleColumns columns_;
  Scale scale_;
  SampleInputs inputs_;
  std::optional<Forecasts> forecasts_;
  std::optional<WaitingSample> due_;
};

}  // namespace polykern::python

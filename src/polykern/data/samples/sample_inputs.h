#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polykern/data/input_columns.h"
#include "polykern/data/samples/sample_reader.h"
#include "polykern/data/scaling.h"
#include "polykern/io/input_position.h"

namespace polykern {

/// What an agent makes of the columns of a sample before it predicts: texts become marks, missing
/// numbers the mean so far, its own past labels and the calendar are added, and all is scaled. The
/// same numbers as `InputColumns` and `Dataset` make of a file. A plain value; one thread at a
/// time.
class SampleInputs {
 public:
  SampleInputs(const SampleColumns& columns, Scale scale);

  void ScaleBy(Scale scale) { scale_ = std::move(scale); }

  /// The inputs of the next sample, from what InputSample has of it; returns how many were clipped.
  /// Throws Error for a number that is too large.
  std::size_t Make(std::span<const double> own, Seconds time, std::vector<float>& x);

  /// The next label, not scaled, for lags.
  void Know(double label);

  /// The labels and means that an earlier process knew, and back.
  void Remember(const InputPosition& before);
  void Keep(InputPosition& position) const;

  /// How many inputs a column becomes; 0: it is one number.
  const std::vector<std::size_t>& places() const { return places_; }

 private:
  std::vector<double> Columns(std::span<const double> own) const;
  void Derive(Seconds time, std::vector<double>& x) const;

  DerivedInputs derived_;
  std::vector<std::size_t> places_;
  std::optional<RunningMeans> means_;  // if inputs are imputed
  std::deque<double> labels_;          // not scaled, the newest last
  Scale scale_;
};

}  // namespace polykern

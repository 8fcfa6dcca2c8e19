#include "polykern/data/samples/sample_inputs.h"

#include <algorithm>
#include <cmath>

#include "polykern/core/error.h"

namespace polykern {
namespace {

std::vector<std::size_t> PlacesOf(const SampleColumns& columns) {
  std::vector<std::size_t> places(columns.dimension);
  for (std::size_t i = 0; i < columns.inputs.size(); ++i) {
    const auto texts = columns.texts.find(columns.inputs[i]);
    if (texts == columns.texts.end()) continue;
    places[i] = texts->second.empty() ? kMostOneHot : texts->second.size();
  }
  return places;
}

}  // namespace

SampleInputs::SampleInputs(const SampleColumns& columns, Scale scale)
    : derived_(columns.derived), places_(PlacesOf(columns)), scale_(std::move(scale)) {
  if (!columns.impute) return;
  std::size_t inputs = 0;
  for (const std::size_t places : places_) inputs += std::max<std::size_t>(places, 1);
  means_.emplace(inputs + places_.size() + derived_.size());
}

std::size_t SampleInputs::Make(std::span<const double> own, Seconds time, std::vector<float>& x) {
  std::vector<double> raw = Columns(own);
  Derive(time, raw);
  x.resize(raw.size());
  const std::size_t clipped = scale_.ScaleInputs(raw, x);
  if (std::ranges::any_of(x, [](float value) { return std::isinf(value); })) {
    throw Error("an input is too large for a number of 32 bits");
  }
  if (means_) means_->Fill(x);
  return clipped;
}

/// As InputColumns has them: texts become marks, and what may be missing gets one.
std::vector<double> SampleInputs::Columns(std::span<const double> own) const {
  std::vector<double> x;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (places_[i] == 0) {
      x.push_back(own[i]);
      continue;
    }
    x.resize(x.size() + places_[i]);
    if (!std::isnan(own[i])) x[x.size() - places_[i] + static_cast<std::size_t>(own[i])] = 1;
  }
  if (!means_) return x;
  for (const double value : own) x.push_back(std::isnan(value) ? 1 : 0);
  return x;
}

/// As the rows of a file have them, see dataset.cc: before there is a label, the middle.
void SampleInputs::Derive(Seconds time, std::vector<double>& x) const {
  const auto [low, high] = scale_.target;
  for (const std::size_t before : derived_.lags) {
    const std::size_t lag = before + 1 - derived_.ahead;  // from the label of this line
    x.push_back(lag <= labels_.size() ? std::clamp(labels_[labels_.size() - lag], low, high)
                                      : low + (high - low) / 2);
  }
  if (derived_.calendar.empty()) return;
  x.resize(x.size() + 2 * derived_.calendar.size());
  CalendarInputs(derived_.calendar, time, std::span(x).last(2 * derived_.calendar.size()));
}

void SampleInputs::Know(double label) {
  if (derived_.lags.empty()) return;
  labels_.push_back(label);
  if (labels_.size() > std::ranges::max(derived_.lags) + 1 - derived_.ahead) labels_.pop_front();
}

void SampleInputs::Remember(const InputPosition& before) {
  for (const double label : before.labels) Know(label);
  if (means_) means_->Load(before.means);
}

void SampleInputs::Keep(InputPosition& position) const {
  position.labels = {labels_.begin(), labels_.end()};
  if (means_) position.means = means_->Save();
}

}  // namespace polykern

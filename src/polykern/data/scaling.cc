#include "polykern/data/scaling.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kNothingSeen = {kInfinity, -kInfinity};

void Widen(Range& range, double value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

std::string Number(double value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

void CheckDeclared(const DeclaredRange& declared) {
  const Range& range = declared.range;
  if (range.low < range.high && std::isfinite(range.high - range.low)) return;
  throw Error("the declared range of column " + Quoted(declared.column) + " is [" +
              Number(range.low) + ", " + Number(range.high) +
              "]; its low end must be below its high end, and both finite");
}

/// A scanned range so wide that its width is not a number cannot be scaled by.
void CheckWidth(const Range& range, const std::string& column) {
  if (range.low > range.high || std::isfinite(range.high - range.low)) return;
  throw Error("column " + Quoted(column) + " goes from " + Number(range.low) + " to " +
              Number(range.high) + ", which is too wide to scale; change its unit");
}

}  // namespace

std::size_t Scale::ScaleInputs(std::span<const double> raw, std::span<float> scaled) const {
  assert(raw.size() == scaled.size());
  std::size_t clipped = 0;
  switch (kind) {
    case Scaling::kNone:
      for (std::size_t i = 0; i < raw.size(); ++i) scaled[i] = static_cast<float>(raw[i]);
      break;
    case Scaling::kNorm:
      for (std::size_t i = 0; i < raw.size(); ++i) {
        scaled[i] = static_cast<float>((raw[i] - background) / norm);
      }
      break;
    case Scaling::kRange:
      assert(features.size() == raw.size());
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const auto [low, high] = features[i];
        const double value = std::clamp(raw[i], low, high);
        if (value < raw[i] || value > raw[i]) ++clipped;
        scaled[i] = low < high ? static_cast<float>(2 * ((value - low) / (high - low)) - 1) : 0.0F;
      }
      break;
  }
  return clipped;
}

double Scale::ScaleLabel(double raw) const {
  if (!ScalesLabels()) return raw;
  return (std::clamp(raw, target.low, target.high) - target.low) / (target.high - target.low);
}

bool Scale::ClipsLabel(double raw) const {
  return ScalesLabels() && (raw < target.low || raw > target.high);
}

double Scale::ToldLabel(double scaled) const {
  return ScalesLabels() ? UnscaleLabel(std::clamp(scaled, 0.0, 1.0)) : scaled;
}

double Scale::UnscaleLabel(double scaled) const {
  if (!ScalesLabels()) return scaled;
  return target.low + scaled * (target.high - target.low);
}

ScaleFitter::ScaleFitter(const ScalingOptions& options, std::span<const std::string> feature_names,
                         const std::string& target_name)
    : feature_names_(feature_names.begin(), feature_names.end()),
      target_name_(target_name),
      declared_(feature_names.size()) {
  scale_.kind = options.kind;
  scale_.background = options.kind == Scaling::kNorm ? options.background : 0;
  scale_.target = kNothingSeen;
  if (options.kind == Scaling::kRange) scale_.features.assign(feature_names.size(), kNothingSeen);
  for (const DeclaredRange& declared : options.ranges) {
    CheckDeclared(declared);
    if (declared.column == target_name) {
      scale_.target = declared.range;
      target_declared_ = true;
      continue;
    }
    const auto it = std::ranges::find(feature_names, declared.column);
    if (it == feature_names.end()) {
      throw Error("a range is declared for " + Quoted(declared.column) +
                  ", which is neither an input nor the target; " +
                  Suggest(declared.column, feature_names));
    }
    const auto index = static_cast<std::size_t>(it - feature_names.begin());
    declared_[index] = true;
    if (options.kind == Scaling::kNorm) {
      throw Error("a range is declared for the input " + Quoted(declared.column) + ", which " +
                  OptionName("scaling", "norm") + " does not use; add " +
                  OptionName("scaling", "range"));
    }
    if (options.kind == Scaling::kRange) scale_.features[index] = declared.range;
  }
}

void ScaleFitter::Add(std::span<const double> x, double y) {
  assert(x.size() == declared_.size());
  if (!target_declared_) Widen(scale_.target, y);
  if (scale_.kind == Scaling::kNorm) {
    double square = 0;
    for (const double value : x) square += std::isnan(value) ? 0 : value * value;
    square_ = std::max(square_, square);
  } else if (scale_.kind == Scaling::kRange) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!declared_[i]) Widen(scale_.features[i], x[i]);
    }
  }
}

Scale ScaleFitter::Fit() const {
  Scale scale = scale_;
  if (scale.kind == Scaling::kNone) {
    scale.target = {};
    return scale;
  }
  if (!(scale.target.low < scale.target.high)) {
    throw Error("the target " + Quoted(target_name_) + " is " + Number(scale.target.low) +
                " in every row, so there is nothing to learn; choose another target");
  }
  CheckWidth(scale.target, target_name_);
  for (std::size_t i = 0; i < scale.features.size(); ++i) {
    CheckWidth(scale.features[i], feature_names_[i]);
  }
  if (scale.kind == Scaling::kNorm) {
    scale.norm = std::sqrt(square_);
    if (scale.norm == 0) {
      throw Error(
          "every input is 0 (or too small to be squared) in every row; choose other input "
          "columns, or scale by range");
    }
    if (!std::isfinite(scale.norm)) {
      throw Error("the inputs are too large to be squared; change their unit, or scale by range");
    }
  }
  return scale;
}

}  // namespace polykern

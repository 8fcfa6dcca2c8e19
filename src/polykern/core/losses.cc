#include "polykern/core/losses.h"

#include <algorithm>
#include <cmath>

namespace polykern {
namespace {

double Sigmoid(double f) {
  return 1 / (1 + std::exp(-f));
}

}  // namespace

double Loss::Value(double f, double y) const {
  const double error = f - y;
  switch (kind) {
    case LossKind::kSquared:
      return error * error;
    case LossKind::kHuber: {
      const double size = std::abs(error);
      return size <= delta ? error * error : delta * (2 * size - delta);
    }
    case LossKind::kLogistic:  // ln(1 + e^f) without overflow
      return std::max(f, 0.0) + std::log1p(std::exp(-std::abs(f))) - y * f;
  }
  return 0;
}

void Loss::Values(std::span<const float> f, double y, std::span<double> values) const {
  if (kind == LossKind::kSquared) {  // the common case, in a loop that becomes vector code
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double error = static_cast<double>(f[i]) - y;
      values[i] = error * error;
    }
  } else {
    for (std::size_t i = 0; i < f.size(); ++i) values[i] = Value(static_cast<double>(f[i]), y);
  }
}

double Loss::Slope(double f, double y) const {
  const double error = f - y;
  switch (kind) {
    case LossKind::kSquared:
      return 2 * error;
    case LossKind::kHuber:
      return 2 * std::clamp(error, -delta, delta);
    case LossKind::kLogistic:
      return Sigmoid(f) - y;
  }
  return 0;
}

void Loss::Slopes(std::span<const float> f, double y, std::span<double> slopes) const {
  if (kind == LossKind::kSquared) {  // as above
    for (std::size_t i = 0; i < f.size(); ++i) slopes[i] = 2 * (static_cast<double>(f[i]) - y);
  } else {
    for (std::size_t i = 0; i < f.size(); ++i) slopes[i] = Slope(static_cast<double>(f[i]), y);
  }
}

double Loss::Predicted(double f) const {
  return kind == LossKind::kLogistic ? Sigmoid(f) : f;
}

std::span<const Name<LossKind>> NamesOf(LossKind) {
  static constexpr Name<LossKind> kNames[] = {{LossKind::kSquared, "squared"},
                                              {LossKind::kHuber, "huber"},
                                              {LossKind::kLogistic, "logistic"}};
  return kNames;
}

}  // namespace polykern

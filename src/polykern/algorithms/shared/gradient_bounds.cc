#include "polykern/algorithms/shared/gradient_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

constexpr double kRounding = 1.001;  // of numbers that are floats on their way
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double NormOf(std::span<const float> block) {
  return std::sqrt(SumOfSquares(block));
}

/// The greatest of what `value(f, y)` can be: it is convex in the prediction and in the label, so
/// it is that of a corner.
double AtCorners(double norm, const auto& value) {
  return std::max({value(-norm, 0.0), value(-norm, 1.0), value(norm, 0.0), value(norm, 1.0)});
}

[[noreturn]] void Refuse(const Updates& updates, std::size_t c, Rule rule, std::uint32_t block,
                         const char* what, double sent, double most) {
  throw BrokenRule(rule, "the update of client " + std::to_string(updates.clients[c]) +
                             " for step " + std::to_string(updates.step) +
                             " was rejected: kernel " + std::to_string(block) + " has the " + what +
                             " " + std::to_string(sent) + ", at most " + std::to_string(most) +
                             " can be");
}

}  // namespace

GradientBounds::GradientBounds(const AlgorithmDefinition& definition)
    : loss_(definition.options.MakeLoss()),
      regularization_(definition.options.regularization),
      unit_labels_(definition.problem.unit_labels) {}

double GradientBounds::MostSlope(double norm) const {
  return AtCorners(norm, [this](double f, double y) { return std::abs(loss_.Slope(f, y)); });
}

double GradientBounds::MostLoss(double norm) const {
  return AtCorners(norm, [this](double f, double y) { return loss_.Value(f, y); }) +
         regularization_ * norm * norm;
}

void GradientBounds::CheckSteps(const ModelShape& shape, const Updates& updates,
                                const Broadcast& broadcast,
                                const std::function<double(std::uint32_t)>& rate) const {
  if (!unit_labels_) return;
  for (std::size_t c = 0; c < updates.size(); ++c) {
    for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
      const std::uint32_t block = updates.blocks[at];
      const double norm = NormOf(MatrixRow(broadcast.model, block, shape.width));
      const double sent = NormOf(MatrixRow(updates.values, at, shape.width));
      const double most = kRounding * rate(block) * (MostSlope(norm) + 2 * regularization_ * norm);
      if (!(sent <= most)) Refuse(updates, c, Rule::kNorm, block, "norm", sent, most);
      if (!shape.loss_per_block) continue;
      const auto loss = static_cast<double>(updates.losses[at]);
      const double dearest = kRounding * MostLoss(norm);
      if (!(loss <= dearest)) Refuse(updates, c, Rule::kLosses, block, "loss", loss, dearest);
    }
  }
}

/// How much the squared norm of parameters theta can grow in a step to keep theta - rate slope z:
/// the most that - 2 keep rate slope f + rate^2 slope^2 can be, where f = theta . z.
double GradientBounds::MostGrowth(double rate, double keep) const {
  switch (loss_.kind) {
    case LossKind::kSquared:  // slope = 2 e, f = e + y: -4 rate ((keep - rate) e^2 + keep e y)
      return keep > rate ? keep * keep * rate / (keep - rate) : kInfinity;
    case LossKind::kHuber:  // slope e >= 0, so -slope f <= |slope| |y|
      return 4 * rate * loss_.delta * (1 + rate * loss_.delta);
    case LossKind::kLogistic:  // -slope f <= f / (1 + e^f) < 0.2785
      return rate * (0.557 + rate);
  }
  return kInfinity;
}

void GradientBounds::CheckParameters(const ModelShape& shape, const Updates& updates,
                                     std::uint64_t samples, double rate, double keep) const {
  if (!unit_labels_ || keep < 0 || keep > 1) return;
  const double most = kRounding * std::sqrt(static_cast<double>(samples) * MostGrowth(rate, keep));
  const double dearest = kRounding * MostLoss(most);
  for (std::size_t c = 0; c < updates.size(); ++c) {
    for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
      const double sent = NormOf(MatrixRow(updates.values, at, shape.width));
      if (!(sent <= most)) {
        Refuse(updates, c, Rule::kNorm, updates.blocks[at], "norm", sent, most);
      }
    }
    for (std::size_t i = 0; i < shape.losses_per_update; ++i) {
      const auto loss = static_cast<double>(updates.losses[c * shape.losses_per_update + i]);
      if (loss <= dearest) continue;
      Refuse(updates, c, Rule::kLosses, static_cast<std::uint32_t>(i), "loss", loss, dearest);
    }
  }
}

std::string GradientBounds::TroubleOf(const ModelShape& shape, const Broadcast& broadcast) const {
  if (!unit_labels_) return {};
  for (std::uint32_t block = 0; block < shape.blocks; ++block) {
    const double norm = NormOf(MatrixRow(broadcast.model, block, shape.width));
    if (norm <= static_cast<double>(ExactSum::kLimit)) continue;
    return "the model has diverged: kernel " + std::to_string(block) + " has the norm " +
           std::to_string(norm) +
           ", though labels are between 0 and 1; restore a backup of the store, or start a new one";
  }
  return {};
}

}  // namespace polykern

#include "polykern/algorithms/gram/gram_sums.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <span>

namespace polykern {
namespace {

constexpr std::size_t kQuarters = 4;
constexpr std::size_t kChunk = 64;  // samples at once: their rows stay in the cache
/// NormalEquations rounds to 2^-22: of numbers 2^-4 times as large these are multiples of 2^-18,
/// and products 2^-8 times as large as they should be.
constexpr double kFactor = 0x1p-4;
constexpr double kProductsToUnits = 0x1p44;  // of products with kFactor

std::uint64_t Units(double number, double per_unit) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::nearbyint(number * per_unit)));
}

/// Four quarters of one kernel, as a bank of four; frequencies of 0 fill the last one up.
KernelBank Quarters(const KernelBank& bank, std::size_t kernel, std::size_t quarter) {
  const auto own = bank.Frequencies(kernel);
  std::vector<float> frequencies(kQuarters * quarter * bank.dimension());
  std::ranges::copy(own, frequencies.begin());
  return {std::move(frequencies), kQuarters, quarter, bank.dimension()};
}

}  // namespace

std::uint64_t UnknownsOf(std::span<const float> x) {
  const auto nonzero =
      static_cast<std::size_t>(std::ranges::count_if(x, [](float value) { return value != 0; }));
  return 1 + std::min(x.size(), 2 * nonzero);
}

std::uint64_t UnknownsOf(const LearntSamples& samples, std::size_t skipped) {
  std::uint64_t unknowns = 0;
  const std::size_t dimension = samples.x.size() / samples.y.size();
  for (std::size_t s = skipped; s < samples.y.size(); ++s) {
    unknowns += UnknownsOf(std::span(samples.x).subspan(s * dimension, dimension));
  }
  return unknowns;
}

QuarteredKernels::QuarteredKernels(const KernelBank& bank)
    : quarter_((bank.features() + kQuarters - 1) / kQuarters) {
  for (std::size_t i = 0; i < bank.kernels(); ++i) {
    kernels_.emplace_back(Quarters(bank, i, quarter_));
  }
}

GramSums::GramSums(const GramGrid& grid, const QuarteredKernels& kernels)
    : grid_(grid), kernels_(kernels), nobody_(kChunk) {
  for (std::size_t i = 0; i < grid.kernels(); ++i) features_.emplace_back(kernels.Of(i));
  for (std::size_t e = 0; e < grid.sizes(); ++e) equations_.emplace_back(grid.WidthOf(e));
}

void GramSums::Append(std::size_t expert, const LearntSamples& samples,
                      std::span<const double> weights, std::vector<std::uint64_t>& integers) {
  const std::size_t count = samples.y.size();
  assert(count > 0 && count <= std::size_t{1} << 16 && weights.size() == grid_.experts());
  NormalEquations& equations = equations_[expert % grid_.sizes()];
  for (std::size_t first = 0; first < count; first += kChunk) {
    AddChunk(expert, samples, first, std::min(kChunk, count - first), equations);
  }
  saved_.resize(GramGrid::EquationsSize(grid_.WidthOf(expert)));
  equations.Save(saved_);
  if (grid_.noisy()) return AppendNoisy(grid_.WidthOf(expert), integers);
  const std::size_t at = integers.size();
  integers.resize(at + saved_.size());
  for (std::size_t i = 0; i < saved_.size(); ++i) {  // whole numbers: nothing is left to round
    integers[at + i] =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(saved_[i] * kProductsToUnits));
  }
  std::uint64_t squares = 0;
  for (const double y : samples.y) {
    const std::uint64_t label = Units(std::clamp(y, 0.0, 1.0) - GramGrid::kMiddle, 0x1p18);
    squares += label * label;
  }
  integers.push_back(squares);
  for (const double weight : weights) integers.push_back(Units(weight, 1 / GramGrid::kUnit));
}

/// Products as they are, but for the three of a pair (gram_grid.h).
void GramSums::AppendNoisy(std::size_t width, std::vector<std::uint64_t>& integers) const {
  const double per_unit = kProductsToUnits * (GramGrid::kUnit / GramGrid::kNoisyUnit);
  for (std::size_t i = 0; i < width; ++i) {
    auto row = std::span(saved_).subspan(GramGrid::RowStart(width, i), width - i + 1);
    if (i % 2 == 0) {
      const double cosines = saved_[GramGrid::RowStart(width, i + 1)];
      integers.push_back(Units((cosines - row[0]) / std::numbers::sqrt2, per_unit));
      integers.push_back(Units(row[1] * std::numbers::sqrt2, per_unit));
      row = row.subspan(1);
    }
    for (const double sum : row.subspan(1)) integers.push_back(Units(sum, per_unit));
  }
}

void GramSums::AddChunk(std::size_t expert, const LearntSamples& samples, std::size_t first,
                        std::size_t count, NormalEquations& equations) {
  const std::size_t dimension = samples.x.size() / samples.y.size();
  const std::size_t quarter = kernels_.quarter();
  CohortFeatures& features = features_[grid_.KernelOf(expert)];
  features.Evaluate({.clients = std::span(nobody_).first(count),
                     .x = std::span(samples.x).subspan(first * dimension, count * dimension)});
  const std::size_t width = grid_.WidthOf(expert);
  const std::size_t lanes = NormalEquations::RowLanes(width);
  row_.resize(width);
  rows_.resize(count * lanes);
  // A quarter's features are as long as if there were no others.
  const double factor =
      kFactor * std::sqrt(static_cast<double>(quarter) / static_cast<double>(grid_.features()));
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t j = 0; j < width / 2; ++j) {
      const auto z = features.Of(s, j / quarter);
      row_[2 * j] = z[j % quarter];
      row_[2 * j + 1] = z[quarter + j % quarter];
    }
    const double label = std::clamp(samples.y[first + s], 0.0, 1.0) - GramGrid::kMiddle;
    NormalEquations::Round(row_, factor, kFactor * label,
                           std::span(rows_).subspan(s * lanes, lanes));
  }
  equations.Add(rows_, first == 0 ? 0 : 1);
}

}  // namespace polykern

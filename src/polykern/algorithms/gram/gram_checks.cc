#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/core/normal_equations.h"

namespace polykern {
namespace {

/// What sums say, of one client or of several.
template <class Integer>
class SumsOfExpert {
 public:
  SumsOfExpert(const GramGrid& grid, std::size_t expert, std::span<const Integer> numbers)
      : width_(grid.WidthOf(expert)), numbers_(numbers) {}

  double Square(std::size_t i) const { return At(GramGrid::RowStart(width_, i)); }
  double SquaredLabels() const { return At(GramGrid::EquationsSize(width_)); }
  std::size_t width() const { return width_; }
  double Weight(std::size_t i) const { return At(GramGrid::EquationsSize(width_) + 1 + i); }

 private:
  double At(std::size_t i) const {
    return static_cast<double>(static_cast<std::int64_t>(numbers_[i])) * GramGrid::kUnit;
  }

  std::size_t width_;
  std::span<const Integer> numbers_;
};

/// With noise: no number is larger than so many samples can make it, but for rounding.
bool TooLarge(const GramGrid& grid, std::span<const std::uint64_t> numbers, double samples) {
  // Products of features are at most 1 / D, those with labels at most 1 / (2 sqrt D), which is
  // more.
  const double most = samples / (2 * std::sqrt(static_cast<double>(grid.features())));
  return std::ranges::any_of(numbers, [&](std::uint64_t number) {
    return std::abs(static_cast<double>(static_cast<std::int64_t>(number))) >
           most / grid.unit() * (1 + 1e-4) + 1;
  });
}

/// What is wrong with the sums of so many messages; null: nothing.
template <class Integer>
const char* Fault(const GramGrid& grid, const SumsOfExpert<Integer>& sums, double samples,
                  double messages) {
  const auto features = static_cast<double>(grid.features());
  // A pair's squares add up to 1 / D; each feature may be half a unit off, and a little as a float.
  const double tolerance = samples * 4 * std::sqrt(GramGrid::kUnit / features);
  for (std::size_t j = 0; j < sums.width(); j += 2) {
    const double sine = sums.Square(j);
    const double cosine = sums.Square(j + 1);
    if (sine < 0 || cosine < 0) return "a sum of squares is negative";
    if (std::abs(sine + cosine - samples / features) > tolerance) {
      return "the norm of its features does not match its number of samples";
    }
  }
  const double squares = sums.SquaredLabels();
  if (squares < 0 || squares > samples / 4 * (1 + 1e-4)) return "its labels are out of their range";
  double all = 0;
  for (std::size_t i = 0; i < grid.experts(); ++i) {
    if (sums.Weight(i) < 0) return "a weight is negative";
    all += sums.Weight(i);
  }
  const double rounding = GramGrid::kUnit * static_cast<double>(grid.experts());
  if (std::abs(all - messages) > rounding * messages) {
    return "the weights of a client do not sum to 1";
  }
  return nullptr;
}

}  // namespace

const char* FaultOfSum(const GramGrid& grid, const Release& release) {
  const SumsOfExpert<std::int64_t> sums(grid, release.kind, release.sums);
  return Fault(grid, sums, static_cast<double>(release.count.samples),
               static_cast<double>(release.messages));
}

bool CanBeProducts(std::size_t width, std::span<const double> equations, double squares,
                   double tolerance) {
  std::vector<double> bordered;
  for (std::size_t i = 0; i < width; ++i) {  // rows of the larger matrix end with b
    const auto row = equations.subspan(GramGrid::RowStart(width, i), width - i + 1);
    bordered.insert(bordered.end(), row.begin(), row.end());
    bordered.push_back(0);
  }
  bordered.push_back(squares);
  bordered.push_back(0);
  NormalEquations matrix(width + 1);
  matrix.Load(bordered);
  std::vector<DoubleLanes> scratch;
  std::vector<double> unused(width + 1);
  return matrix.AddAndSolve({}, 1, tolerance, scratch, unused);
}

void CheckGramSums(const GramGrid& grid, std::uint64_t most_samples, const Updates& updates) {
  auto numbers = std::span<const std::uint64_t>(updates.integers);
  for (std::size_t c = 0; c < updates.size(); ++c) {
    const auto refuse = [&](Rule rule, const std::string& why) {
      throw BrokenRule(rule, "the update of client " + std::to_string(updates.clients[c]) +
                                 " for step " + std::to_string(updates.step) +
                                 " was rejected: " + why);
    };
    for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
      const std::size_t expert = updates.blocks[at];
      const std::uint64_t samples = updates.samples[at];
      if (samples > most_samples) {
        refuse(Rule::kCounts, "it sums " + std::to_string(samples) + " samples, at most " +
                                  std::to_string(most_samples) + " are allowed");
      }
      const std::uint64_t unknowns = updates.unknowns[at];
      if (unknowns < samples || unknowns > GramGrid::kMostSamples ||
          updates.new_unknowns[at] > unknowns) {
        refuse(Rule::kCounts, "it sums " + std::to_string(samples) + " samples with " +
                                  std::to_string(unknowns) + " unknowns");
      }
      if (!updates.nonces.empty()) continue;  // masked: only their total can be judged
      if (grid.noisy()) {
        if (TooLarge(grid, numbers.first(grid.NumbersOf(expert)), static_cast<double>(samples))) {
          refuse(Rule::kSums, "a sum is too large for its number of samples");
        }
        numbers = numbers.subspan(grid.NumbersOf(expert));
        continue;
      }
      const SumsOfExpert sums(grid, expert, numbers);
      if (const char* fault = Fault(grid, sums, static_cast<double>(samples), 1)) {
        refuse(Rule::kSums,
               "the sums of expert " + std::to_string(expert) + " are impossible: " + fault);
      }
      numbers = numbers.subspan(grid.NumbersOf(expert));
    }
    const SampleCount& fresh = updates.fresh[c];
    if (fresh.unknowns < fresh.samples || fresh.samples > GramGrid::kMostSamples ||
        fresh.unknowns > GramGrid::kMostSamples) {
      refuse(Rule::kCounts, "it claims to have learnt from " + std::to_string(fresh.samples) +
                                " samples with " + std::to_string(fresh.unknowns) + " unknowns");
    }
  }
}

}  // namespace polykern

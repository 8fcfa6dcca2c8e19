#include "polykern/net/learnt_ranges.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <string>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/made_inputs.h"

namespace polykern {
namespace {

/// Its ends are finite, and so is its width.
void SetRange(double least, double greatest, ColumnRange& column) {
  const double margin =
      least < greatest ? kRangeMargin * (greatest - least) : std::max(1.0, std::abs(least));
  column.low = least - margin + 0.0;  // not -0, which has another text
  column.high = greatest + margin + 0.0;
}

/// Of all clients, for one column.
void SetRange(const std::map<std::uint64_t, ClientRanges>& told, std::size_t i,
              ColumnRange& column) {
  double least = kLargestInRange;
  double greatest = -kLargestInRange;
  for (const auto& [client, ranges] : told) {
    least = std::min(least, ranges.least[i]);
    greatest = std::max(greatest, ranges.greatest[i]);
  }
  SetRange(least, greatest, column);
}

}  // namespace

bool LearntRanges::Take(std::uint64_t client, const ClientRanges& ranges) {
  const std::size_t columns = inputs() + 1;
  if (ranges.least.size() != columns || ranges.greatest.size() != columns) {
    throw BrokenRule(Rule::kLengths, "received ranges of " + std::to_string(ranges.least.size()) +
                                         " and " + std::to_string(ranges.greatest.size()) +
                                         " columns, the label included; there are " +
                                         std::to_string(columns));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    const double least = ranges.least[i];
    const double greatest = ranges.greatest[i];
    // Also false for what is not a number.
    if (std::abs(least) <= kLargestInRange && std::abs(greatest) <= kLargestInRange &&
        least <= greatest) {
      continue;
    }
    throw BrokenRule(Rule::kNumbers, "the range of column " + std::to_string(i) +
                                         " is not finite, too large, or ends before it begins");
  }
  const auto [place, fresh] = by_client_.try_emplace(client, ranges);
  if (!fresh &&
      (place->second.least != ranges.least || place->second.greatest != ranges.greatest)) {
    throw BrokenRule(Rule::kTwice, "this client sent different ranges before");
  }
  return fresh;
}

FederationConfiguration LearntRanges::Federation() const {
  assert(!by_client_.empty());
  FederationConfiguration known = federation_;
  known.learn_ranges = 0;
  TakeMadeColumnsOut(known);
  for (std::size_t i = 0; i < inputs(); ++i) SetRange(by_client_, i, known.columns[i]);
  SetRange(by_client_, inputs(), known.target);
  AddMadeColumns(known);
  return known;
}

bool IsLearntFrom(const FederationConfiguration& learning, const FederationConfiguration& known) {
  FederationConfiguration like = known;
  like.learn_ranges = learning.learn_ranges;
  const auto forget = [](ColumnRange& now, const ColumnRange& before) {
    now.low = before.low;
    now.high = before.high;
  };
  if (like.columns.size() != learning.columns.size()) return false;
  for (std::size_t i = 0; i < like.columns.size(); ++i) {
    forget(like.columns[i], learning.columns[i]);
  }
  forget(like.target, learning.target);
  return ToTexts(like) == ToTexts(learning);
}

}  // namespace polykern

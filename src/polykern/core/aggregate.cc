#include "polykern/core/aggregate.h"

#include <algorithm>
#include <cassert>

#include "polykern/core/vector_ops.h"

namespace polykern {

bool ExactSum::Representable(std::span<const float> values) {
  return AllWithin(values, kLimit);
}

void ExactSum::Add(std::span<const float> rows, std::span<const std::uint32_t> which) {
  if (which.empty()) return;
  assert(Representable(rows));
  AddRoundedRows(rows, which, rows.size() / which.size(), kUnit, sums_);
}

void ExactSum::Add(std::size_t offset, std::span<const float> values) {
  assert(offset + values.size() <= sums_.size());
  assert(Representable(values));
  constexpr std::uint32_t kOnlyRow[] = {0};
  AddRoundedRows(values, kOnlyRow, values.size(), kUnit, std::span(sums_).subspan(offset));
}

void ExactSum::Merge(const ExactSum& other) {
  assert(other.size() == size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
}

void ExactSum::Clear() {
  std::ranges::fill(sums_, 0);
}

}  // namespace polykern

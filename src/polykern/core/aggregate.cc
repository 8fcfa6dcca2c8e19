#include "polykern/core/aggregate.h"

#include <algorithm>
#include <cassert>

#include "polykern/core/vector_ops.h"

namespace polykern {

bool ExactSum::Representable(std::span<const float> values) {
  return AllWithin(values, kLimit);
}

void ExactSum::Add(std::size_t offset, std::span<const float> values) {
  assert(offset + values.size() <= sums_.size());
  assert(Representable(values));
  AddRounded(values, kUnit, std::span(sums_).subspan(offset, values.size()));
}

void ExactSum::Merge(const ExactSum& other) {
  assert(other.size() == size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
}

void ExactSum::Clear() {
  std::ranges::fill(sums_, 0);
}

}  // namespace polykern

#include "polykern/algorithms/gram/gram_grid.h"

#include <cassert>

namespace polykern {

GramGrid::GramGrid(std::size_t kernels, std::size_t features) : kernels_(kernels) {
  for (const std::size_t size : kSizes) {
    if (size > features) break;
    theta_start_.push_back(model_width_);
    sizes_.push_back(size);
    model_width_ += 2 * size;
  }
  assert(!sizes_.empty() && sizes_.back() == features);
}

GramGrid GramGrid::Noisy(std::size_t features) {
  GramGrid grid;
  grid.noisy_ = true;
  grid.sizes_ = {features};
  grid.theta_start_ = {0};
  grid.model_width_ = 2 * features;
  return grid;
}

std::size_t GramGrid::LargestSize(std::size_t kernels, const AlgorithmOptions& options) {
  const double saved =
      static_cast<double>(options.budget) * static_cast<double>(options.burst);  // may be huge
  std::size_t largest = 0;
  for (const std::size_t size : kSizes) {
    const GramGrid grid(kernels, size);
    if (static_cast<double>(grid.NumbersOf(grid.sizes() - 1)) <= saved) largest = size;
  }
  return largest;
}

std::vector<std::size_t> GramGrid::SmallestFirst() const {
  std::vector<std::size_t> all;
  for (std::size_t size = 0; size < sizes(); ++size) {
    for (std::size_t expert = size; expert < experts(); expert += sizes()) all.push_back(expert);
  }
  return all;
}

std::size_t GramGrid::LargestNoisySize(const AlgorithmOptions& options) {
  const double saved = static_cast<double>(options.budget) * static_cast<double>(options.burst);
  std::size_t largest = 0;
  for (const std::size_t size : kNoisySizes) {
    if (static_cast<double>(Noisy(size).NumbersOf(0)) <= saved) largest = size;
  }
  return largest;
}

ModelShape GramGrid::Shape(std::size_t most_numbers) const {
  ModelShape shape;
  shape.blocks = kernels_;
  shape.width = model_width_;
  shape.blocks_per_update = experts();
  shape.ring = {64, unit()};
  for (std::size_t expert = 0; expert < experts(); ++expert) {
    shape.sums.push_back(NumbersOf(expert));
  }
  shape.most_sum_numbers = most_numbers;
  return shape;
}

}  // namespace polykern

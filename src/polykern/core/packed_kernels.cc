#include "polykern/core/packed_kernels.h"

namespace polykern {

PackedKernels::PackedKernels(const KernelBank& bank)
    : kernels_(bank.kernels()),
      features_(bank.features()),
      dimension_(bank.dimension()),
      scales_(bank.Scales().begin(), bank.Scales().end()) {
  for (std::size_t i = 0; i < kernels_; ++i) longest_.push_back(bank.LongestFrequency(i));
  if (shared()) {
    frequencies_.resize(dimension_ * shared_vectors());
    for (std::size_t j = 0; j < features_; ++j) {
      for (std::size_t c = 0; c < dimension_; ++c) {
        frequencies_[c * shared_vectors() + j / kLanes].lane[j % kLanes] =
            bank.SharedFrequencies()[j * dimension_ + c];
      }
    }
    return;
  }
  frequencies_.resize(groups() * dimension_ * row_vectors());
  for (std::size_t i = 0; i < kernels_; ++i) {
    FloatLanes* group = frequencies_.data() + i / kGroup * dimension_ * row_vectors();
    for (std::size_t j = 0; j < features_; ++j) {
      for (std::size_t c = 0; c < dimension_; ++c) {
        group[c * row_vectors() + j / kRun].lane[i % kGroup * kRun + j % kRun] =
            bank.Frequencies(i)[j * dimension_ + c];
      }
    }
  }
}

}  // namespace polykern

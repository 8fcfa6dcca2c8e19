#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/cohort_features.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/core/losses.h"

namespace polykern {

/// Where a client's state has what belongs to its private experts.
struct PrivateState {
  std::size_t mixture = 0;  ///< of the federated prediction and the private experts
  std::size_t experts = 0;  ///< what these have learnt
};

/// The experts that each client of a cohort has for itself, on top of a federated prediction: each
/// adds its correction to that, and a second mixture chooses among all of them. One per thread;
/// what is passed in must outlive it.
class PrivateExperts {
 public:
  PrivateExperts(const LocalExperts& local, const Mixture& outer, const Loss& loss,
                 const PackedKernels& packed, const PrivateState& state)
      : local_(local),
        outer_(outer),
        loss_(loss),
        n_(outer.experts()),
        at_(state),
        features_(packed) {}

  /// `predictions`: the federated ones, which become those of all.
  void Predict(const Samples& samples, std::span<double> predictions);
  /// The label of client c arrives, after Predict. `based`: as LocalExperts has it.
  void Learn(const Samples& samples, std::size_t c, double label, bool based = true);

 private:
  std::span<double> OuterState(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + at_.mixture, outer_.StateSize()};
  }
  std::span<double> LocalState(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + at_.experts, local_.StateSize()};
  }

  const LocalExperts& local_;
  const Mixture& outer_;
  const Loss& loss_;
  std::size_t n_;  // the federated prediction and the local experts
  PrivateState at_;
  CohortFeatures features_;
  std::vector<double> base_;     // per client: the federated prediction
  std::vector<float> f_;         // clients x n
  std::vector<double> weights_;  // clients x n
  std::vector<double> losses_;
  std::vector<double> scratch_;
};

}  // namespace polykern

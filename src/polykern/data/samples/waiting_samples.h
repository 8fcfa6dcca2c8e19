#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "polykern/core/metrics.h"

namespace polykern {

/// What was said of a sample before its label came.
struct ToldPrediction {
  double value = 0;                       ///< scaled
  std::optional<Interval> interval = {};  ///< likewise
  std::string time = {};                  ///< when
};

struct WaitingSample {
  std::vector<float> x = {};
  std::optional<ToldPrediction> told = {};  ///< none: an earlier process has said it
};

/// Samples that were predicted for and wait for their labels, which come in any order or never. Of
/// more than `most` the oldest is forgotten. Use it from one thread.
class WaitingSamples {
 public:
  explicit WaitingSamples(std::size_t most) : most_(most) {}

  /// A second sample of the same name takes the place of the first, which is forgotten.
  void Add(const std::string& id, std::vector<float> x);

  /// What was predicted for a sample; nothing happens if it does not wait.
  void Tell(const std::string& id, ToldPrediction told);

  /// The sample; it waits no longer. None if no such sample waits.
  std::optional<WaitingSample> Take(const std::string& id);

  void ForgetAll();

  std::size_t size() const { return samples_.size(); }
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct Sample {
    std::string id;
    WaitingSample waiting;
  };

  std::size_t most_;
  std::list<Sample> samples_;  // the oldest first
  std::unordered_map<std::string, std::list<Sample>::iterator> places_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace polykern

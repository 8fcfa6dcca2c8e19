#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace polykern {

/// Samples that were predicted for and wait for their labels, which come in any order or never. Of
/// more than `most` the oldest is forgotten. Use it from one thread.
class WaitingSamples {
 public:
  explicit WaitingSamples(std::size_t most) : most_(most) {}

  /// A second sample of the same name takes the place of the first, which is forgotten.
  void Add(const std::string& id, std::vector<float> x);

  /// The sample's inputs; it waits no longer. None if no such sample waits.
  std::optional<std::vector<float>> Take(const std::string& id);

  std::size_t size() const { return samples_.size(); }
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct Sample {
    std::string id;
    std::vector<float> x;
  };

  std::size_t most_;
  std::list<Sample> samples_;  // the oldest first
  std::unordered_map<std::string, std::list<Sample>::iterator> places_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace polykern

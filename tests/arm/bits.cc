// polykern_bits: a line for each algorithm, a hash of all bits that a small federation comes to.
// The same on every machine with fused multiply-add: scripts/test-arm compares 64-bit ARM's with
// this machine's.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "polykern/algorithms/registry.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"

namespace {

using namespace polykern;

constexpr std::size_t kClients = 7;
constexpr std::size_t kDimension = 5;
constexpr std::size_t kSteps = 15;

struct Sample {
  std::vector<float> x;
  double y = 0;
};

/// Everybody takes part in every step, so a sample's number is its step.
Sample SampleOf(std::uint64_t client, std::uint64_t step) {
  Random random(3, Purpose::kTest, client, step);
  Sample sample;
  for (std::size_t i = 0; i < kDimension; ++i) {
    sample.x.push_back(static_cast<float>(0.5 * random.Normal()));
  }
  const double turn = static_cast<double>(sample.x[0] * sample.x[1]);
  sample.y = 0.5 + 0.3 * turn / (1 + turn * turn) + 0.1 * random.Uniform();
  return sample;
}

class EverySample final : public SampleHistory {
 public:
  void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to, std::uint64_t,
            LearntSamples& samples) const override {
    for (std::uint64_t step = from; step < to; ++step) {
      const Sample sample = SampleOf(client, step);
      samples.x.insert(samples.x.end(), sample.x.begin(), sample.x.end());
      samples.y.push_back(sample.y);
    }
  }
};

class Hash {
 public:
  template <typename Numbers>
  void Add(const Numbers& numbers) {
    for (const double number : numbers) {
      hash_ = (hash_ ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3U;
      hash_ ^= hash_ >> 29;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::uint64_t BitsOf(std::string_view name) {
  const auto algorithm = MakeAlgorithm(
      name, {}, {.dimension = kDimension, .horizon = kSteps, .seed = 11, .clients = kClients});
  const EverySample history;
  Clients clients(*algorithm, 0, kClients);
  Coordinator coordinator(*algorithm, kClients);
  ClientRound round(*algorithm);
  round.ReadFrom(history);
  const std::vector<std::uint8_t> present(kClients, 1);
  Hash hash;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    std::vector<float> x;
    std::vector<double> y;
    for (std::uint64_t k = 0; k < kClients; ++k) {
      const Sample sample = SampleOf(k, step);
      x.insert(x.end(), sample.x.begin(), sample.x.end());
      y.push_back(sample.y);
    }
    round.Predict(coordinator.broadcast(), clients, 0, x, present);
    hash.Add(round.predictions());
    coordinator.Receive(round.Learn(y));
    coordinator.Commit();
  }
  hash.Add(coordinator.Save());
  hash.Add(clients.Save());
  return hash.value();
}

}  // namespace

int main() {
  for (const std::string_view name : AlgorithmNames()) {
    std::printf("%-12s %016llx\n", std::string(name).c_str(),
                static_cast<unsigned long long>(BitsOf(name)));
  }
}

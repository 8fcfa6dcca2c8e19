#include "polykern/sim/simulated_masks.h"

#include <limits>
#include <span>

#include "polykern/core/random.h"
#include "polykern/federation/coordinator.h"

namespace polykern {
namespace {

constexpr std::uint64_t kEpoch = 1;
constexpr double kAnyDisclosure = std::numeric_limits<double>::infinity();

SecretKey KeyFrom(Random& random) {
  SecretKey key;
  for (std::uint8_t& byte : key.bytes) byte = static_cast<std::uint8_t>(random.Bits());
  return key;
}

/// Of pairwise masks there is nothing to take off.
class PairwiseJudge final : public Opener {
 public:
  explicit PairwiseJudge(std::size_t clients) : clients_(clients) {}
  void Open(Release& release) override { release.refusal = PairwiseRefusal(release, clients_); }

 private:
  std::size_t clients_;
};

}  // namespace

SimulatedMasks::SimulatedMasks(const Algorithm& algorithm, std::uint64_t seed,
                               std::size_t clients) {
  CheckTakesMasks(algorithm);
  if (algorithm.definition().options.masking == Masking::kPairwise) {
    MakePairs(seed, clients);
  } else {
    MakeHelped(algorithm.shape().ring, seed, clients);
  }
}

void SimulatedMasks::MakeHelped(const Ring& ring, std::uint64_t seed, std::size_t clients) {
  for (std::uint64_t client = 0; client < clients; ++client) {
    Random random(seed, Purpose::kMasks, client);
    keys_.push_back({KeyFrom(random), KeyFrom(random)});
  }
  const auto keys = [this](std::uint64_t client) -> const ClientMaskKeys& { return keys_[client]; };
  sealing_ = std::make_unique<MaskSealing>(kEpoch, keys);
  opener_ = std::make_unique<MaskOpener>(kEpoch, ring, keys);
}

/// No client waits here for more samples, so clients have no rules of their own.
void SimulatedMasks::MakePairs(std::uint64_t seed, std::size_t clients) {
  pairs_.resize(clients);
  for (std::uint64_t one = 0; one < clients; ++one) {
    for (std::uint64_t other = one + 1; other < clients; ++other) {
      Random random(seed, Purpose::kMasks, one, other);
      const SecretKey key = KeyFrom(random);
      pairs_[one].push_back({key, true});
      pairs_[other].push_back({key, false});
    }
  }
  sealing_ = std::make_unique<PairwiseSealing>(
      kEpoch, MaskNonce{}, PairwiseRules{.least_samples = 0, .disclosure = kAnyDisclosure},
      [this](std::uint64_t client) { return std::span<const PairedKey>(pairs_[client]); });
  opener_ = std::make_unique<PairwiseJudge>(clients);
}

}  // namespace polykern

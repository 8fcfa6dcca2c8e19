#include "polykern/sim/simulated_masks.h"

#include "polykern/core/random.h"
#include "polykern/federation/coordinator.h"

namespace polykern {
namespace {

constexpr std::uint64_t kEpoch = 1;

const Algorithm& Checked(const Algorithm& algorithm) {
  CheckTakesMasks(algorithm);
  return algorithm;
}

SecretKey KeyFrom(Random& random) {
  SecretKey key;
  for (std::uint8_t& byte : key.bytes) byte = static_cast<std::uint8_t>(random.Bits());
  return key;
}

}  // namespace

SimulatedMasks::SimulatedMasks(const Algorithm& algorithm, std::uint64_t seed, std::size_t clients)
    : sealing(kEpoch,
              [this](std::uint64_t client) -> const ClientMaskKeys& { return keys_[client]; }),
      opener(kEpoch, Checked(algorithm).shape().ring,
             [this](std::uint64_t client) -> const ClientMaskKeys& { return keys_[client]; }) {
  for (std::uint64_t client = 0; client < clients; ++client) {
    Random random(seed, Purpose::kMasks, client);
    keys_.push_back({KeyFrom(random), KeyFrom(random)});
  }
}

}  // namespace polykern

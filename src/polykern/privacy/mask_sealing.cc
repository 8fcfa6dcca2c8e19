#include "polykern/privacy/mask_sealing.h"

#include <cassert>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace polykern {

SecretKey NonceKeyOf(const SecretKey& own) {
  constexpr std::string_view kPurpose = "polykern nonce key 1";
  SecretKey key;
  Hkdf(own.bytes, {},
       std::span(reinterpret_cast<const std::uint8_t*>(kPurpose.data()), kPurpose.size()),
       key.bytes);
  return key;
}

MaskedSum SumOf(const Contribution& contribution, std::uint32_t kind) {
  return {.turn = contribution.step,
          .kind = kind,
          .samples = contribution.count.samples,
          .unknowns = contribution.count.unknowns,
          .new_unknowns = contribution.new_unknowns,
          .releases = contribution.releases,
          .nonce = contribution.nonce};
}

const Updates& MaskSealing::Seal(const ModelShape& shape, const Updates& learnt,
                                 Updates& sealed) const {
  if (learnt.blocks.empty()) return learnt;
  assert(!shape.sums.empty());
  sealed = learnt;
  MaskStream stream(epoch_, shape.ring.bits, shape.ring.unit);
  auto rest = std::span(sealed.integers);
  for (std::size_t c = 0; c < learnt.size(); ++c) {
    const ClientMaskKeys& keys = keys_(learnt.clients[c]);
    const auto message = rest.first(learnt.NumbersOf(shape, c));
    const MaskNonce nonce = MessageNonce(keys.nonces, learnt.step, message);
    sealed.nonces.push_back(nonce);
    for (std::size_t at = learnt.first[c]; at < learnt.first[c + 1]; ++at) {
      const std::uint32_t kind = learnt.blocks[at];
      const Contribution own{learnt.clients[c],       learnt.step,
                             learnt.releases,         {learnt.samples[at], learnt.unknowns[at]},
                             learnt.new_unknowns[at], nonce};
      stream.Add(keys.pair, SumOf(own, kind), rest.first(shape.sums[kind]));
      rest = rest.subspan(shape.sums[kind]);
    }
  }
  return sealed;
}

MaskOpener::MaskOpener(std::uint64_t epoch, const Ring& ring, MaskSealing::KeysOf keys)
    : stream_(epoch, ring.bits, ring.unit), keys_(std::move(keys)) {}

void MaskOpener::Open(Release& release) {
  std::vector<std::uint64_t> streams(release.sums.size());
  for (const Contribution& each : release.contributions) {
    stream_.Add(keys_(each.client).pair, SumOf(each, release.kind), streams);
  }
  TakeOff(streams, release.sums);
}

void TakeOff(std::span<const std::uint64_t> streams, std::span<std::int64_t> sums) {
  assert(streams.size() == sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) - streams[i]);
  }
}

}  // namespace polykern

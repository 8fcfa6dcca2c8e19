#include "polykern/privacy/pairwise_sealing.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

#include "polykern/privacy/crypto_internal.h"

namespace polykern {

std::vector<std::uint8_t> RosterDigest(std::string_view federation, std::uint64_t epoch,
                                       std::span<const RosterEntry> roster) {
  std::map<std::string_view, const PublicKey*> sorted;
  for (const RosterEntry& each : roster) sorted.emplace(each.name, &each.key);
  Encoding all("polykern roster 1");
  all.Text(federation).Number(epoch).Number(sorted.size());
  for (const auto& [name, key] : sorted) {
    all.Text(name).Text({reinterpret_cast<const char*>(key->data()), key->size()});
  }
  std::vector<std::uint8_t> digest(32);
  unsigned size = 0;
  RequireCrypto(EVP_Digest(all.bytes().data(), all.bytes().size(), digest.data(), &size,
                           EVP_sha256(), nullptr) == 1,
                "compute SHA-256");
  return digest;
}

MaskNonce RosterTag(std::span<const std::uint8_t> digest) {
  MaskNonce tag{};
  std::copy_n(digest.begin(), tag.size(), tag.begin());
  return tag;
}

std::vector<PairedKey> PairedKeys(const SecretKey& own, std::string_view name,
                                  std::string_view federation, std::uint64_t epoch,
                                  std::span<const RosterEntry> roster) {
  const std::vector<std::uint8_t> digest = RosterDigest(federation, epoch, roster);
  const std::string_view further(reinterpret_cast<const char*>(digest.data()), digest.size());
  std::set<std::string_view> names;
  std::vector<PairedKey> pairs;
  for (const RosterEntry& each : roster) {
    if (!names.insert(each.name).second) {
      throw Error(each.name + " is among the clients twice");
    }
    if (each.name == name) continue;
    const bool first = name < each.name;
    pairs.push_back(
        {PairKey(own, each.key,
                 {federation, epoch, first ? name : each.name, first ? each.name : name, further}),
         first});
  }
  if (!names.contains(name)) throw Error(std::string(name) + " is not among the clients");
  return pairs;
}

/// Each client sees to its share of what a helper would ask of the whole.
void PairwiseSealing::Check(const Updates& learnt, std::size_t at, std::size_t numbers,
                            std::size_t clients) const {
  const std::uint64_t samples = learnt.samples[at];
  const double unknowns = static_cast<double>(learnt.unknowns[at]) * static_cast<double>(clients);
  if (samples * (clients - 1) >= rules_.least_samples &&
      static_cast<double>(numbers) <= rules_.disclosure * unknowns) {
    return;
  }
  throw TooFewSamples("step " + std::to_string(learnt.step) + " asks for " +
                      std::to_string(numbers) + " numbers over " + std::to_string(samples) +
                      " samples of this client, one of " + std::to_string(clients) +
                      ", which hides too little: it waits for more");
}

const Updates& PairwiseSealing::Seal(const ModelShape& shape, const Updates& learnt,
                                     Updates& sealed) const {
  if (learnt.blocks.empty()) return learnt;
  assert(!shape.sums.empty());
  for (std::size_t c = 0; c < learnt.size(); ++c) {
    const std::size_t clients = 1 + keys_(learnt.clients[c]).size();
    for (std::size_t at = learnt.first[c]; at < learnt.first[c + 1]; ++at) {
      Check(learnt, at, shape.sums[learnt.blocks[at]], clients);
    }
  }
  sealed = learnt;
  sealed.nonces.assign(learnt.size(), tag_);
  MaskStream stream(epoch_, shape.ring.bits, shape.ring.unit);
  auto rest = std::span(sealed.integers);
  for (std::size_t c = 0; c < learnt.size(); ++c) {
    for (std::size_t at = learnt.first[c]; at < learnt.first[c + 1]; ++at) {
      // Nothing of one client alone: the other does not know it.
      const MaskedSum sum{.turn = learnt.step, .kind = learnt.blocks[at]};
      const auto numbers = rest.first(shape.sums[sum.kind]);
      for (const PairedKey& pair : keys_(learnt.clients[c])) {
        pair.adds ? stream.Add(pair.key, sum, numbers) : stream.Subtract(pair.key, sum, numbers);
      }
      rest = rest.subspan(numbers.size());
    }
  }
  return sealed;
}

std::string PairwiseRefusal(const Release& release, std::size_t clients) {
  std::map<std::uint64_t, std::set<std::uint64_t>> answers;  // of each step
  for (const Contribution& each : release.contributions) {
    if (each.nonce != release.contributions.front().nonce) {
      return "a message is masked for other clients, or another epoch";
    }
    answers[each.step].insert(each.client);
  }
  for (const auto& [step, who] : answers) {
    if (who.size() == clients) continue;
    return "only " + std::to_string(who.size()) + " of " + std::to_string(clients) +
           " clients have answered step " + std::to_string(step) + ", and pairwise masks need all";
  }
  return {};
}

}  // namespace polykern

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/helper/helper_ledger.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/store/store.h"

namespace polykern {

// For the tests of helpers: clients that mask, a log in memory, keys that need no certificates.

inline constexpr Ring kTestRing{64, 0x1p-36};
inline constexpr const char* kTestHelper = "helper";
inline constexpr const char* kTestFederation = "0123456789abcdef";

/// The slow, obvious twin of the log in SQLite.
class MemoryHelperLog final : public HelperLog {
 public:
  HelperContents Contents() override { return contents; }
  void WriteRelease(const LoggedRelease& release) override {
    BeforeWriting();
    BeginEpoch(release.request.federation, release.request.epoch);
    ++contents.releases;
    if (release.refusal.empty()) contents.numbers += release.request.numbers;
    contents.unknowns += release.unknowns;
    if (!release.streams.empty()) contents.noise = release.request.noise;
    contents.streams.insert(contents.streams.end(), release.streams.begin(), release.streams.end());
    for (const auto& [client, step] : release.next_steps) {
      contents.next_steps[{client, release.request.kind}] = step;
    }
    contents.digest = release.digest;
    contents.answer.assign(release.answer.begin(), release.answer.end());
    contents.refusal = release.refusal;
  }
  void WriteBehind(const std::string& federation, std::uint64_t epoch) override {
    BeforeWriting();
    BeginEpoch(federation, epoch);
    contents.behind = true;
  }
  void WriteKeys(const std::map<std::string, std::string>& keys) override {
    BeforeWriting();
    for (const auto& [client, key] : keys) contents.keys[client] = key;
  }

  HelperContents contents;
  bool full = false;
  bool broken = false;

 private:
  void BeforeWriting() const {
    if (full) throw DiskFull("helper.db: the disk is full");
    if (broken) throw Error("helper.db: the disk is broken");
  }
  void BeginEpoch(const std::string& federation, std::uint64_t epoch) {
    if (contents.federation == federation && contents.epoch == epoch) return;
    auto keys = std::move(contents.keys);
    contents = {.federation = federation, .epoch = epoch};
    contents.keys = std::move(keys);
  }
};

/// Clients with keys, and what they send: numbers that are masked for the helper.
class MaskingClients final : public ClientKeys {
 public:
  MaskingClients(const std::set<std::string>& names, const PublicKey& helper) : helper_(helper) {
    for (const std::string& name : names) keys_.emplace(name, MakeMaskKeys());
  }

  Found Find(const std::string& client) override {
    ++asked;
    if (const auto found = without.find(client); found != without.end()) return found->second;
    return {.key = keys_.at(client).open};
  }

  /// A message of a client joins the sum that the request is for. All of its samples are new.
  void Send(const std::string& client, std::uint64_t step, std::uint64_t samples,
            ReleaseRequest& request, std::uint64_t releases = 0) {
    Send({.client = client,
          .step = step,
          .releases = releases,
          .count = {samples, 6 * samples},
          .new_unknowns = 6 * samples},
         request);
  }
  void Send(NamedContribution message, ReleaseRequest& request) {
    std::vector<std::uint64_t> numbers(request.numbers);
    for (std::uint64_t& number : numbers)
      number = below > 0 ? random_.Below(below) : random_.Bits();
    for (auto& byte : message.nonce) byte = static_cast<std::uint8_t>(random_.Bits());
    plain.resize(request.numbers);
    masked.resize(request.numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) plain[i] += numbers[i];
    const SecretKey pair = PairKey(keys_.at(message.client).secret, helper_,
                                   {request.federation, request.epoch, message.client, kTestHelper,
                                    BindingOf(promised.value_or(request.noise))});
    MaskStream stream(request.epoch, request.ring.bits, request.ring.unit);
    stream.Add(pair,
               {message.step, request.kind, message.count.samples, message.count.unknowns,
                message.new_unknowns, message.releases, message.nonce},
               numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) masked[i] += numbers[i];
    request.messages.push_back(message);
  }
  /// What the server has once the streams are off.
  std::vector<std::uint64_t> Unmasked(const HelperReply& reply) const {
    std::vector<std::uint64_t> numbers = masked;
    for (std::size_t i = 0; i < numbers.size() && i < reply.streams.size(); ++i) {
      numbers[i] -= reply.streams[i];
    }
    return numbers;
  }
  /// The next sum begins.
  void Clear() {
    plain.clear();
    masked.clear();
  }
  const MaskKeys& KeysOf(const std::string& client) const { return keys_.at(client); }
  /// The key in a file mask.key instead of the one it has.
  void Use(const std::string& client, const std::string& mask_key) {
    MaskKeys& keys = keys_.at(client);
    keys.secret = ReadMaskKey(mask_key, client);
    keys.open = PublicKeyOf(keys.secret);
  }

  std::map<std::string, Found> without;  ///< whose key is not to be had
  std::size_t asked = 0;
  std::uint64_t below = 0;             ///< of the numbers; 0: any
  std::optional<NoiseTerms> promised;  ///< to clients, if it is not what the helper is told
  std::vector<std::uint64_t> plain;    ///< the sum of what was sent
  std::vector<std::uint64_t> masked;

 private:
  PublicKey helper_;
  std::map<std::string, MaskKeys> keys_;
  Random random_{11, Purpose::kTest};
};

inline ReleaseRequest TestRequest(std::uint64_t number, std::uint32_t kind = 0,
                                  std::uint64_t numbers = 20, std::uint64_t epoch = 0) {
  return {.federation = kTestFederation,
          .epoch = epoch,
          .number = number,
          .kind = kind,
          .numbers = numbers,
          .ring = kTestRing};
}

}  // namespace polykern

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "polykern/net/helper/helper_log.h"
#include "polykern/net/helper/helper_noise.h"
#include "polykern/net/helper/release.h"
#include "polykern/privacy/mask_keys.h"

namespace polykern {

/// Whom a helper serves, and what it asks of a release. Its own: no one else can change them.
struct HelperRules {
  std::set<std::string> clients = {};  ///< the only ones
  std::size_t least_clients = 2;
  std::uint64_t least_samples = 32;  ///< also without the client that has the most
  double disclosure = 0.5;           ///< numbers for each unknown of the samples, at most
  /// Above 0: it works with noise alone, for no larger epsilon and delta; disclosure means nothing
  /// with noise.
  double most_epsilon = 0;
  double most_delta = 1e-6;
};

/// Where a helper finds the keys of clients.
class ClientKeys {
 public:
  struct Found {
    std::optional<PublicKey> key = {};  ///< it is proven now
    std::string reason = {};            ///< why there is none
    bool later = false;                 ///< there may be one later
  };
  virtual ~ClientKeys() = default;
  virtual Found Find(const std::string& client) = 0;
};

/// A helper's rules: whether it unmasks a release. It settles each release once, by an answer or a
/// refusal, which is in the log before it is given out; the same request gets the same again, any
/// other is refused. What cannot be next leaves nothing behind, but for one thing: if a message
/// shows that the log was restored from a backup, every release is refused until a new epoch
/// begins.
///
/// No files, clocks or connections here, but for the log. One thread at a time. `log` must outlive
/// it.
class HelperLedger {
 public:
  /// `name` and `own` are the helper's. Throws Error if the log cannot be read.
  HelperLedger(const HelperRules& rules, std::string name, const SecretKey& own, HelperLog& log);

  /// Why it does not work for this federation in this epoch, with that promise of noise; empty: it
  /// does. What was promised with the first release holds until the next epoch.
  std::string Refusal(const std::string& federation, std::uint64_t epoch,
                      const NoiseTerms& noise = {}) const;
  /// How many releases it has settled in an epoch that it does not refuse; and how many of them it
  /// has answered with noise.
  std::uint64_t releases(std::uint64_t epoch) const { return IsNew(epoch) ? 0 : held_.releases; }
  std::uint64_t noisy_releases(std::uint64_t epoch) const;

  /// The noise of the next release, if there is to be any: without it the release is answered
  /// later.
  void Use(std::unique_ptr<HelperNoise> noise) { noise_ = std::move(noise); }
  bool HasNoise(const NoiseTerms& terms) const { return noise_ && noise_->terms() == terms; }
  /// With noise: what a row of the first release has lost so far.
  double EpsilonSpent() const;

  /// Throws Error if the log fails, other than for lack of room: then it must not be used any more.
  HelperReply Release(const ReleaseRequest& request, ClientKeys& keys);

 private:
  struct Tally;
  struct Pair {
    PublicKey other{};
    std::uint64_t epoch = 0;
    std::string noise;  // BindingOf
    SecretKey key;
  };

  bool IsNew(std::uint64_t epoch) const { return held_.federation.empty() || epoch > held_.epoch; }
  bool IsNext(const LoggedRelease& release);
  std::vector<std::uint64_t> Judge(LoggedRelease& release, ClientKeys& keys);
  Tally Count(const ReleaseRequest& request) const;
  void CheckDisclosure(const ReleaseRequest& request, const Tally& tally) const;
  void CheckLeast(const Tally& tally) const;
  void CheckBudget(const ReleaseRequest& request) const;
  std::vector<std::uint64_t> WithNoise(const ReleaseRequest& request,
                                       const std::vector<std::uint64_t>& streams);
  std::vector<std::uint64_t> SumOfStreams(const ReleaseRequest& request, const Tally& tally);
  const SecretKey& PairOf(const ReleaseRequest& request, const std::string& client,
                          const PublicKey& key);
  void Keep(const LoggedRelease& release);

  const HelperRules rules_;
  const std::string name_;
  const SecretKey own_;
  HelperLog& log_;
  HelperContents held_;                 // of it, but for the keys
  std::unique_ptr<HelperNoise> noise_;  // null: it is not drawn yet
  std::vector<std::uint64_t> streams_;  // Judge's: with noise, of the release it judges
  std::map<std::string, Pair> pairs_;
};

}  // namespace polykern

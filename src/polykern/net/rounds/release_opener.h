#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

/// What the opener of sums has done so far, for its operator. A plain value.
struct OpenerStatus {
  struct Noise {
    double epsilon = 0;  ///< that may be spent
    double delta = 0;
    double spent = 0;          ///< of epsilon, by a row of the first release
    std::size_t releases = 0;  ///< so far
    std::size_t releases_left = 0;
  };
  struct Helper {
    bool connected = false;
    std::optional<double> answered_seconds = {};  ///< since its last answer; none came yet
  };
  std::optional<Noise> noise = {};    ///< none: sums are released as they are
  std::optional<Helper> helper = {};  ///< none: nothing is masked by one
  std::string trouble = {};           ///< why nothing can be opened now; empty: it can
};

/// Takes masks off the sums of a federation, or adds noise to them. Any thread may call
/// anything.
class ReleaseOpener {
 public:
  virtual ~ReleaseOpener() = default;

  /// Must clients mask what they send?
  virtual bool masked() const { return true; }
  /// If any client is missing, nothing can be opened.
  virtual bool needs_everybody() const { return false; }
  /// Waits for nothing any more.
  virtual void Stop() {}
  virtual OpenerStatus status() const { return {}; }

  /// How many releases of this epoch another process has settled, which may be more than this
  /// server knows of, if its store was restored. 0: not known.
  virtual std::uint64_t settled() const { return 0; }

  /// What it must know of the releases so far to open the next one, as part of the server's state;
  /// empty: nothing, ever. And back to it: throws Error, and changes nothing, if it does not fit.
  virtual std::vector<double> Save() const { return {}; }
  virtual void Load(std::span<const double> /*saved*/) {}

  /// What clients must know to mask their messages: sent with each welcome. Empty: not known
  /// yet, and no client is welcomed.
  virtual std::string ClientsNeed() = 0;

  /// What a client has said of its own key. Throws Error if it cannot be right.
  virtual void AddKey(const std::string& client, const std::string& mask_key) = 0;

  /// Leaves in a closed sum what may be seen of it, or says why nothing may (`refusal`). `clients`:
  /// the names behind its contributions. May take a second. Returns why not yet: then ask for the
  /// very same again. Empty: it is done.
  virtual std::string Open(Release& release, std::span<const std::string> clients) = 0;
};

/// For the log, after sums were released: what their noise has cost so far. Empty: they have none.
std::string NewsOfNoise(const ReleaseOpener& opener);

/// A server's state is the coordinator's, and behind it what the opener keeps, with its size. The
/// opener may be null.
std::vector<double> WithOpener(std::vector<double> state, const ReleaseOpener* opener);
/// The coordinator's part. Throws Error if there cannot be one.
std::span<const double> WithoutOpener(std::span<const double> state, const ReleaseOpener* opener);
/// The same, and the opener gets its own. Throws Error if it does not fit.
std::span<const double> GiveOpener(std::span<const double> state, ReleaseOpener* opener);

/// The two parts of a server's state where an opener keeps something: what the algorithm's server
/// saved, and behind it the opener's and its size.
struct SplitState {
  std::span<const double> model;
  std::span<const double> opener;
};
/// Throws Error if it has no such parts.
SplitState Split(std::span<const double> state);

/// What a client has said of its own key, proven. Throws Error, in words for the client, if it has
/// none or it is not good.
SignedMaskKey ReadClientKey(const std::string& client, const std::string& mask_key,
                            Admission& door);

}  // namespace polykern

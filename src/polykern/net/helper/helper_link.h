#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "polykern/net/helper/release.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

struct HelperLinkOptions {
  std::string helper = {};           ///< HOST:PORT
  std::string certificates = "pki";  ///< the authority's folder, with the server's own
  std::string keys = {};             ///< folder of server.key; empty: the same
  /// No encryption, and everyone is who they say: for a helper that was started so.
  bool insecure = false;
  std::string federation = {};
  std::uint64_t epoch = 0;
  NoiseTerms noise = {};         ///< that was promised to clients
  std::size_t most_numbers = 0;  ///< in a release
  std::chrono::milliseconds keepalive{10'000};
  std::chrono::milliseconds first_wait{100};  ///< before it connects again; twice as long each time
  std::chrono::milliseconds longest_wait{5'000};
};

/// What a helper says of itself; it is proven.
struct HelperGreeting {
  std::string name = {};
  SignedMaskKey key = {};      ///< for the clients; insecure: without certificate and signature
  std::uint64_t releases = 0;  ///< that it has settled in this epoch, by an answer or for good
  std::uint64_t noisy = 0;     ///< that it has answered with noise: the next is made of all of them
};

/// A server's connection to the helper of its masked sums: connects, and connects again, from
/// construction to destruction, on threads of its own. Certificates are read again each time. Any
/// thread may call anything.
class HelperLink {
 public:
  /// Throws Error if the certificates cannot be used now.
  explicit HelperLink(const HelperLinkOptions& options);
  ~HelperLink();
  HelperLink(const HelperLink&) = delete;
  HelperLink& operator=(const HelperLink&) = delete;

  /// Waits until the helper has been there, at most so long; nothing: it has not. Later its
  /// greetings may say something else: these are of the newest connection.
  std::optional<HelperGreeting> WaitForHelper(std::chrono::milliseconds wait,
                                              const std::stop_token& stop = {});

  /// The same at once.
  std::optional<HelperGreeting> greeting() const;

  /// What the client said of itself: the helper is told soon, or with the next release that needs
  /// it.
  void AddKey(const std::string& client, const SignedMaskKey& key);

  /// Asks for a release, and waits for the answer, at most so long. One that is kLater may have
  /// been answered all the same: ask for the very same again, until there is an answer or a
  /// refusal. One caller at a time; others wait for it.
  HelperReply Ask(const ReleaseRequest& request, std::chrono::milliseconds wait,
                  const std::stop_token& stop = {});

  /// Why the helper cannot be used now; empty: it can.
  std::string trouble() const;
  bool connected() const;
  /// Seconds since it last answered, or refused for good; none: it has not yet.
  std::optional<double> answered_seconds() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/version.h"
#include "polykern/federation/client.h"
#include "polykern/federation/sample_buffer.h"
#include "polykern/net/agent/agent_masks.h"
#include "polykern/net/configuration.h"
#include "polykern/net/load/load_figures.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/transport/client_stream.h"
#include "polykern/net/wire.h"

namespace polykern {

/// What the clients of a load share: one algorithm, and what they tell the thread that waits for
/// them. Any thread may use it.
struct LoadShared {
  /// Of the federation: the first client that is welcomed makes it. Throws Error.
  const Algorithm& AlgorithmOf(const ConfigurationTexts& texts);
  void Fail(const std::string& why);
  /// Throws Error if something went wrong; `mutex` must be held.
  void CheckLocked() const;

  std::mutex mutex;  // for all that follows, up to the atomics
  std::condition_variable changed;
  std::unique_ptr<Algorithm> algorithm;
  FederationConfiguration configuration;  // set with the algorithm, and constant from then on
  std::size_t welcomed = 0;
  std::size_t ended = 0;
  std::string failure;

  std::atomic<std::uint64_t> models = 0;  // that came, to any client
  std::atomic<bool> waiting = false;      // for them
};

/// One client of a load: answers every model at once, with a sample of its own. Any thread may call
/// anything, but it must live until it has counted itself among those that ended.
class LoadClient final : private ClientStream::Handler {
 public:
  LoadClient(Loop& loop, const std::string& server, const ClientIdentity& identity,
             std::uint64_t seed, LoadShared& shared);

  void Begin() {
    stream_.Begin(Encode(
        Hello{.mask_key = mask_identity_ ? mask_identity_->signed_key : "", .program = Version()}));
  }
  void Cancel() { stream_.Cancel(); }

  /// Of the newest model.
  std::uint64_t step() const;
  /// Begins, or ends, to count and to time.
  void Measure(bool on);
  LoadFigures figures() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool Received(std::string_view bytes) override;
  void Ended(const Ending& ending) override;
  void Take(std::string_view bytes);
  void Meet(const Welcome& welcome);
  void Answer(const ModelChange& change, std::size_t bytes);
  std::string Learn(std::uint64_t step);
  void Note(std::uint64_t step, std::size_t received, std::size_t sent);

  const std::uint64_t seed_;
  const std::optional<MaskIdentity> mask_identity_;
  LoadShared& shared_;

  // The reader's alone.
  const Algorithm* algorithm_ = nullptr;
  std::optional<Clients> client_;
  std::optional<SampleBuffer> buffer_;
  AgentMasks masks_;
  std::optional<ClientRound> round_;
  Broadcast model_;
  std::vector<float> x_;

  mutable std::mutex mutex_;  // for all that follows, but the stream
  bool measuring_ = false;
  std::uint64_t newest_ = 0;
  std::optional<Clock::time_point> sent_at_;
  std::size_t sent_bytes_ = 0;
  LoadFigures figures_;

  ClientStream stream_;
};

}  // namespace polykern

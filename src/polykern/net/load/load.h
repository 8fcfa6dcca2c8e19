#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "polykern/net/load/load_figures.h"
#include "polykern/net/pki/client_identity.h"

namespace polykern {

class LoadClient;
class Loop;
struct LoadShared;

struct LoadOptions {
  std::string server = "127.0.0.1:7433";        ///< HOST:PORT; several: clients take turns
  std::vector<ClientIdentity> identities = {};  ///< as many clients, each another name
  std::size_t connecting = 64;                  ///< at once, at most
  std::chrono::milliseconds patience{60'000};   ///< without any progress, before giving up
  std::uint64_t seed = 0;                       ///< of the samples
};

/// Many clients of a federation in one process, each with a connection, a private state and samples
/// of its own: what it takes to see how many a server can handle. They learn as agents do, and keep
/// nothing on a disk.
///
/// The constructor starts them and returns when all are welcomed; each answers every model at once,
/// until destroyed. Everything throws Error if a client is refused, if a connection ends, or if
/// nothing happens for too long. One thread at a time.
class Load {
 public:
  explicit Load(const LoadOptions& options);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// From the first connection that was begun until the last client was welcomed.
  std::chrono::duration<double> connecting() const { return connecting_; }

  /// Waits until so many more steps have ended for every client.
  void WaitForSteps(std::uint64_t steps);
  LoadFigures Measure(std::chrono::milliseconds time);
  /// Of the next so many steps: two servers that send the same messages are compared by these.
  LoadFigures MeasureSteps(std::uint64_t steps);

 private:
  LoadFigures MeasureWhile(const std::function<void()>& wait);
  std::uint64_t Newest() const;
  void WaitFor(const std::function<bool()>& holds);
  void End();

  const LoadOptions options_;
  std::chrono::duration<double> connecting_{};
  std::unique_ptr<LoadShared> shared_;
  std::vector<std::unique_ptr<LoadClient>> clients_;
  std::unique_ptr<Loop> loop_;  // last: ends first
};

}  // namespace polykern

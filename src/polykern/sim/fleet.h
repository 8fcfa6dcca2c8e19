#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/double_sum.h"
#include "polykern/core/metrics.h"
#include "polykern/data/stream.h"
#include "polykern/federation/client.h"
#include "polykern/results/row.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/stream_history.h"

namespace polykern {

/// A device has stopped answering, or cannot be used: whatever ran on it is over. No Error, which
/// would mean that the run diverges.
class DeviceFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How well the clients did in a step, and what they sent.
struct FleetTotals {
  DoubleSum squared_error = {};
  DoubleSum regret = {};  ///< so far, of all clients, absent ones too
  Traffic traffic = {};   ///< but for the downlink
  std::uint64_t fingerprint = 0;
};

/// All clients of a process on a device, which keeps their states and scores: samples, predictions,
/// learning, sums and scores of a step happen there, with the bits of a simulation on the CPU.
/// One thread at a time.
class Fleet {
 public:
  virtual ~Fleet() = default;

  /// Takes everyone through a step. What the clients send is added to `sums` (Inbox::Sums).
  /// `uniforms`, one for each client, fixes their draws; empty: from the seed. `predictions`, if
  /// not empty, has place for as many, and absent clients get NaN. Throws Error if an update leaves
  /// the representable range or a prediction is not finite, and DeviceFailure.
  virtual FleetTotals Step(const Broadcast& sent, std::span<const double> uniforms,
                           std::span<double> predictions,
                           std::span<const std::span<std::int64_t>> sums) = 0;
  /// Copies one client's state from the device.
  virtual void ReadState(std::size_t client, std::span<double> state) = 0;
  /// Copies everyone's from the device.
  virtual void ReadStates(Clients& clients) = 0;
  virtual void ReadScores(Scoreboard& scores) = 0;
};

/// A stream on a device, for any number of runs over it. Threads may share it.
class FleetData {
 public:
  virtual ~FleetData() = default;

  /// Those clients of the stream that are here, with the states that `clients` has, or all at their
  /// start. Throws Error for what the device does not do, and if it has no room. Everything passed
  /// in must outlive it.
  virtual std::unique_ptr<Fleet> NewFleet(const Algorithm& algorithm, Clients& clients,
                                          bool at_start) const = 0;
  /// What MeasureYardsticks sums up over the labels (sim/yardsticks.cc), of the clients that are
  /// here, and how many labels there are. False, writing nothing, if that is the CPU's work.
  virtual bool MeasureLabels(std::span<DoubleSum, 4> sums, std::int64_t& labels) const = 0;
};

/// What a device can do at best, as measured there.
struct DeviceFloors {
  double multiply_adds = 0;  ///< float ones, a second
  double sine = 0;           ///< seconds for one with its cosine
};

/// Something that takes whole fleets through their steps: a GPU. Threads may share it.
class FleetDevice {
 public:
  virtual ~FleetDevice() = default;

  virtual std::string name() const = 0;  ///< for people
  virtual std::string id() const = 0;    ///< that no other device has, of any machine
  /// Throws Error, naming what is in the way, for an algorithm or options that the device does not
  /// have.
  virtual void Check(const Algorithm& algorithm) const = 0;
  /// Throws Error, with the number that would, if so many clients of an algorithm do not fit into
  /// its memory. at_start: they have learnt nothing yet.
  virtual void CheckRoom(const Algorithm& algorithm, std::size_t clients, bool at_start) const = 0;
  virtual DeviceFloors MeasureFloors() const = 0;
  /// Brings the samples of some clients to the device. Throws Error if it has no room.
  virtual std::unique_ptr<FleetData> Load(const Stream& stream, const ClientRange& own,
                                          const Attendance& attendance) const = 0;
};

}  // namespace polykern

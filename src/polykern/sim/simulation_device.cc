#include <algorithm>
#include <string>

#include "polykern/core/error.h"
#include "polykern/sim/fleet.h"
#include "polykern/sim/intervals_internal.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/ranks/update_relay.h"
#include "polykern/sim/simulated_masks.h"
#include "polykern/sim/simulation_internal.h"
#include "polykern/sim/stream_history.h"

// What differs if the clients of a simulation are on a device.

namespace polykern {

std::unique_ptr<Fleet> Simulation::NewFleet() {
  const auto refuse = [](const std::string& what) {
    throw Error(what + " on a GPU yet: choose " + OptionName("device", "cpu"));
  };
  if (!intervals_.empty()) refuse("prediction intervals are not made");
  if (stream_.ahead() > 1) refuse("predictions are not made several steps ahead");
  return options_.device->NewFleet(algorithm_, clients_, !options_.carries_states);
}

void Simulation::StepOnDevice(const Broadcast& sent) {
  const std::size_t count = clients_.size();
  std::span<double> kept;
  if (options_.keep_predictions) {
    kept = std::span(predictions_).subspan(step() * stream_.clients(), count);
  }
  const FleetTotals step_totals =
      fleet_->Step(sent, count > 0 ? UniformsOf(step(), 0, count) : std::span<const double>(), kept,
                   coordinator_.Sums());
  Totals& totals = totals_.front();
  totals.squared_error = step_totals.squared_error;
  if (algorithm_.experts() > 0) totals.regret = step_totals.regret;
  totals.traffic = step_totals.traffic;
  totals.traffic.down_bytes =
      totals.traffic.messages * (4 * sent.model.size() + 8 * sent.weights.size());
  totals.fingerprint = step_totals.fingerprint;
}

void Simulation::ReadStates(std::span<const std::size_t> clients) {
  if (!fleet_ || clients_.size() == 0) return;
  for (const std::size_t client : clients) {
    const std::size_t own = client - clients_.Id(0);  // too large as well if it is below
    if (own < clients_.size()) fleet_->ReadState(own, clients_.State(own));
  }
}

void Simulation::ReadDevice() {
  if (!fleet_) return;
  fleet_->ReadScores(scores_);
  if (options_.carries_states) fleet_->ReadStates(clients_);
}

}  // namespace polykern

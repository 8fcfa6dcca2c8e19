#include "federation/serve_report.h"

#include <iostream>
#include <sstream>

#include "polykern/algorithms/registry.h"
#include "polykern/core/text.h"
#include "polykern/net/configuration.h"
#include "polykern/net/exported_model.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

std::string WhatItSees(const FederationConfiguration& federation) {
  if (federation.options.masking == Masking::kNone) {
    return std::string(TraitsOf(federation.algorithm).server_sees);
  }
  return std::string(
             "when it takes part and with how many samples; the rest is masked, so it sees ") +
         (federation.options.masking == Masking::kHelper
              ? "only sums over several clients, unless the helper works with it"
              : "only sums over all clients");
}

/// What noise protects, and whom from; empty: there is none.
std::string WhatNoiseDoes(const FederationConfiguration& federation, const OpenerStatus& opener) {
  if (!opener.noise) return {};
  const auto& noise = *opener.noise;
  std::ostringstream said;
  said << (federation.options.masking == Masking::kNone
               ? "it adds noise to the sums: clients are protected from each other and from "
                 "readers of the model, not from this server"
               : "the helper adds noise to the sums: they are never seen without it")
       << "; epsilon " << noise.epsilon << " at delta " << noise.delta << " for every row, "
       << noise.spent << " of it spent by " << noise.releases << " of "
       << noise.releases + noise.releases_left << " releases";
  return said.str();
}

/// What it began from; empty: nothing.
std::string WhatIsBefore(const FederationConfiguration& federation) {
  if (federation.from.empty()) return {};
  std::ostringstream said;
  said << "clients also use the model of an earlier federation, of step "
       << ExportFromText(federation.from).model.step;
  if (federation.total_epsilon > 0) {
    said << "; of an epsilon of " << federation.total_epsilon << " for both, "
         << federation.options.epsilon << " was left";
  }
  return said.str();
}

}  // namespace

void Watch::Look(const RoundsStatus& status, ServerLog& log) {
  const auto now = std::chrono::steady_clock::now();
  if (status.step != step_) reported_ = false;
  if (status.step != step_ || status.answered != answered_ || status.answered == 0) since_ = now;
  step_ = status.step;
  answered_ = status.answered;
  constexpr std::chrono::seconds kPatience{10};
  if (reported_ || status.answered >= status.needed || status.finished ||
      now < since_ + kPatience) {
    return;
  }
  reported_ = true;
  const std::string names = Joined(status.missing);
  log.Event("", "waiting",
            (status.learns_ranges ? "for ranges: there are "
                                  : "step " + std::to_string(status.step) + " has ") +
                std::to_string(status.answered) + " of " + std::to_string(status.needed) +
                (status.learns_ranges ? "" : " answers") + "; " +
                (names.empty() ? "no other client is connected" : "not those of " + names));
}

void Announce(HostedServer& server, const HostedServerOptions& options) {
  const ServerView view = server.View();
  const std::string metrics = server.metrics_address();
  const std::string web = server.web_address();
  std::cout << "listening on " << server.address() << ": " << view.algorithm << ", step "
            << view.rounds.step << ", " << Count(view.rounds.enrolled, "client")
            << (metrics.empty() ? "" : ", metrics on " + metrics)
            << (web.empty() ? "" : ", page on https://" + web)
            << (options.server.insecure ? ", INSECURE" : "") << '\n'
            << "of each client it sees " << WhatItSees(options.federation)
            << (view.rounds.learns_ranges
                    ? "; and once, to learn the ranges, its least and greatest value of each column"
                    : "")
            << std::endl;
  if (const std::string noise = WhatNoiseDoes(options.federation, view.opener); !noise.empty()) {
    std::cout << noise << std::endl;
  }
  if (const std::string before = WhatIsBefore(options.federation); !before.empty()) {
    std::cout << before << std::endl;
  }
  server.log().Event("", "started",
                     "on " + server.address() + " at step " + std::to_string(view.rounds.step) +
                         (options.server.insecure ? ", without certificates" : ""));
}

void Conclude(HostedServer& server) {
  const RoundsStatus status = server.View().rounds;
  server.log().Event("", "stopped", "at step " + std::to_string(status.step));
  std::cout << "stopped at step " << status.step << ": " << Count(status.accepted, "update")
            << " counted"
            << (status.used_late > 0 ? " (" + std::to_string(status.used_late) + " of them late)"
                                     : "")
            << ", " << status.late << " too late, " << status.duplicates << " sent twice, "
            << status.rejected << " rejected" << std::endl;
}

std::string ServiceStatus(const ServerView& view) {
  return "step " + std::to_string(view.rounds.step) + ", " +
         Count(view.rounds.connected, "client") + " connected" +
         (view.trouble.empty() ? "" : "; " + view.trouble);
}

}  // namespace polykern

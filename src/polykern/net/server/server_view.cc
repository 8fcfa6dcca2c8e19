#include "polykern/net/server/server_view.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace polykern {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  void Counter(const char* name, const char* help, std::uint64_t value) {
    Add(name, help, MetricType::Counter).counter.value = static_cast<double>(value);
  }
  void Gauge(const char* name, const char* help, double value) {
    Add(name, help, MetricType::Gauge).gauge.value = value;
  }
  ClientMetric& Add(const char* name, const char* help, MetricType type) {
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({name, help, type, {}});
    }
    return families_.back().metric.emplace_back();
  }
  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

ClientMetric::Histogram HistogramOf(const StepTimes& times) {
  ClientMetric::Histogram histogram;
  histogram.sample_count = times.steps;
  histogram.sample_sum = times.seconds;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < times.counts.size(); ++i) {
    below += times.counts[i];
    histogram.bucket.push_back({below, i < StepTimes::kBounds.size()
                                           ? StepTimes::kBounds[i]
                                           : std::numeric_limits<double>::infinity()});
  }
  return histogram;
}

/// Of masked and noisy sums.
void AddReleases(const ServerView& view, Families& out) {
  out.Counter("polykern_releases_total", "Sums released since the federation began.",
              view.rounds.releases);
  out.Counter("polykern_releases_discarded_total",
              "Sums discarded since the server started: refused, or impossible.",
              view.rounds.discarded);
  if (const auto& noise = view.opener.noise) {
    out.Gauge("polykern_epsilon", "Privacy budget of a row, for all noisy sums together.",
              noise->epsilon);
    out.Gauge("polykern_epsilon_spent", "Privacy budget spent by a row in the first noisy sum.",
              noise->spent);
    out.Gauge("polykern_noisy_releases", "Noisy sums released since the federation began.",
              static_cast<double>(noise->releases));
    out.Gauge("polykern_noisy_releases_left", "Noisy sums left until the budget is spent.",
              static_cast<double>(noise->releases_left));
  }
  if (const auto& helper = view.opener.helper) {
    out.Gauge("polykern_helper_connected", "1 while the helper of masked sums is connected.",
              helper->connected ? 1 : 0);
    if (helper->answered_seconds) {
      out.Gauge("polykern_helper_answered_seconds", "Seconds since the helper's last answer.",
                *helper->answered_seconds);
    }
  }
}

void AddClients(const ServerView& view, Families& out) {
  const RoundsStatus& r = view.rounds;
  out.Gauge("polykern_clients_enrolled", "Clients that ever took part.",
            static_cast<double>(r.enrolled));
  out.Gauge("polykern_clients_connected", "Clients that are connected.",
            static_cast<double>(r.connected));
  out.Gauge("polykern_clients_gone",
            "Clients that were forgotten, or whose certificate has expired or was revoked.",
            static_cast<double>(r.gone));
  const auto expiry = [&](const char* whose, const std::optional<std::int64_t>& end) {
    if (!end) return;
    ClientMetric& metric = out.Add("polykern_certificate_expiry_timestamp_seconds",
                                   "When the server's certificate expires, and the "
                                   "first one of a connected client.",
                                   MetricType::Gauge);
    metric.label.push_back({"whose", whose});
    metric.gauge.value = static_cast<double>(*end);
  };
  expiry("server", view.certificate_expires);
  expiry("client", r.first_expiry);
}

/// Of each front end, as this one knows it.
void AddFronts(const ServerView& view, Families& out) {
  if (!view.rounds.fronts) return;
  const auto& fronts = view.rounds.fronts->fronts;
  const auto each = [&](const char* name, const char* help, MetricType type, const auto& value) {
    for (const FrontStatus& front : fronts) {
      ClientMetric& metric = out.Add(name, help, type);
      metric.label.push_back({"front", front.report.address});
      (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
          static_cast<double>(value(front));
    }
  };
  out.Gauge("polykern_fronts", "Front ends that are running.", static_cast<double>(fronts.size()));
  each("polykern_front_clients_connected", "Clients connected to each front end.",
       MetricType::Gauge, [](const FrontStatus& front) { return front.report.connected; });
  each("polykern_front_step", "Step that each front end's clients work on.", MetricType::Gauge,
       [](const FrontStatus& front) { return front.report.step; });
  each("polykern_front_leads", "1 for the front end that ends steps.", MetricType::Gauge,
       [](const FrontStatus& front) { return front.leads ? 1 : 0; });
  each("polykern_front_updates_accepted_total",
       "Updates accepted by each front end since it started.", MetricType::Counter,
       [](const FrontStatus& front) { return front.report.accepted; });
}

nlohmann::ordered_json FrontsJson(const RoundsStatus& rounds) {
  if (!rounds.fronts) return nullptr;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const FrontStatus& front : rounds.fronts->fronts) {
    all.push_back({{"address", front.report.address},
                   {"here", front.here},
                   {"leads", front.leads},
                   {"step", front.report.step},
                   {"connected", front.report.connected},
                   {"accepted", front.report.accepted}});
  }
  return all;
}

nlohmann::ordered_json NoiseJson(const OpenerStatus& opener) {
  if (!opener.noise) return nullptr;
  const auto& noise = *opener.noise;
  return {
      {"epsilon", noise.epsilon},     {"delta", noise.delta},
      {"epsilon_spent", noise.spent}, {"epsilon_left", std::max(0.0, noise.epsilon - noise.spent)},
      {"releases", noise.releases},   {"releases_left", noise.releases_left}};
}

nlohmann::ordered_json TimeJson(const std::optional<std::int64_t>& seconds) {
  return seconds ? nlohmann::ordered_json(*seconds) : nlohmann::ordered_json();
}

nlohmann::ordered_json HelperJson(const OpenerStatus& opener) {
  if (!opener.helper) return nullptr;
  nlohmann::ordered_json json{{"connected", opener.helper->connected},
                              {"answered_seconds", nullptr}};
  if (opener.helper->answered_seconds) {
    json["answered_seconds"] = *opener.helper->answered_seconds;
  }
  return json;
}

}  // namespace

std::string ToMetrics(const ServerView& view) {
  const RoundsStatus& r = view.rounds;
  Families out;
  out.Gauge("polykern_healthy", "1 unless something is wrong, as /healthz says.",
            view.trouble.empty() ? 1 : 0);
  out.Gauge("polykern_uptime_seconds", "Seconds since the server started.", view.uptime_seconds);
  out.Counter("polykern_steps_total", "Steps committed since the federation began.", r.step);
  AddClients(view, out);
  out.Gauge("polykern_step_answers", "Updates counted in the open step.",
            static_cast<double>(r.answered));
  out.Gauge("polykern_step_answers_needed", "Clients that must answer before the step may end.",
            static_cast<double>(r.needed));
  out.Counter("polykern_updates_accepted_total", "Updates accepted.", r.accepted);
  out.Counter("polykern_updates_used_late_total", "Accepted updates for a step that had ended.",
              r.used_late);
  out.Counter("polykern_updates_late_total", "Updates for a step that had ended; dropped.", r.late);
  out.Counter("polykern_updates_duplicate_total",
              "Updates sent again after a lost connection; dropped.", r.duplicates);
  for (const auto& [reason, count] : r.rejected_for) {
    ClientMetric& metric = out.Add("polykern_updates_rejected_total",
                                   "Updates that broke a rule, by the rule.", MetricType::Counter);
    metric.label.push_back({"reason", reason});
    metric.counter.value = static_cast<double>(count);
  }
  out.Counter("polykern_connections_refused_total", "Connections of clients that were refused.",
              r.refused);
  out.Counter("polykern_connections_unopened_total",
              "Connections that ended before the client was identified.", view.traffic.unopened);
  out.Counter("polykern_connections_made_way_total",
              "Of these, connections closed for newer ones, because too many were being opened.",
              view.traffic.made_way);
  out.Counter("polykern_connections_crowded_total",
              "Connections turned away: no room, or too many of one client.", view.traffic.crowded);
  out.Counter("polykern_labels_clipped_total",
              "Labels outside the target range, as reported by clients.", r.clipped);
  AddReleases(view, out);
  AddFronts(view, out);
  out.Add("polykern_step_seconds", "Seconds from a step's first update until it is on the disk.",
          MetricType::Histogram)
      .histogram = HistogramOf(view.step_times);
  out.Counter("polykern_received_bytes_total", "Bytes of messages from clients.",
              view.traffic.bytes_in);
  out.Counter("polykern_sent_bytes_total", "Bytes of messages to clients.", view.traffic.bytes_out);
  out.Counter("polykern_log_events_lost_total", "Events missing in the log files.",
              view.log_events_lost);
  out.Gauge("polykern_reporting_clients", "Clients that report how well they predict.",
            static_cast<double>(r.reporting));
  if (r.reporting > 0) {
    out.Gauge("polykern_reported_mse",
              "Mean squared error of the scaled labels, over all predictions reported.",
              r.reported_squared_error);
    out.Gauge("polykern_reported_regret", "Mean regret of the clients that report.",
              r.reported_regret);
    if (r.reported_skill) {
      out.Gauge("polykern_reported_skill",
                "1 minus the reported error divided by that of a naive guess, for clients that "
                "report both.",
                *r.reported_skill);
    }
  }
  return out.Text();
}

std::string ToJson(const ServerView& view) {
  const RoundsStatus& r = view.rounds;
  nlohmann::ordered_json json{
      {"healthy", view.trouble.empty()},
      {"trouble", view.trouble},
      {"version", view.version},
      {"uptime_seconds", view.uptime_seconds},
      {"algorithm", view.algorithm},
      {"step", r.step},
      {"finished", r.finished},
      {"clients", {{"enrolled", r.enrolled}, {"connected", r.connected}, {"gone", r.gone}}},
      {"certificates",
       {{"server_ends", TimeJson(view.certificate_expires)},
        {"first_client_ends", TimeJson(r.first_expiry)}}},
      {"answered", r.answered},
      {"needed", r.needed},
      {"updates",
       {{"accepted", r.accepted},
        {"used_late", r.used_late},
        {"late", r.late},
        {"duplicate", r.duplicates},
        {"rejected", r.rejected_for}}},
      {"refused", r.refused},
      {"unopened", view.traffic.unopened},
      {"crowded", view.traffic.crowded},
      {"clipped", r.clipped},
      {"releases", {{"total", r.releases}, {"discarded", r.discarded}}},
      {"noise", NoiseJson(view.opener)},
      {"helper", HelperJson(view.opener)},
      {"fronts", FrontsJson(r)},
      {"mean_step_seconds", nullptr},
      {"bytes", {{"in", view.traffic.bytes_in}, {"out", view.traffic.bytes_out}}},
      {"log_events_lost", view.log_events_lost},
      {"reports", nullptr}};
  if (view.step_times.steps > 0) {
    json["mean_step_seconds"] =
        view.step_times.seconds / static_cast<double>(view.step_times.steps);
  }
  if (r.reporting > 0) {
    json["reports"] = {
        {"clients", r.reporting}, {"mse", r.reported_squared_error}, {"regret", r.reported_regret}};
    json["reports"]["skill"] =
        r.reported_skill ? nlohmann::ordered_json(*r.reported_skill) : nullptr;
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace polykern

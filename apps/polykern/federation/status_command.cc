#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "federation/http_fetch.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/pki/dates.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

struct StatusOptions {
  std::string server;
  std::string format = "text";
};

std::string Fetch(const std::string& url) {
  std::string why;
  try {
    const HttpReply reply = HttpGet(url);
    if (reply.status == 200) return reply.text;
    why = "HTTP " + std::to_string(reply.status);
  } catch (const Error& error) {
    why = error.what();
  }
  throw Error(url + ": no answer: " + why + "; is it the --metrics address of a running server?");
}

/// Whole numbers as they are, others with four digits that say something.
std::string Text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return Printable(value.get<std::string>());
  if (!value.is_number_float()) return value.dump();
  std::ostringstream text;
  text.precision(4);
  text << value.get<double>();
  return text.str();
}

/// Of masked and noisy sums. A server from before there were any says nothing of them.
void ShowReleases(const Json& status,
                  const std::function<void(const char* name, const Json& value)>& row) {
  const auto part = [&](const char* name) {
    return status.contains(name) ? status.at(name) : Json();
  };
  if (const Json releases = part("releases"); !releases.is_null()) {
    row("sums released", releases.at("total"));
    row("sums discarded", releases.at("discarded"));
  }
  if (const Json noise = part("noise"); !noise.is_null()) {
    row("epsilon", noise.at("epsilon"));
    row("delta", noise.at("delta"));
    row("epsilon spent", noise.at("epsilon_spent"));
    row("epsilon left", noise.at("epsilon_left"));
    row("noisy sums released", noise.at("releases"));
    row("noisy sums left", noise.at("releases_left"));
  }
  if (const Json helper = part("helper"); !helper.is_null()) {
    row("helper connected", helper.at("connected"));
    row("seconds since its answer", helper.at("answered_seconds"));
  }
}

/// A server from before they were told says nothing of them.
void ShowCertificates(const Json& status,
                      const std::function<void(const char* name, const Json& value)>& row) {
  if (status.at("clients").contains("gone")) row("clients gone", status.at("clients").at("gone"));
  if (!status.contains("certificates")) return;
  const auto end = [&](const char* name, const Json& time) {
    if (!time.is_null()) row(name, TimeText(time.get<std::int64_t>()) + " UTC");
  };
  end("its certificate expires", status.at("certificates").at("server_ends"));
  end("first client's expires", status.at("certificates").at("first_client_ends"));
}

/// All that serve the federation, if there may be several.
void ShowFronts(const Json& status) {
  if (!status.contains("fronts") || status.at("fronts").is_null()) return;
  std::vector<std::vector<std::string>> rows;
  std::uint64_t connected = 0;
  std::uint64_t accepted = 0;
  for (const Json& front : status.at("fronts")) {
    connected += front.at("connected").get<std::uint64_t>();
    accepted += front.at("accepted").get<std::uint64_t>();
    rows.push_back({Text(front.at("address")) + (front.at("here").get<bool>() ? " (this)" : ""),
                    Text(front.at("step")), Text(front.at("connected")), Text(front.at("accepted")),
                    Text(front.at("leads"))});
  }
  rows.push_back({"all", "", std::to_string(connected), std::to_string(accepted), ""});
  std::cout << '\n'
            << FormatTable(
                   {"front end", "step", "clients connected", "updates accepted", "ends steps"},
                   rows);
}

void Show(const Json& status) {
  const Json& updates = status.at("updates");
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](const char* name, const Json& value) {
    rows.push_back({name, Text(value)});
  };
  row("healthy", status.at("healthy"));
  row("version", status.at("version"));
  row("up, seconds", status.at("uptime_seconds"));
  row("algorithm", status.at("algorithm"));
  row("step", status.at("step"));
  row("finished", status.at("finished"));
  row("clients connected", status.at("clients").at("connected"));
  row("clients enrolled", status.at("clients").at("enrolled"));
  ShowCertificates(status, row);
  row("answers in the open step", status.at("answered"));
  row("clients it needs", status.at("needed"));
  row("seconds per step", status.at("mean_step_seconds"));
  row("updates accepted", updates.at("accepted"));
  row("of these late", updates.at("used_late"));
  row("updates too late", updates.at("late"));
  row("updates sent twice", updates.at("duplicate"));
  for (const auto& [reason, count] : updates.at("rejected").items()) {
    row(("updates rejected: " + reason).c_str(), count);
  }
  row("connections refused", status.at("refused"));
  // With noise, agents do not tell.
  row("labels clipped", status.at("noise").is_null() ? status.at("clipped") : Json());
  ShowReleases(status, row);
  rows.push_back({"bytes in", Bytes(status.at("bytes").at("in").get<double>())});
  rows.push_back({"bytes out", Bytes(status.at("bytes").at("out").get<double>())});
  if (const Json& reports = status.at("reports"); !reports.is_null()) {
    row("clients that report", reports.at("clients"));
    row("their mean squared error", reports.at("mse"));
    row("their mean regret", reports.at("regret"));
    if (reports.contains("skill")) row("their skill", reports.at("skill"));
  }
  std::cout << FormatTable({"server", ""}, rows);
  ShowFronts(status);
  if (!status.at("healthy").get<bool>()) {
    std::cout << "\ntrouble: " << Printable(status.at("trouble").get<std::string>()) << '\n';
  }
}

void Execute(const StatusOptions& o) {
  const bool port_only = o.server.find(':') == std::string::npos;
  const std::string url = "http://" + (port_only ? "127.0.0.1:" + o.server : o.server) + "/status";
  const std::string text = Fetch(url);
  const Json status = Json::parse(text, nullptr, false);
  try {
    if (o.format == "json") {
      if (!status.is_object()) throw Error("");
      std::cout << status.dump(2) << '\n';
    } else {
      Show(status);
    }
  } catch (const std::exception&) {
    throw Error(url + ": this is not a polykern server, or another version of it");
  }
}

}  // namespace

void AddStatusCommand(CLI::App& program) {
  auto o = std::make_shared<StatusOptions>();
  CLI::App& status = *program.add_subcommand(
      "status",
      "Show the status of a running server, which was started with --metrics. The exit code is 1 "
      "if it does not answer.\nExample: polykern status 127.0.0.1:7434");
  AddConfigOption(status);
  status.add_option("SERVER", o->server, "HOST:PORT of --metrics, or PORT on this machine")
      ->required();
  AddFormatOption(status, o->format);
  status.callback([o] { Execute(*o); });
}

}  // namespace polykern

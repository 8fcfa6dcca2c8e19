#include <algorithm>
#include <ctime>
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
#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/server/control.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// What the commands below client can be told.
struct ClientOptions {
  std::string store;
  std::string name;
  std::string label;
  std::string format = "text";
};

/// A server that uses the store does it; without one, and where front ends share it, the command
/// itself.
template <typename Alone>
void Do(const std::string& store, const std::string& target, const Alone& alone) {
  const std::string socket = ControlPath(store);
  const auto reply = socket.empty() ? std::nullopt : HttpOnSocket(socket, "POST", target);
  if (reply && reply->status != 200) throw Error(reply->text);
  if (reply) return;
  if (!HasStore(store)) throw Error(store + ": there is no store here; check the path");
  alone(*OpenToNote(store));
}

void Forget(const ClientOptions& o) {
  const std::string store = StorePath(o.store);
  Do(store, "/forget?" + Escape(o.name), [&](Store& s) { ForgetClient(s, o.name); });
  std::cout << "forgotten  " << Printable(o.name)
            << "; steps no longer wait for it; it may join again\n";
}

void Label(const ClientOptions& o) {
  constexpr std::size_t kLongestLabel = 200;
  if (o.label.size() > kLongestLabel) {
    throw Error("a label has at most " + std::to_string(kLongestLabel) + " bytes");
  }
  const std::string store = StorePath(o.store);
  Do(store, "/label?" + Escape(o.name) + "?" + Escape(o.label),
     [&](Store& s) { LabelClient(s, o.name, o.label); });
  std::cout << "labelled   " << Printable(o.name) << ": " << Printable(o.label) << '\n';
}

/// What the store says, and of a server that uses it who is connected.
Json Clients(const std::string& store) {
  const StoreContents contents = ReadStore(store);
  const std::string socket = ControlPath(store);
  const auto reply = socket.empty() ? std::nullopt : HttpOnSocket(socket, "GET", "/clients");
  const Json live = reply ? Json::parse(reply->text, nullptr, false) : Json();
  const std::int64_t now = std::time(nullptr);
  Json list = Json::array();
  for (std::size_t k = 0; k < contents.clients.size(); ++k) {
    const StoredClient& client = contents.clients[k];
    const Json seen = live.is_array() && k < live.size() ? live[k] : Json::object();
    const bool ended = client.note.expires > 0 && client.note.expires <= now;
    const char* const state = seen.value("connected", client.connected)
                                  ? seen.value("silent", false) ? "silent" : "connected"
                              : client.note.forgotten           ? "forgotten"
                              : ended                           ? "expired"
                              : seen.value("gone", client.gone) ? "revoked"
                                                                : "away";
    list.push_back({{"name", client.name},
                    {"number", k},
                    {"label", client.note.label},
                    {"state", state},
                    {"accepted", client.accepted},
                    {"rejected", client.rejected},
                    {"next_step", client.next_step},
                    {"last_seen", client.last_seen},
                    {"expires", client.note.expires > 0 ? Json(client.note.expires) : Json()}});
  }
  return list;
}

void List(const ClientOptions& o) {
  const Json clients = Clients(StorePath(o.store));
  if (o.format == "json") {
    std::cout << clients.dump(2) << '\n';
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& client : clients) {
    const auto text = [&](const char* key) { return client.at(key).get<std::string>(); };
    const auto number = [&](const char* key) { return client.at(key).get<std::int64_t>(); };
    rows.push_back({text("name"), text("label").empty() ? "-" : Printable(text("label")),
                    text("state"), std::to_string(number("number")),
                    number("next_step") > 0 ? std::to_string(number("next_step") - 1) : "-",
                    TimeText(number("last_seen")),
                    client.at("expires").is_null() ? "-" : TimeText(number("expires"))});
  }
  std::cout << (rows.empty() ? "No client yet.\n"
                             : FormatTable({"client", "label", "state", "number", "last step",
                                            "last seen", "certificate expires"},
                                           rows));
}

}  // namespace

void AddClientCommand(CLI::App& program) {
  CLI::App& client =
      *program.add_subcommand("client",
                              "List, label and forget the clients of a federation; works on the "
                              "server's machine, also while the server runs.\n"
                              "Example: polykern client list federation");
  client.require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = client.add_subcommand(name, help);
    auto options = std::make_shared<ClientOptions>();
    command->add_option("STORE", options->store, "The store, or the folder with store.db")
        ->required();
    AddConfigOption(*command);
    return std::pair(command, options);
  };

  const auto [list, list_options] =
      add("list",
          "List the clients and their state: connected, silent (misses steps), away, forgotten, or "
          "with a certificate that has expired or was revoked.\nExample: polykern client list "
          "federation");
  AddFormatOption(*list, list_options->format);
  list->callback([o = list_options] { List(*o); });

  const auto [forget, forget_options] =
      add("forget",
          "Forget a client that left for good: steps no longer wait for it. Its certificate stays "
          "valid (see pki revoke), so it may join again.\n"
          "Example: polykern client forget federation station-7");
  forget->add_option("NAME", forget_options->name, "The client's name")->required();
  forget->callback([o = forget_options] { Forget(*o); });

  const auto [label, label_options] =
      add("label",
          "Give a client a label, which is shown wherever the client is listed.\n"
          "Example: polykern client label federation station-7 'roof, north side'");
  label->add_option("NAME", label_options->name, "The client's name")->required();
  label->add_option("LABEL", label_options->label, "Any text; empty: none")->required();
  label->callback([o = label_options] { Label(*o); });
}

}  // namespace polykern

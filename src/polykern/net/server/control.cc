#include "polykern/net/server/control.h"

#include <charconv>
#include <chrono>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/un.h>

#include "polykern/core/error.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

constexpr const char* kControlText = "text/plain; charset=utf-8";

/// %41 is A.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (digits.size() != 2 || end != digits.data() + 2 || error != std::errc()) {
        throw Error("a target with invalid URL escapes");
      }
      i += 2;
    }
    plain += static_cast<char>(code);
  }
  return plain;
}

}  // namespace

std::string ControlPath(const std::string& store) {
  const std::optional<std::string> file = StoreFile(store);
  if (!file) return {};
  const std::string path = *file + "-control";
  return path.size() < sizeof(sockaddr_un::sun_path) ? path : "";
}

std::string ToJson(const std::vector<ClientView>& clients) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const ClientView& client : clients) {
    Json row{{"name", client.name},
             {"number", client.number},
             {"label", client.note.label},
             {"connected", client.connected},
             {"silent", client.connected && !client.awaited},
             {"gone", client.gone},
             {"forgotten", client.note.forgotten},
             {"next_step", client.next_step},
             {"expires", client.note.expires > 0 ? Json(client.note.expires) : Json()},
             {"version", client.program},
             {"mse", nullptr},
             {"skill", nullptr}};
    if (client.report.predictions > 0) row["mse"] = client.report.squared_error;
    if (const auto skill = client.report.skill()) row["skill"] = *skill;
    list.push_back(std::move(row));
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string AnswerControl(const HttpHead& request, Rounds& rounds) {
  const std::string_view target = request.target;
  const std::size_t mark = target.find('?');
  const std::string_view what = target.substr(0, mark);
  const std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  const std::size_t second = rest.find('?');
  const std::string name = Unescape(rest.substr(0, second));
  const auto now = std::chrono::steady_clock::now();
  if (request.method == "GET" && what == "/clients") {
    return HttpAnswer(200, "application/json", ToJson(rounds.Clients()));
  }
  std::string why_not;
  if (request.method == "POST" && what == "/forget") {
    why_not = rounds.Forget(name, now);
  } else if (request.method == "POST" && what == "/label" && second != std::string_view::npos) {
    why_not = rounds.Label(name, Unescape(rest.substr(second + 1)));
  } else {
    return HttpAnswer(404, kControlText, "there are /clients, /forget and /label\n");
  }
  rounds.Commit(now);  // it is written before any client is told
  return HttpAnswer(why_not.empty() ? 200 : 409, kControlText, why_not);
}

}  // namespace polykern

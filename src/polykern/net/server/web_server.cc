#include "polykern/net/server/web_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/server/control.h"
#include "polykern/net/server/http_server.h"
#include "polykern/net/server/web_history.h"

namespace polykern {
namespace {

using WebClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStateTime{1};  // for which a state is good, and between log lines
constexpr std::size_t kMostShown = 1000;       // clients
constexpr std::size_t kLeastToken = 16;        // characters
constexpr const char* kPlainText = "text/plain; charset=utf-8";
// Only what this server sends, no text as script, and never in a frame.
constexpr const char* kWebFields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
    "'self'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

using TokenHash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

TokenHash HashOf(const std::string& token) {
  TokenHash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

/// Makes the file if there is none.
std::string ReadToken(const std::string& path) {
  if (!FileExists(path)) {
    std::array<unsigned char, 20> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
      throw Error("the system provides no random numbers");
    }
    std::string token;
    for (const unsigned char byte : bytes) {
      token += "0123456789abcdef"[byte >> 4U];
      token += "0123456789abcdef"[byte & 15U];
    }
    ReplaceFile(path, token + "\n", FileMode::kSecret);
  }
  std::string token = ReadWholeFile(path);
  token.erase(std::min(token.find_last_not_of(" \t\r\n") + 1, token.size()));
  if (token.size() < kLeastToken || token.find_first_of(" \t\r\n") != std::string::npos) {
    throw Error(path + ": a token is one word of at least " + std::to_string(kLeastToken) +
                " characters; remove the file, and one is made");
  }
  return token;
}

/// Clients that let a deadline pass come first, then the other connected ones.
int RankOf(const ClientView& client) {
  if (client.gone) return 3;
  if (!client.connected) return 2;
  return client.awaited ? 1 : 0;
}

}  // namespace

std::string ClientsForPage(std::vector<ClientView> clients) {
  std::array<std::size_t, 4> counts{};
  std::map<std::string, std::size_t> versions;
  for (const ClientView& client : clients) {
    ++counts[static_cast<std::size_t>(RankOf(client))];
    if (client.connected) ++versions[client.program];
  }
  if (clients.size() > kMostShown) {
    std::ranges::stable_sort(clients, {}, RankOf);
    clients.resize(kMostShown);
  }
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const auto& [version, count] : versions) {
    list.push_back({{"version", version}, {"clients", count}});
  }
  const Json counted{
      {"silent", counts[0]}, {"connected", counts[1]}, {"away", counts[2]}, {"gone", counts[3]}};
  return "{\"counts\":" + counted.dump() +
         ",\"versions\":" + list.dump(-1, ' ', false, Json::error_handler_t::replace) +
         ",\"shown\":" + ToJson(clients) + "}";
}

class WebServer::Impl {
 public:
  Impl(const WebOptions& options, const std::string& certificates, const std::string& keys,
       Look look, std::function<void(const std::string&)> tell)
      : page_(options.page),
        viewers_(options.viewers),
        look_(std::move(look)),
        tell_(std::move(tell)) {
    if (!options.token.empty()) token_ = HashOf(ReadToken(options.token));
    const AuthorityPaths paths(certificates);
    admission_.emplace(paths.certificate, paths.revocations);
    const ClientIdentity own = ReadServerIdentity(certificates, keys);
    http_.emplace(
        "web", options.listen,
        MakeServerTls({own.certificate, own.key}, own.authority, Role::kClient,
                      PeerCertificate::kOptional),
        [this](const HttpHead& request, const HttpPeer& peer) { return Answer(request, peer); });
    watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
  }

  const std::string& address() const { return http_->address(); }

 private:
  std::string Answer(const HttpHead& request, const HttpPeer& peer) {
    if (!IsWelcome(request, peer)) {
      // A browser that has nothing to show yet is not worth reporting.
      if (peer != nullptr || !request.token.empty()) TellOfRefusal();
      return Refusal();
    }
    const auto answer = [](unsigned status, const char* type, std::string_view body) {
      return HttpAnswer(status, type, body, kWebFields);
    };
    if (request.method != "GET") return answer(405, kPlainText, "only GET is supported\n");
    const std::string file = request.target.substr(0, request.target.find('?'));
    if (file == "/") return answer(200, "text/html; charset=utf-8", page_.html);
    if (file == "/live.js") return answer(200, "text/javascript; charset=utf-8", page_.script);
    if (file == "/live.css") return answer(200, "text/css; charset=utf-8", page_.style);
    if (file == "/state") return answer(200, "application/json", State());
    return answer(404, kPlainText, "there are / and /state\n");
  }

  bool IsWelcome(const HttpHead& request, const HttpPeer& peer) {
    if (token_) {
      const TokenHash shown = HashOf(request.token);  // as long, and compared, whatever it is
      if (CRYPTO_memcmp(shown.data(), token_->data(), shown.size()) == 0) return true;
    }
    if (peer == nullptr) return false;
    const AdmissionResult who = admission_->CheckVerified(peer);
    return who.good() && (viewers_.empty() || std::ranges::count(viewers_, who.name) > 0);
  }

  void TellOfRefusal() {
    ++refused_;
    const auto now = WebClock::now();
    if (now < reported_ + kStateTime) return;
    reported_ = now;
    tell_(std::to_string(std::exchange(refused_, 0)) +
          " turned away, with a wrong token or an unknown certificate");
  }

  std::string Refusal() const {
    if (token_) {
      return HttpAnswer(401, kPlainText, "a client's certificate, or the token as password\n",
                        std::string("WWW-Authenticate: Basic realm=\"polykern\"\r\n") + kWebFields);
    }
    return HttpAnswer(403, kPlainText, "a client's good certificate is needed\n", kWebFields);
  }

  const std::string& State() {
    const auto now = WebClock::now();
    if (!state_.empty() && now < made_ + kStateTime) return state_;
    made_ = now;
    std::string history;
    {
      const std::lock_guard lock(mutex_);
      history = history_.ToJson();
    }
    state_ = "{\"server\":" + ToJson(look_.server()) +
             ",\"clients\":" + ClientsForPage(look_.clients()) + ",\"history\":" + history + "}\n";
    return state_;
  }

  void Watch(const std::stop_token& stop) {
    std::condition_variable_any wait;
    while (!stop.stop_requested()) {
      const ServerView view = look_.server();
      std::unique_lock lock(mutex_);
      history_.Add(view);
      wait.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    }
  }

  const WebPage page_;
  const std::vector<std::string> viewers_;
  const Look look_;
  const std::function<void(const std::string&)> tell_;
  std::optional<TokenHash> token_;
  std::optional<Admission> admission_;
  std::mutex mutex_;  // for the history
  WebHistory history_;
  // The handler's thread's.
  std::string state_;
  WebClock::time_point made_{};
  std::size_t refused_ = 0;  // since they were told of
  WebClock::time_point reported_{};

  std::optional<HttpServer> http_;
  std::jthread watcher_;
};

WebServer::WebServer(const WebOptions& options, const std::string& certificates,
                     const std::string& keys, Look look,
                     std::function<void(const std::string& line)> tell)
    : impl_(std::make_unique<Impl>(options, certificates, keys, std::move(look), std::move(tell))) {
}

WebServer::~WebServer() = default;

const std::string& WebServer::address() const {
  return impl_->address();
}

}  // namespace polykern

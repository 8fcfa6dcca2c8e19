#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polykern {

/// The heads of HTTP/1.1 requests and answers: how a WebSocket is opened (RFC 6455, section 4), and
/// all that the metrics need. Pure functions, but for NewWebSocketKey.

/// Where a federation's clients open theirs.
inline constexpr const char* kJoinTarget = "/polykern";
/// Without TLS, where a client says its name.
inline constexpr const char* kNameField = "polykern-client";

struct HttpHead {
  std::string method = {};  ///< of a request
  std::string target = {};
  unsigned status = 0;        ///< of an answer
  bool upgrades = false;      ///< it is about a WebSocket, of the only version there is
  std::string key = {};       ///< of a request that upgrades
  std::string accepted = {};  ///< of an answer: what AcceptKey makes of it
  std::string name = {};      ///< what kNameField says
  std::string token = {};     ///< of a request that says who asks: Bearer's, or Basic's password
};

/// Takes a head off the front of what has come; nothing if its end has not. Throws Error if it is
/// not HTTP, or longer than 8 KiB.
std::optional<HttpHead> TakeRequestHead(std::string& bytes);
std::optional<HttpHead> TakeAnswerHead(std::string& bytes);

/// A request to open a WebSocket. `name` may be empty.
std::string OpeningRequest(const std::string& target, const std::string& host,
                           const std::string& key, const std::string& name);
std::string OpeningAnswer(const std::string& key);
/// A whole answer, after which the connection ends. `fields`: further ones, each with its line end.
std::string HttpAnswer(unsigned status, const std::string& type, std::string_view body,
                       const std::string& fields = {});

std::string AcceptKey(const std::string& key);
/// Random.
std::string NewWebSocketKey();

}  // namespace polykern

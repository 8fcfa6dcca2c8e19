#pragma once

#include <optional>
#include <string>

namespace polykern {

struct HttpReply {
  long status = 0;
  std::string text;
};

/// One request to a server of polykern, of up to a MiB in five seconds. `socket`: the one in the
/// file system to be used, if any. Throws Error, which says why, if there is no answer.
HttpReply HttpGet(const std::string& url);
/// Nothing if no process listens on that socket.
std::optional<HttpReply> HttpOnSocket(const std::string& socket, const std::string& method,
                                      const std::string& target);
/// As in URLs.
std::string Escape(const std::string& text);

}  // namespace polykern

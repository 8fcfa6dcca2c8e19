#pragma once

#include <string>

#include "polykern/net/rounds/rounds.h"
#include "polykern/net/transport/http_head.h"

namespace polykern {

/// How commands talk to a server that runs on this machine, as the same user: HTTP on a socket
/// beside its store (HttpServer). GET /clients is a list in JSON; POST /forget?NAME and
/// POST /label?NAME?LABEL, escaped as in URLs, are answered with 200, or with 409 and why not.

/// Where that socket is for a store with this URL; empty: there is none.
std::string ControlPath(const std::string& store);

/// A whole answer. Any thread may call it.
std::string AnswerControl(const HttpHead& request, Rounds& rounds);

/// All clients as a JSON list, on one line.
std::string ToJson(const std::vector<ClientView>& clients);

}  // namespace polykern

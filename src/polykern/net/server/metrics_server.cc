#include "polykern/net/server/metrics_server.h"

#include <array>
#include <utility>

#include <civetweb.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

struct HttpReply {
  int code = 200;
  const char* type = "text/plain; charset=utf-8";
  std::string body = {};
};

HttpReply Metrics(const ServerView& view) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", ToMetrics(view)};
}

HttpReply Status(const ServerView& view) {
  return {200, "application/json", ToJson(view)};
}

HttpReply Health(const ServerView& view) {
  if (view.trouble.empty()) return {.body = "ok\n"};
  return {.code = 503, .body = view.trouble + "\n"};
}

/// What civetweb calls; `look` is the server's way to see itself.
template <HttpReply (*Make)(const ServerView&)>
int AnswerRequest(mg_connection* connection, void* look) {
  const HttpReply reply = Make((*static_cast<const std::function<ServerView()>*>(look))());
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            reply.code, reply.code == 200 ? "OK" : "Service Unavailable", reply.type,
            reply.body.size());
  mg_write(connection, reply.body.data(), reply.body.size());
  return reply.code;
}

}  // namespace

/// Serves from construction to destruction.
struct MetricsServer::Impl {
  /// `where`: HOST:PORT. `context` is null if that cannot be listened on.
  Impl(const std::string& where, std::function<ServerView()> view) : look(std::move(view)) {
    // Two threads: there is one Prometheus, and somebody who asks for the status.
    const std::array<const char*, 9> options = {
        "listening_ports",    where.c_str(), "num_threads", "2", "enable_keep_alive", "no",
        "request_timeout_ms", "5000",        nullptr};
    mg_init_library(0);
    context = mg_start(nullptr, nullptr, const_cast<const char**>(options.data()));
    if (context == nullptr) return;
    mg_set_request_handler(context, "/metrics$", AnswerRequest<Metrics>, &look);
    mg_set_request_handler(context, "/status$", AnswerRequest<Status>, &look);
    mg_set_request_handler(context, "/healthz$", AnswerRequest<Health>, &look);
  }
  ~Impl() {
    if (context != nullptr) mg_stop(context);
    mg_exit_library();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::function<ServerView()> look;
  mg_context* context = nullptr;
};

MetricsServer::MetricsServer(const std::string& listen, std::function<ServerView()> look) {
  const std::size_t colon = listen.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  const std::string port = listen.substr(colon == std::string::npos ? 0 : colon + 1);
  if (host == "localhost") host = "127.0.0.1";
  impl_ = std::make_unique<Impl>(host + ":" + port, std::move(look));
  if (impl_->context == nullptr) {
    throw Error(OptionName("metrics") + " cannot listen on " + listen +
                "; is the address right, and the port free?");
  }
  std::array<mg_server_port, 4> ports{};
  const int count =
      mg_get_server_ports(impl_->context, static_cast<int>(ports.size()), ports.data());
  address_ = host + ":" + (count > 0 ? std::to_string(ports[0].port) : port);
}

MetricsServer::~MetricsServer() = default;

}  // namespace polykern

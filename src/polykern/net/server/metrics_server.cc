#include "polykern/net/server/metrics_server.h"

#include <array>
#include <utility>

#include <civetweb.h>

#include "polykern/core/error.h"

namespace polykern {

class MetricsServer::Parts {
 public:
  Parts(const std::string& listen, std::function<ServerView()> look) : look_(std::move(look)) {
    const std::size_t colon = listen.rfind(':');
    host_ = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
    const std::string port = listen.substr(colon == std::string::npos ? 0 : colon + 1);
    if (host_ == "localhost") host_ = "127.0.0.1";
    const std::string where = host_ + ":" + port;
    // Two threads: there is one Prometheus, and somebody who asks for the status.
    const std::array<const char*, 9> options = {
        "listening_ports",    where.c_str(), "num_threads", "2", "enable_keep_alive", "no",
        "request_timeout_ms", "5000",        nullptr};
    mg_init_library(0);
    context_ = mg_start(nullptr, nullptr, const_cast<const char**>(options.data()));
    if (context_ == nullptr) {
      mg_exit_library();
      throw Error(OptionName("metrics") + " cannot listen on " + listen +
                  "; is the address right, and the port free?");
    }
    std::array<mg_server_port, 4> ports{};
    const int count = mg_get_server_ports(context_, static_cast<int>(ports.size()), ports.data());
    address_ = host_ + ":" + (count > 0 ? std::to_string(ports[0].port) : port);
    mg_set_request_handler(context_, "/metrics$", Answer<Metrics>, this);
    mg_set_request_handler(context_, "/status$", Answer<Status>, this);
    mg_set_request_handler(context_, "/healthz$", Answer<Health>, this);
  }
  ~Parts() {
    mg_stop(context_);
    mg_exit_library();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const std::string& address() const { return address_; }

 private:
  struct Reply {
    int code = 200;
    const char* type = "text/plain; charset=utf-8";
    std::string body = {};
  };

  static Reply Metrics(const ServerView& view) {
    return {200, "text/plain; version=0.0.4; charset=utf-8", ToMetrics(view)};
  }
  static Reply Status(const ServerView& view) { return {200, "application/json", ToJson(view)}; }
  static Reply Health(const ServerView& view) {
    if (view.trouble.empty()) return {200, "text/plain; charset=utf-8", "ok\n"};
    return {503, "text/plain; charset=utf-8", view.trouble + "\n"};
  }

  template <Reply (*Make)(const ServerView&)>
  static int Answer(mg_connection* connection, void* parts) {
    const Reply reply = Make(static_cast<Parts*>(parts)->look_());
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
              "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
              reply.code, reply.code == 200 ? "OK" : "Service Unavailable", reply.type,
              reply.body.size());
    mg_write(connection, reply.body.data(), reply.body.size());
    return reply.code;
  }

  std::function<ServerView()> look_;
  std::string host_;
  std::string address_;
  mg_context* context_ = nullptr;
};

MetricsServer::MetricsServer(const std::string& listen, std::function<ServerView()> look)
    : parts_(std::make_unique<Parts>(listen, std::move(look))) {}

MetricsServer::~MetricsServer() = default;

std::string MetricsServer::address() const {
  return parts_->address();
}

}  // namespace polykern

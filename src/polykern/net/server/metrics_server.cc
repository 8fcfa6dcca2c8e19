#include "polykern/net/server/metrics_server.h"

#include <utility>

#include "polykern/net/transport/http_head.h"

namespace polykern {
namespace {

using Look = std::function<ServerView()>;

std::string AnswerTo(const HttpHead& request, const Look& look) {
  const std::string text = "text/plain; charset=utf-8";
  if (request.method != "GET") return HttpAnswer(405, text, "only GET is supported\n");
  const std::string page = request.target.substr(0, request.target.find('?'));
  if (page == "/metrics") {
    return HttpAnswer(200, "text/plain; version=0.0.4; charset=utf-8", ToMetrics(look()));
  }
  if (page == "/status") return HttpAnswer(200, "application/json", ToJson(look()));
  if (page == "/healthz") {
    const std::string trouble = look().trouble;
    return HttpAnswer(trouble.empty() ? 200 : 503, text, (trouble.empty() ? "ok" : trouble) + "\n");
  }
  return HttpAnswer(404, text, "there are /metrics, /status and /healthz\n");
}

}  // namespace

MetricsServer::MetricsServer(const std::string& listen, std::function<ServerView()> look)
    : http_(std::make_unique<HttpServer>(
          "metrics", listen, nullptr,
          [look = std::move(look)](const HttpHead& request, const HttpPeer&) {
            return AnswerTo(request, look);
          })) {}

}  // namespace polykern

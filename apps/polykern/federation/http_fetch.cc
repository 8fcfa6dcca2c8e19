#include "federation/http_fetch.h"

#include <memory>

#include <curl/curl.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr long kAnswerTime = 5000;                             // milliseconds
constexpr std::size_t kLongestAnswer = std::size_t{64} << 20;  // bytes of an answer

constexpr const char* kNoMemory = "out of memory; end other programs, or give this one more";

/// With libcurl's words.
std::string WhyNoAnswer(CURLcode code) {
  std::string words = "the connection failed; try again";
  if (code == CURLE_COULDNT_RESOLVE_HOST) words = "no machine of this name is known";
  if (code == CURLE_COULDNT_CONNECT) words = "nothing listens there";
  if (code == CURLE_OPERATION_TIMEDOUT) {
    words = "it took longer than " + std::to_string(kAnswerTime / 1000) + " s";
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    words = "this is not an address like 127.0.0.1:7436";
  }
  return words + " (" + curl_easy_strerror(code) + ")";
}

std::size_t Append(const char* bytes, std::size_t size, std::size_t count, void* text) {
  auto& all = *static_cast<std::string*>(text);
  if (all.size() + size * count > kLongestAnswer) return 0;
  all.append(bytes, size * count);
  return size * count;
}

CURLcode Request(const std::string& url, const std::string& method, const std::string& socket,
                 HttpReply& reply) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (curl == nullptr) throw Error(kNoMemory);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, method.c_str());
  if (!socket.empty()) curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kAnswerTime);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &reply.text);
  const CURLcode code = curl_easy_perform(curl.get());
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  return code;
}

}  // namespace

HttpReply HttpGet(const std::string& url) {
  HttpReply reply;
  const CURLcode code = Request(url, "GET", "", reply);
  if (code != CURLE_OK) throw Error(WhyNoAnswer(code));
  return reply;
}

std::optional<HttpReply> HttpOnSocket(const std::string& socket, const std::string& method,
                                      const std::string& target) {
  HttpReply reply;
  const CURLcode code = Request("http://localhost" + target, method, socket, reply);
  if (code == CURLE_COULDNT_CONNECT) return {};
  if (code != CURLE_OK) {
    throw Error(socket + ": the server that listens here does not answer: " + WhyNoAnswer(code));
  }
  return reply;
}

std::string Escape(const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  if (escaped == nullptr) throw Error(kNoMemory);
  return escaped.get();
}

}  // namespace polykern

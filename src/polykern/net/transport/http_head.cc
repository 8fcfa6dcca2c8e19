#include "polykern/net/transport/http_head.h"

#include <array>
#include <cstdint>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kLongestHead = 8192;

std::string Base64(const unsigned char* bytes, std::size_t count) {
  std::string text(4 * ((count + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(count));
  return text;
}

/// Empty if it is none.
std::string FromBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  const int count = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (count < 0) return {};
  while (text.ends_with('=') && !bytes.empty()) {  // which stands for a byte that is not there
    text.remove_suffix(1);
    bytes.pop_back();
  }
  return bytes;
}

/// RFC 6750, and RFC 7617: USER:PASSWORD.
std::string TokenOf(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string scheme(authorization.substr(0, space));
  const std::string_view rest = authorization.substr(space + 1);
  if (boost::beast::iequals(scheme, "bearer")) return std::string(rest);
  if (!boost::beast::iequals(scheme, "basic")) return {};
  const std::string pair = FromBase64(rest);
  const std::size_t colon = pair.find(':');
  return colon == std::string::npos ? "" : pair.substr(colon + 1);
}

template <typename Message>
std::string Field(const Message& message, http::field field) {
  return std::string(message[field]);
}

/// Parses the head, and takes it off the front of `bytes`; false: it is not whole.
template <bool kRequest>
bool Take(std::string& bytes, http::parser<kRequest, http::empty_body>& parser) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (bytes.size() > kLongestHead) throw Error("an HTTP header that does not end");
    return false;
  }
  parser.header_limit(kLongestHead);
  parser.skip(true);  // whatever it says of a body
  boost::system::error_code error;
  const std::size_t size = end + 4;
  parser.put(boost::asio::buffer(bytes.data(), size), error);
  if (error || !parser.is_header_done()) throw Error("bytes that are not HTTP");
  bytes.erase(0, size);
  return true;
}

template <typename Message>
HttpHead Common(const Message& message) {
  HttpHead head;
  head.upgrades = http::token_list(message[http::field::connection]).exists("upgrade") &&
                  http::token_list(message[http::field::upgrade]).exists("websocket");
  head.name = std::string(message[kNameField]);
  return head;
}

const char* PhraseOf(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 426:
      return "Upgrade Required";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

std::optional<HttpHead> TakeRequestHead(std::string& bytes) {
  http::parser<true, http::empty_body> parser;
  if (!Take(bytes, parser)) return {};
  const auto& request = parser.get();
  HttpHead head = Common(request);
  head.method = std::string(request.method_string());
  head.target = std::string(request.target());
  head.key = Field(request, http::field::sec_websocket_key);
  head.token = TokenOf(Field(request, http::field::authorization));
  head.upgrades = head.upgrades && head.method == "GET" && !head.key.empty() &&
                  Field(request, http::field::sec_websocket_version) == "13";
  return head;
}

std::optional<HttpHead> TakeAnswerHead(std::string& bytes) {
  http::parser<false, http::empty_body> parser;
  if (!Take(bytes, parser)) return {};
  const auto& answer = parser.get();
  HttpHead head = Common(answer);
  head.status = answer.result_int();
  head.accepted = Field(answer, http::field::sec_websocket_accept);
  return head;
}

std::string OpeningRequest(const std::string& target, const std::string& host,
                           const std::string& key, const std::string& name) {
  std::string request =
      "GET " + target + " HTTP/1.1\r\nHost: " + host +
      "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " + key +
      "\r\nSec-WebSocket-Version: 13\r\n";
  if (!name.empty()) request += std::string(kNameField) + ": " + name + "\r\n";
  return request + "\r\n";
}

std::string OpeningAnswer(const std::string& key) {
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: " +
         AcceptKey(key) + "\r\n\r\n";
}

std::string HttpAnswer(unsigned status, const std::string& type, std::string_view body,
                       const std::string& fields) {
  std::string answer = "HTTP/1.1 " + std::to_string(status) + " " + PhraseOf(status) +
                       "\r\nContent-Type: " + type +
                       "\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\nCache-Control: no-store\r\nConnection: close\r\n" + fields + "\r\n";
  answer += body;
  return answer;
}

std::string AcceptKey(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, 1.3
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return Base64(digest.data(), digest.size());
}

std::string NewWebSocketKey() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error("the system provides no random numbers");
  }
  return Base64(bytes.data(), bytes.size());
}

}  // namespace polykern

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace polykern {

/// For tests only: a real server on this machine. Every connection gets the next answer, byte for
/// byte, and is closed. Requests are there to read after Join.
class Loopback {
 public:
  /// `hold`: a connection stays open until the client closes it.
  explicit Loopback(std::vector<std::string> answers, bool hold = false)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)), hold_(hold) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, any, length), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, any, &length), 0);
    address_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) Serve(answer);
    });
  }
  ~Loopback() {
    if (thread_.joinable()) Join();
  }

  const std::string& address() const { return address_; }
  /// Ends the server, whether or not all answers were fetched.
  const std::vector<std::string>& Join() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    return requests_;
  }

 private:
  void Serve(const std::string& answer) {
    const int peer = accept(socket_, nullptr, nullptr);
    if (peer < 0) return;  // Join
    std::string request;
    char c = 0;
    while (!request.ends_with("\r\n\r\n") && read(peer, &c, 1) == 1) request += c;
    requests_.push_back(request);
    EXPECT_EQ(send(peer, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    while (hold_ && read(peer, &c, 1) == 1) continue;
    close(peer);
  }

  int socket_;
  bool hold_;
  std::string address_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

inline std::string Answer(const std::string& head, std::string_view body, std::size_t length) {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(length) +
         "\r\nConnection: close\r\n\r\n" + std::string(body);
}
inline std::string Whole(std::string_view body, const std::string& headers = "") {
  return Answer("200 OK" + headers, body, body.size());
}
/// Promises all and sends the first bytes.
inline std::string Piece(std::string_view body, std::size_t count,
                         const std::string& headers = "") {
  return Answer("200 OK" + headers, body.substr(0, count), body.size());
}
inline std::string Rest(std::string_view body, std::size_t from) {
  return Answer("206 Partial Content\r\nContent-Range: bytes " + std::to_string(from) + "-" +
                    std::to_string(body.size() - 1) + "/" + std::to_string(body.size()),
                body.substr(from), body.size() - from);
}

}  // namespace polykern

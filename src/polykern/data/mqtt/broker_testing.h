#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/data/mqtt/mqtt_address.h"
#include "polykern/io/folder_testing.h"

namespace polykern {

/// For tests only: mosquitto on a port of the loopback, which keeps what it has in a folder. It can
/// be killed and started again. It ends with the thread that started it.
class TestBroker {
 public:
  static bool Exists() { return access(kProgram, X_OK) == 0; }

  /// `more` are lines of its configuration.
  explicit TestBroker(const std::string& more = "allow_anonymous true\n") : port_(FreePort()) {
    folder_.Write("mosquitto.conf", "listener " + std::to_string(port_) +
                                        " 127.0.0.1\nuser root\npersistence true\n"
                                        "persistence_location " +
                                        folder_.path() +
                                        "/\nautosave_on_changes true\nautosave_interval 1\n"
                                        "max_queued_messages 0\nlog_type error\n" +
                                        more);
    Start();
  }
  ~TestBroker() { Kill(); }
  TestBroker(const TestBroker&) = delete;
  TestBroker& operator=(const TestBroker&) = delete;

  MqttAddress Address(const std::string& topic) const {
    return {.host = "127.0.0.1", .port = port_, .topic = topic};
  }

  void Start() {
    const std::string configuration = folder_.At("mosquitto.conf");
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl(kProgram, kProgram, "-c", configuration.c_str(), nullptr);
      _exit(1);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!Listens() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  /// In order, so that it has saved what it has.
  void Stop() { End(SIGTERM); }
  void Kill() { End(SIGKILL); }

 private:
  static constexpr const char* kProgram = "/usr/sbin/mosquitto";

  void End(int signal) {
    if (process_ <= 0) return;
    kill(process_, signal);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int FreePort() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    bind(listener, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    close(listener);
    return ntohs(address.sin_port);
  }
  bool Listens() const {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(port_);
    const bool listens =
        connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(client);
    return listens;
  }

  TestFolder folder_;
  int port_;
  pid_t process_ = 0;
};

/// For links whose news a test does not look at.
inline void IgnoreNews(const std::string&) {}

}  // namespace polykern

#include "service.h"

#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "polykern/core/text.h"
#include "polykern/io/files.h"

namespace polykern {
namespace {

using Clock = std::chrono::steady_clock;

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t NumberIn(const char* name) {
  const std::string text = Environment(name);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Service::Service() : socket_(Environment("NOTIFY_SOCKET")) {
  const std::uint64_t process = NumberIn("WATCHDOG_PID");
  if (process == 0 || process == static_cast<std::uint64_t>(getpid())) {
    watchdog_ = std::chrono::microseconds(NumberIn("WATCHDOG_USEC"));
  }
}

Service::~Service() {
  watch_ = {};
  Tell("STOPPING=1");
}

void Service::Ready(const std::string& status) {
  status_ = status;
  shown_ = fed_ = Clock::now();
  Tell("READY=1\nSTATUS=" + status);
}

void Service::Alive(const std::string& status) {
  const auto now = Clock::now();
  std::string text;
  if (watchdog_.count() > 0 && now >= fed_ + watchdog_ / 2 && now < stuck_.load()) {
    fed_ = now;
    text = "WATCHDOG=1\n";
  }
  if (status != status_ && now >= shown_ + std::chrono::seconds(1)) {
    status_ = status;
    shown_ = now;
    text += "STATUS=" + status + "\n";
  }
  if (!text.empty()) Tell(text);
}

void Service::WatchOver(const std::function<std::string()>& look) {
  if (socket_.empty()) return;
  watch_ = std::jthread([this, look](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; }) &&
           !stop.stop_requested()) {
      Alive(look());
    }
  });
}

void Service::Work() {
  stuck_ = Clock::now() + watchdog_;
}

void Service::Rest() {
  stuck_ = Clock::time_point::max();
}

void Service::Tell(const std::string& text) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // a name that is in no folder
  const int end = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (end < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  sendto(end, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), size);
  close(end);
}

bool IsService() {
  return !Environment("NOTIFY_SOCKET").empty();
}

std::string CredentialsFolder() {
  return Environment("CREDENTIALS_DIRECTORY");
}

std::string CredentialsWith(const std::string& file) {
  const std::string folder = CredentialsFolder();
  return !folder.empty() && HasText(folder + "/" + file) ? folder : "";
}

}  // namespace polykern

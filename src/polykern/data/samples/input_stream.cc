#include "polykern/data/samples/input_stream.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <ext/stdio_filebuf.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/data/mqtt/mqtt_address.h"

namespace polykern {
namespace {

constexpr std::string_view kTcp = "tcp://";

/// Connects to HOST:PORT; [ADDRESS]:PORT for IPv6.
int ConnectTo(const std::string& what, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (colon == std::string::npos || host.empty() || colon + 1 == address.size()) {
    throw Error(OptionName("input", what) + ": not of the form tcp://HOST:PORT");
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &list);
  if (code != 0) {
    throw Error(what + ": not found (" + gai_strerror(code) + "); is the address right?");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  int reason = 0;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    const int descriptor = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, a->ai_addr, a->ai_addrlen) == 0) return descriptor;
    reason = errno;
    if (descriptor >= 0) close(descriptor);
  }
  throw Error(what + ": cannot connect (" + std::generic_category().message(reason) +
              "); is the address right, and does the program that has the samples run?");
}

/// An istream that owns its descriptor.
class DescriptorStream final : public std::istream {
 public:
  explicit DescriptorStream(int descriptor)
      : std::istream(nullptr), buffer_(descriptor, std::ios::in) {
    rdbuf(&buffer_);
  }

 private:
  __gnu_cxx::stdio_filebuf<char> buffer_;
};

}  // namespace

std::string InputName(const std::string& what) {
  if (IsMqtt(what)) return ParseMqtt(what).name();
  return what == "-" ? "standard input" : what;
}

InputKind KindOf(const std::string& what) {
  if (what.starts_with(kTcp)) return InputKind::kStream;
  if (IsMqtt(what)) return InputKind::kNamed;
  std::error_code none;
  if (std::filesystem::is_regular_file(what == "-" ? "/dev/stdin" : what, none)) {
    return InputKind::kFile;
  }
  return what == "-" ? InputKind::kStream : InputKind::kNamed;
}

std::shared_ptr<std::istream> OpenInput(const std::string& what) {
  std::error_code none;
  if (std::filesystem::is_directory(what == "-" ? "/dev/stdin" : what, none)) {
    throw Error(InputName(what) + ": is a folder; name a file with samples");
  }
  // Not std::cin, which takes a failure for the end.
  if (what == "-") return std::make_shared<DescriptorStream>(dup(STDIN_FILENO));
  if (what.starts_with(kTcp)) {
    return std::make_shared<DescriptorStream>(ConnectTo(what, what.substr(kTcp.size())));
  }
  auto file = std::make_shared<std::ifstream>(what);
  if (!*file) throw Error(what + ": cannot be read; check the path");
  return file;
}

}  // namespace polykern

#include "polykern/data/mqtt/mqtt_input.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// More than a broker has under way at a time, and than it forgets with its power.
constexpr std::size_t kMostRemembered = 256;

/// FNV-1a, of its number as well: another one with the same words has another.
std::uint64_t SumOf(const MqttMessage& message) {
  std::uint64_t sum = 0xcbf29ce484222325 ^ message.id;
  for (const char c : message.payload) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return sum;
}

}  // namespace

class MqttInput::Buffer final : public std::streambuf {
 public:
  Buffer(const MqttAddress& address, const std::string& client, MqttLink::Tell tell)
      : link_(address, client, true, std::move(tell)) {}

  void Mark(InputPosition& position) const { position.messages.assign(read_.begin(), read_.end()); }
  void Resume(const InputPosition& position) {
    read_.assign(position.messages.begin(), position.messages.end());
  }

 private:
  int_type underflow() override {
    MqttMessage message = Next();
    while (IsAgain(message)) message = Next();
    read_.push_back(SumOf(message));
    if (read_.size() > kMostRemembered) read_.pop_front();
    line_ = std::move(message.payload);
    std::ranges::replace(line_, '\n', ' ');
    std::ranges::replace(line_, '\r', ' ');
    // What does not begin like an object cannot be one; it is a bad line, and never a header of
    // CSV.
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first == std::string::npos || line_[first] != '{') line_.insert(0, "{");
    line_ += '\n';
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_.front());
  }

  MqttMessage Next() {
    try {
      return link_.Receive();
    } catch (const Error& error) {
      throw std::ios_base::failure(error.what(), std::make_error_code(std::errc::io_error));
    }
  }

  /// A broker begins a connection with what it takes for not acknowledged.
  bool IsAgain(const MqttMessage& message) {
    repeats_ = repeats_ || message.first;
    repeats_ = repeats_ && std::ranges::find(read_, SumOf(message)) != read_.end();
    return repeats_;
  }

  MqttLink link_;
  std::deque<std::uint64_t> read_;  // messages, the newest last
  bool repeats_ = false;            // all that came on this connection
  std::string line_;
};

MqttInput::MqttInput(const MqttAddress& address, const std::string& client, MqttLink::Tell tell)
    : std::istream(nullptr), buffer_(std::make_unique<Buffer>(address, client, std::move(tell))) {
  rdbuf(buffer_.get());
}

MqttInput::~MqttInput() = default;

void MqttInput::Mark(InputPosition& position) const {
  buffer_->Mark(position);
}

void MqttInput::Resume(const InputPosition& position) {
  buffer_->Resume(position);
}

}  // namespace polykern

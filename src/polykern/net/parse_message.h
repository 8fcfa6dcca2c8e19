#pragma once

#include <limits>
#include <string>
#include <string_view>

#include <google/protobuf/stubs/logging.h>

#include "polykern/core/error.h"

namespace polykern {

/// Bytes from elsewhere as a message of protobuf. Throws Error if they are none. Any thread.
template <typename Message>
Message Parse(std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;  // it would print what it does not like
  Message message;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error("received " + std::to_string(bytes.size()) + " bytes that are not a valid message");
  }
  return message;
}

}  // namespace polykern

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/synchronization/mutex.h>
#include <grpcpp/support/byte_buffer.h>

namespace polykern {

/// Without TLS, where a client says its name.
inline constexpr const char* kNameHeader = "polykern-client";

/// Debian's gRPC looks for deadlocks of its own with every lock it takes.
inline void TrustGrpcsLocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

/// A window of messages on their way, instead of asking the other side with a ping after each how
/// fast it is. Larger messages fit as well, piece by piece.
inline constexpr int kWindowBytes = 1 << 20;

/// gRPC's view of bytes that several messages share: nothing is copied.
inline grpc::ByteBuffer ShareBytes(const std::shared_ptr<const std::string>& bytes) {
  // gRPC takes a plain pointer and a way to free what belongs to it.
  auto* const held = new std::shared_ptr<const std::string>(bytes);
  const grpc::Slice slice(
      const_cast<char*>(bytes->data()), bytes->size(),
      [](void* owner) { delete static_cast<std::shared_ptr<const std::string>*>(owner); }, held);
  return {&slice, 1};
}

inline std::string TakeBytes(grpc::ByteBuffer& buffer) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  buffer.Clear();
  return bytes;
}

}  // namespace polykern

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "polykern/core/error.h"

namespace polykern::gpu {

#include "polykern/gpu/kernels/fleet_arguments.h"

/// What kernels are compiled for; fixed numbers let them keep everything in registers.
struct KernelShape {
  U32 threads = 0;  ///< of a block, as the device says
  U32 dimension = 0;
  U32 kernels = 0;
  U32 features = 0;          ///< of a kernel: D
  U32 per_upload = 0;        ///< M
  U32 sizes = 0;             ///< pof-gram: its kernels are experts, so many of each kernel
  bool shared_draw = false;  ///< Draw::kShared
  bool checks_angles = false;
  bool huber = false;            ///< else squared loss
  bool private_weights = false;  ///< clients have their own, else they use the server's
  bool adahedge = false;         ///< weights at AdaHedge's rate, which each client has for itself
  bool chooses_kernels = false;  ///< a client sends a bin of kernels, else all of them
  bool explores_only = false;    ///< with exploration = 1: bins are those of the kernels' order
  /// Clients began at the start, so their own cumulative losses are those of their scores as well.
  bool scores_are_losses = false;

  U32 stride() const { return (dimension + 3) / 4 * 4; }  ///< of samples and frequencies
  U32 padded_features() const { return (features + 3) / 4 * 4; }
  /// Features that a block holds together, and adds up together.
  U32 feature_tile() const;
  U32 features_per_block() const { return features < threads ? features : threads; }
  /// Clients of a thread that predicts. pof-gram's have sums of doubles.
  U32 clients_per_thread() const {
    if (sizes > 0) return dimension <= 16 ? 2 : 1;
    return dimension <= 16 ? 4 : dimension <= 32 ? 2 : 1;
  }
  /// pof-gram: samples of clients, and whole numbers of their features, that a block holds.
  U32 past_rows() const;
  U32 past_room() const { return 6144; }
  /// Every client sends every kernel.
  bool sends_all() const { return !chooses_kernels || per_upload >= kernels; }
};

struct Grid {
  U64 x = 1;
  U64 y = 1;
  U64 z = 1;
};

/// That have so many together, if each has `each`.
inline U64 BlocksOf(U64 count, U64 each) {
  return (count + each - 1) / each;
}

/// Kernels, compiled for a shape. Threads may share it.
class Program {
 public:
  virtual ~Program() = default;
};

/// Work that a device does in order. One thread at a time. Everything throws DeviceFailure if the
/// device does.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void Write(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits until everything before it is done.
  virtual void Read(void* to, const void* from, std::size_t bytes) = 0;
  virtual void Zero(void* to, std::size_t bytes) = 0;
  /// What comes next waits until `other`, a queue of the same device, has done what it has so far.
  virtual void After(const Queue& other) = 0;
  virtual void Launch(const Program& program, const char* kernel, const Grid& grid,
                      const FleetArguments& arguments) = 0;
};

/// The device's memory is full.
class NoRoom : public Error {
 public:
  using Error::Error;
};

/// Something that runs the kernels. Threads may share it.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual std::string id() const = 0;  ///< FleetDevice::id
  virtual U32 threads() const = 0;     ///< of a block
  virtual U64 processors() const = 0;  ///< that run blocks side by side
  virtual U64 tile() const = 0;        ///< clients that go well through the kernels together
  virtual std::size_t free_memory() const = 0;
  /// Throws NoRoom if there is none.
  virtual void* Allocate(std::size_t bytes) const = 0;
  virtual void Free(void* memory) const = 0;
  virtual std::unique_ptr<Queue> NewQueue() const = 0;
  /// Throws Error for a shape that it cannot have.
  virtual std::shared_ptr<const Program> Compile(const KernelShape& shape) const = 0;
};

/// Numbers on a device, which must outlive them. Movable; null if there are none.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Device& device, std::size_t size)
      : memory_(static_cast<T*>(size > 0 ? device.Allocate(size * sizeof(T)) : nullptr),
                Release{&device}),
        size_(size) {}

  T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  struct Release {
    const Device* device = nullptr;
    void operator()(T* memory) const { device->Free(memory); }
  };
  std::unique_ptr<T, Release> memory_;
  std::size_t size_ = 0;
};

}  // namespace polykern::gpu

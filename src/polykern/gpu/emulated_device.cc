#include "polykern/gpu/emulated_device.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/gpu/emulated_kernels_internal.h"

namespace polykern::gpu {
namespace {

struct EmulatedKernel {
  std::string_view name;
  void (*run)(const FleetArguments&);
};
constexpr EmulatedKernel kEmulatedKernels[] = {
    {"MakeSamples", MakeSamples},       {"FindPresent", FindPresent},
    {"PredictKernels", PredictKernels}, {"LearnLabels", LearnLabels},
    {"AddUpdates", AddUpdates},         {"AddLosses", AddLosses},
    {"FinishGaps", FinishGaps},         {"GatherStates", GatherStates},
    {"PredictExperts", PredictExperts}, {"LearnExperts", LearnExperts},
    {"AddWeights", AddWeights},         {"ReadPast", ReadPast},
    {"AddProducts", AddProducts},       {"MeasureLabels", MeasureLabels},
    {"MultiplyAdds", MultiplyAdds},     {"SinesAndCosines", SinesAndCosines},
};

struct EmulatedProgram final : Program {
  explicit EmulatedProgram(const KernelShape& compiled) : made_for(compiled) {}
  KernelShape made_for;
};

class EmulatedQueue final : public Queue {
 public:
  void Write(void* to, const void* from, std::size_t bytes) override { Copy(to, from, bytes); }
  void Read(void* to, const void* from, std::size_t bytes) override { Copy(to, from, bytes); }
  void Zero(void* to, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  void After(const Queue& /*other*/) override {}  // it is done already
  void Launch(const Program& program, const char* kernel, const Grid& blocks,
              const FleetArguments& arguments) override {
    shape = static_cast<const EmulatedProgram&>(program).made_for;
    emulated_grid = blocks;
    const auto* found = std::ranges::find(kEmulatedKernels, kernel, &EmulatedKernel::name);
    assert(found != std::end(kEmulatedKernels));
    for (emulated_block.z = 0; emulated_block.z < emulated_grid.z; ++emulated_block.z) {
      for (emulated_block.y = 0; emulated_block.y < emulated_grid.y; ++emulated_block.y) {
        for (emulated_block.x = 0; emulated_block.x < emulated_grid.x; ++emulated_block.x)
          found->run(arguments);
      }
    }
  }

 private:
  static void Copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

class EmulatedDevice final : public Device {
 public:
  std::string name() const override { return "emulated GPU"; }
  std::string id() const override { return "emulated"; }
  U32 threads() const override { return kThreads; }
  U64 processors() const override { return 2; }
  U64 tile() const override { return 96; }  // so that few clients make several
  std::size_t free_memory() const override { return std::size_t{1} << 30; }
  void* Allocate(std::size_t bytes) const override {
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0xa5, bytes);
    return memory;
  }
  void Free(void* memory) const override { std::free(memory); }
  std::unique_ptr<Queue> NewQueue() const override { return std::make_unique<EmulatedQueue>(); }
  std::shared_ptr<const Program> Compile(const KernelShape& wanted) const override {
    if (wanted.stride() > kStrideRoom || wanted.kernels > kKernelRoom) {
      throw Error("the emulated GPU has room for 64 inputs and kernels");
    }
    return std::make_shared<EmulatedProgram>(wanted);
  }
};

}  // namespace

std::unique_ptr<const Device> NewEmulatedDevice() {
  return std::make_unique<EmulatedDevice>();
}

}  // namespace polykern::gpu

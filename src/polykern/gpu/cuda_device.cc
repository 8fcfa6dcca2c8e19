#include "polykern/gpu/cuda_device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/gpu/cuda_library.h"
#include "polykern/gpu/kernel_code.h"
#include "polykern/sim/fleet.h"

namespace polykern::gpu {
namespace {

constexpr U32 kCudaThreads = 256;
constexpr int kMajorAttribute = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, and MINOR next
constexpr int kProcessorsAttribute = 16;
constexpr int kOutOfMemory = 2;
/// CUDA_ERROR_INVALID_IMAGE, _NO_BINARY_FOR_GPU, _INVALID_PTX, _UNSUPPORTED_PTX_VERSION and
/// _INVALID_SOURCE.
constexpr int kForeignCode[] = {200, 209, 218, 222, 300};
constexpr unsigned kNonBlocking = 1;  // a stream that does not wait for others
constexpr unsigned kWithoutTime = 2;  // an event that only says that it has happened

void Check(int result, const char* doing) {
  if (result == 0) return;
  const char* text = nullptr;
  LoadCudaDriver().error_string(result, &text);
  std::array<char, 256> machine{};
  gethostname(machine.data(), machine.size() - 1);
  throw DeviceFailure("the GPU of " + std::string(machine.data()) + " failed while " + doing +
                      ": " + (text != nullptr ? text : "error " + std::to_string(result)));
}

CudaDriver::Address AddressOf(const void* memory) {
  return std::bit_cast<std::uintptr_t>(memory);
}

class CudaProgram final : public Program {
 public:
  explicit CudaProgram(CudaDriver::Handle module) : module_(module) {}
  ~CudaProgram() override { LoadCudaDriver().module_unload(module_); }
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  CudaDriver::Handle Function(const char* kernel) const {
    CudaDriver::Handle function = nullptr;
    Check(LoadCudaDriver().module_function(&function, module_, kernel), "looking for a kernel");
    return function;
  }

 private:
  CudaDriver::Handle module_;
};

/// The context must be current. Null for code that is for another GPU or driver.
std::shared_ptr<const Program> LoadProgram(const std::string& code) {
  CudaDriver::Handle module = nullptr;
  const int result = LoadCudaDriver().module_load(&module, code.data());
  if (std::ranges::find(kForeignCode, result) != std::end(kForeignCode)) return nullptr;
  Check(result, "loading its kernels");
  return std::make_shared<CudaProgram>(module);
}

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(CudaDriver::Handle context) : cuda_(LoadCudaDriver()), context_(context) {
    Enter();
    Check(cuda_.stream_create(&stream_, kNonBlocking), "starting");
    Check(cuda_.event_create(&so_far_, kWithoutTime), "starting");
  }
  ~CudaQueue() override {
    cuda_.context_set(context_);
    cuda_.event_destroy(so_far_);
    cuda_.stream_destroy(stream_);
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void Write(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    Enter();
    Check(cuda_.write(AddressOf(to), from, bytes, stream_), "taking data");
  }
  void Read(void* to, const void* from, std::size_t bytes) override {
    Enter();
    if (bytes > 0) Check(cuda_.read(to, AddressOf(from), bytes, stream_), "giving results");
    Check(cuda_.stream_wait(stream_), "computing");
  }
  void Zero(void* to, std::size_t bytes) override {
    if (bytes == 0) return;
    Enter();
    Check(cuda_.fill(AddressOf(to), 0, bytes, stream_), "clearing memory");
  }
  void After(const Queue& other) override {
    const auto& before = static_cast<const CudaQueue&>(other);
    if (&before == this) return;
    Enter();
    Check(cuda_.event_record(before.so_far_, before.stream_), "waiting");
    Check(cuda_.stream_wait_event(stream_, before.so_far_, 0), "waiting");
  }
  void Launch(const Program& program, const char* kernel, const Grid& grid,
              const FleetArguments& arguments) override {
    Enter();
    FleetArguments copy = arguments;
    void* parameters[] = {&copy};
    const auto narrow = [](U64 blocks) { return static_cast<unsigned>(blocks); };
    Check(cuda_.launch(static_cast<const CudaProgram&>(program).Function(kernel), narrow(grid.x),
                       narrow(grid.y), narrow(grid.z), kCudaThreads, 1, 1, 0, stream_, parameters,
                       nullptr),
          "starting a kernel");
  }

 private:
  void Enter() const { Check(cuda_.context_set(context_), "starting"); }

  const CudaDriver& cuda_;
  CudaDriver::Handle context_;
  CudaDriver::Handle stream_ = nullptr;
  CudaDriver::Handle so_far_ = nullptr;  // the event that others wait for
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::size_t number) : cuda_(LoadCudaDriver()) {
    const std::string instead = ": choose " + OptionName("device", "cpu");
    int count = 0;
    if (cuda_.init(0) != 0 || cuda_.device_count(&count) != 0 || count == 0) {
      throw Error("the NVIDIA driver finds no GPU that it can use" + instead);
    }
    int device = 0;
    Check(cuda_.device_get(&device, static_cast<int>(number) % count), "starting");
    std::array<char, 256> text{};
    Check(cuda_.device_name(text.data(), static_cast<int>(text.size()), device), "starting");
    name_ = text.data();
    std::array<char, 16> id{};
    Check(cuda_.device_id(id.data(), device), "starting");
    id_.assign(id.begin(), id.end());
    Check(cuda_.device_attribute(&processors_, kProcessorsAttribute, device), "starting");
    int major = 0;
    int minor = 0;
    Check(cuda_.device_attribute(&major, kMajorAttribute, device), "starting");
    Check(cuda_.device_attribute(&minor, kMajorAttribute + 1, device), "starting");
    architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
    LoadCompiler();  // complains now, if at all
    Check(cuda_.context_retain(&context_, device), "starting");
  }

  std::string name() const override { return name_; }
  std::string id() const override { return id_; }
  U32 threads() const override { return kCudaThreads; }
  U64 processors() const override { return static_cast<U64>(processors_); }
  U64 tile() const override {
    return U64{1} << 17;
  }  // what lies between the kernels stays in the cache
  std::size_t free_memory() const override {
    Check(cuda_.context_set(context_), "starting");
    std::size_t free = 0;
    std::size_t all = 0;
    Check(cuda_.memory_info(&free, &all), "counting its memory");
    return free;
  }
  void* Allocate(std::size_t bytes) const override {
    Check(cuda_.context_set(context_), "starting");
    CudaDriver::Address address = 0;
    const int result = cuda_.memory_allocate(&address, bytes);
    if (result == kOutOfMemory) {
      throw NoRoom("the GPU has no room for " + std::to_string(bytes >> 20) + " MiB more, but " +
                   std::to_string(free_memory() >> 20) + ": lower " + OptionName("clients") +
                   ", or run less beside it");
    }
    Check(result, "giving memory");
    return std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  void Free(void* memory) const override {
    cuda_.context_set(context_);
    cuda_.memory_free(AddressOf(memory));
  }
  std::unique_ptr<Queue> NewQueue() const override { return std::make_unique<CudaQueue>(context_); }

  std::shared_ptr<const Program> Compile(const KernelShape& shape) const override {
    const std::string source = SourceFor(shape);
    const std::lock_guard lock(compiling_);
    std::shared_ptr<const Program>& program = programs_[source];
    if (program == nullptr) {
      Check(cuda_.context_set(context_), "starting");
      program = LoadKernels(source, architecture_, LoadCompiler(), LoadProgram);
    }
    return program;
  }

 private:
  const CudaDriver& cuda_;
  std::string name_;
  std::string id_;
  int processors_ = 1;
  std::string architecture_;
  CudaDriver::Handle context_ = nullptr;  // the device's own, which ends with the process
  mutable std::mutex compiling_;
  mutable std::map<std::string, std::shared_ptr<const Program>> programs_;
};

}  // namespace

std::unique_ptr<const Device> NewCudaDevice(std::size_t number) {
  return std::make_unique<CudaDevice>(number);
}

}  // namespace polykern::gpu

#include "polykern/gpu/cuda_library.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "polykern/core/error.h"

namespace polykern::gpu {
namespace {

/// The first of these libraries that is there; null: none. It stays loaded.
void* FindLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

/// False if the library has no such function.
template <class Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::string InsteadOfGpu() {
  return ", or choose " + OptionName("device", "cpu");
}

/// "12.4", as CUDA counts 12040.
std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*code_size)(Program, std::size_t*);
  int (*code)(Program, char*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

/// False if it is not there, or lacks something.
bool LoadNvrtc(std::initializer_list<const char*> names, Nvrtc& found) {
  void* library = FindLibrary(names);
  return library != nullptr && Find(library, "nvrtcVersion", found.version) &&
         Find(library, "nvrtcCreateProgram", found.create) &&
         Find(library, "nvrtcCompileProgram", found.compile) &&
         Find(library, "nvrtcGetCUBINSize", found.code_size) &&
         Find(library, "nvrtcGetCUBIN", found.code) &&
         Find(library, "nvrtcGetProgramLogSize", found.log_size) &&
         Find(library, "nvrtcGetProgramLog", found.log) &&
         Find(library, "nvrtcDestroyProgram", found.destroy);
}

/// Throws Error with the first line of the compiler's log.
[[noreturn]] void ThrowCannotCompile(const Nvrtc& nvrtc, Nvrtc::Program program, int result,
                                     const std::string& architecture) {
  std::size_t size = 0;
  std::string log;
  if (program != nullptr && nvrtc.log_size(program, &size) == 0) {
    log.resize(size);
    if (nvrtc.log(program, log.data()) != 0) log.clear();
  }
  if (program != nullptr) nvrtc.destroy(&program);
  log.resize(std::min(log.find_first_of("\n\0", 0, 2), log.size()));
  throw Error("NVRTC cannot compile for " + architecture + " (error " + std::to_string(result) +
              (log.empty() ? "" : ": " + log) + "): install one that knows this GPU" +
              InsteadOfGpu());
}

// Nothing is fused that does not say so, and nothing is rounded in another way: the CPU's bits.
constexpr const char* kOptions[] = {"-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true",
                                    "-prec-sqrt=true"};

std::string CompileWith(const Nvrtc& nvrtc, const std::string& source,
                        const std::string& architecture) {
  const std::string target = "-arch=" + architecture;
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(target.c_str());
  Nvrtc::Program program = nullptr;
  std::size_t size = 0;
  std::string code;
  int result = nvrtc.create(&program, source.c_str(), "polykern.cu", 0, nullptr, nullptr);
  if (result == 0)
    result = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  if (result == 0) result = nvrtc.code_size(program, &size);
  if (result == 0) {
    code.resize(size);
    result = nvrtc.code(program, code.data());
  }
  if (result != 0 || code.empty()) ThrowCannotCompile(nvrtc, program, result, architecture);
  nvrtc.destroy(&program);
  return code;
}

/// One whose code the driver takes: of its own major version, or an older one.
KernelCompiler FindCompiler() {
  int driver = 0;
  LoadCudaDriver().driver_version(&driver);
  Nvrtc nvrtc = {};
  const bool newer = LoadNvrtc({"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13"}, nvrtc);
  const bool found =
      (newer && driver >= 13000) ||
      LoadNvrtc({"libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.12",
                 "/usr/local/cuda/lib64/libnvrtc.so"},
                nvrtc);
  int major = 0;
  int minor = 0;
  if (found || newer) nvrtc.version(&major, &minor);
  if (!found && !newer) {
    throw Error(
        "no NVRTC (libnvrtc.so of CUDA 12 or later) is found, which compiles for the GPU: install "
        "it, name its folder in LD_LIBRARY_PATH" +
        InsteadOfGpu());
  }
  if (major < 12 || major > driver / 1000) {
    throw Error("NVRTC " + std::to_string(major) + "." + std::to_string(minor) +
                " does not go with the NVIDIA driver, which is for CUDA " + VersionText(driver) +
                ": install libnvrtc.so." + std::to_string(driver / 1000) + InsteadOfGpu());
  }
  std::string name = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  for (const char* option : kOptions) name += " " + std::string(option);
  return {std::move(name), [nvrtc](const std::string& source, const std::string& architecture) {
            return CompileWith(nvrtc, source, architecture);
          }};
}

/// Throws for one whose functions, and code, are not what this program needs.
void CheckDriverVersion(void* library) {
  constexpr int kLeast = 12000;
  int (*version)(int*) = nullptr;
  int found = 0;
  if (!Find(library, "cuDriverGetVersion", version) || version(&found) != 0) {
    throw Error("the NVIDIA driver (libcuda.so.1) does not say its version: install it again" +
                InsteadOfGpu());
  }
  if (found >= kLeast) return;
  throw Error("the NVIDIA driver is too old: it is for CUDA " + VersionText(found) +
              ", but this needs " + VersionText(kLeast) + ": install a newer one" + InsteadOfGpu());
}

CudaDriver FindDriver() {
  void* library = FindLibrary({"libcuda.so.1", "libcuda.so"});
  if (library == nullptr) {
    throw Error("no NVIDIA driver (libcuda.so.1) is found: install it" + InsteadOfGpu());
  }
  CheckDriverVersion(library);
  CudaDriver cuda = {};
  const bool all = Find(library, "cuInit", cuda.init) &&
                   Find(library, "cuDriverGetVersion", cuda.driver_version) &&
                   Find(library, "cuGetErrorString", cuda.error_string) &&
                   Find(library, "cuDeviceGetCount", cuda.device_count) &&
                   Find(library, "cuDeviceGet", cuda.device_get) &&
                   Find(library, "cuDeviceGetUuid_v2", cuda.device_id) &&
                   Find(library, "cuDeviceGetName", cuda.device_name) &&
                   Find(library, "cuDeviceGetAttribute", cuda.device_attribute) &&
                   Find(library, "cuDevicePrimaryCtxRetain", cuda.context_retain) &&
                   Find(library, "cuCtxSetCurrent", cuda.context_set) &&
                   Find(library, "cuMemGetInfo_v2", cuda.memory_info) &&
                   Find(library, "cuMemAlloc_v2", cuda.memory_allocate) &&
                   Find(library, "cuMemFree_v2", cuda.memory_free) &&
                   Find(library, "cuMemcpyHtoDAsync_v2", cuda.write) &&
                   Find(library, "cuMemcpyDtoHAsync_v2", cuda.read) &&
                   Find(library, "cuMemsetD8Async", cuda.fill) &&
                   Find(library, "cuStreamCreate", cuda.stream_create) &&
                   Find(library, "cuStreamDestroy_v2", cuda.stream_destroy) &&
                   Find(library, "cuStreamSynchronize", cuda.stream_wait) &&
                   Find(library, "cuStreamWaitEvent", cuda.stream_wait_event) &&
                   Find(library, "cuEventCreate", cuda.event_create) &&
                   Find(library, "cuEventRecord", cuda.event_record) &&
                   Find(library, "cuEventDestroy_v2", cuda.event_destroy) &&
                   Find(library, "cuModuleLoadData", cuda.module_load) &&
                   Find(library, "cuModuleUnload", cuda.module_unload) &&
                   Find(library, "cuModuleGetFunction", cuda.module_function) &&
                   Find(library, "cuLaunchKernel", cuda.launch);
  if (!all) {
    throw Error("the NVIDIA driver (libcuda.so.1) lacks functions of CUDA 12: install it again" +
                InsteadOfGpu());
  }
  return cuda;
}

}  // namespace

const CudaDriver& LoadCudaDriver() {
  static const CudaDriver driver = FindDriver();
  return driver;
}

const KernelCompiler& LoadCompiler() {
  static const KernelCompiler compiler = FindCompiler();
  return compiler;
}

}  // namespace polykern::gpu

#include "polykern/gpu/cuda_library.h"

#include <initializer_list>
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

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*code_size)(Program, std::size_t*);
  int (*code)(Program, char*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

Nvrtc LoadNvrtc() {
  void* library = FindLibrary(
      {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.13",
       "/usr/local/cuda/lib64/libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"});
  Nvrtc found = {};
  if (library != nullptr && Find(library, "nvrtcCreateProgram", found.create) &&
      Find(library, "nvrtcCompileProgram", found.compile) &&
      Find(library, "nvrtcGetCUBINSize", found.code_size) &&
      Find(library, "nvrtcGetCUBIN", found.code) &&
      Find(library, "nvrtcGetProgramLogSize", found.log_size) &&
      Find(library, "nvrtcGetProgramLog", found.log) &&
      Find(library, "nvrtcDestroyProgram", found.destroy)) {
    return found;
  }
  throw Error(
      "no NVRTC (libnvrtc.so of CUDA 12 or later) is found, which compiles for the GPU: install "
      "it, name its "
      "folder in LD_LIBRARY_PATH, or choose " +
      OptionName("device", "cpu"));
}

CudaDriver FindDriver() {
  const std::string instead = ", or choose " + OptionName("device", "cpu");
  void* library = FindLibrary({"libcuda.so.1", "libcuda.so"});
  if (library == nullptr) {
    throw Error("no NVIDIA driver (libcuda.so.1) is found: install it" + instead);
  }
  CudaDriver cuda = {};
  const bool all = Find(library, "cuInit", cuda.init) &&
                   Find(library, "cuDriverGetVersion", cuda.driver_version) &&
                   Find(library, "cuGetErrorString", cuda.error_string) &&
                   Find(library, "cuDeviceGetCount", cuda.device_count) &&
                   Find(library, "cuDeviceGet", cuda.device_get) &&
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
  if (!all) throw Error("the NVIDIA driver is too old: install one for CUDA 12 or later" + instead);
  return cuda;
}

}  // namespace

const CudaDriver& LoadCudaDriver() {
  static const CudaDriver driver = FindDriver();
  return driver;
}

std::string CompileKernels(const std::string& source, const std::string& architecture) {
  static const Nvrtc nvrtc = LoadNvrtc();
  Nvrtc::Program program = nullptr;
  // Nothing is fused that does not say so, and nothing is rounded in another way: the CPU's bits.
  const std::string target = "-arch=" + architecture;
  const char* options[] = {target.c_str(), "-std=c++17",     "-fmad=false",
                           "-ftz=false",   "-prec-div=true", "-prec-sqrt=true"};
  int result = nvrtc.create(&program, source.c_str(), "polykern.cu", 0, nullptr, nullptr);
  if (result == 0) result = nvrtc.compile(program, std::size(options), options);
  std::size_t size = 0;
  std::string text;
  if (result == 0 && nvrtc.code_size(program, &size) == 0 && size > 0) {
    text.resize(size);
    result = nvrtc.code(program, text.data());
  } else if (program != nullptr && nvrtc.log_size(program, &size) == 0) {
    text.resize(size);
    nvrtc.log(program, text.data());
  }
  nvrtc.destroy(&program);
  if (result == 0 && size > 0) return text;
  text.resize(std::min(text.find_first_of("\n\0", 0, 2), text.size()));
  throw Error("NVRTC cannot compile for " + architecture + " (" + std::to_string(result) +
              "): " + text);
}

}  // namespace polykern::gpu

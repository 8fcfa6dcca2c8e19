// A machine whose GPU cannot be used: an NVIDIA driver and an NVRTC that say what the environment
// tells them to, and compute nothing. gpu_test.py calls it libcuda.so.1 and libnvrtc.so.12.
//   POLYKERN_BROKEN_DRIVER=11040  the CUDA that the driver is for
//   POLYKERN_BROKEN_NVRTC=12      the CUDA that NVRTC is of
//   POLYKERN_BROKEN_GPUS=2        how many GPUs there are
//   POLYKERN_BROKEN_MEMORY=1000   bytes of theirs that are free
//   POLYKERN_BROKEN_LOG=FILE      to which the number of each GPU that is opened is added

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long Number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

constexpr char kLog[] = "there is a log, and no code";

}  // namespace

#define BROKEN extern "C" __attribute__((visibility("default")))

// For what does nothing, whatever it is given.
#define BROKEN_AT_ALL(name) \
  BROKEN int name(void*);   \
  BROKEN int name(void*) {  \
    return 0;               \
  }

BROKEN int cuDriverGetVersion(int* version);
BROKEN int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(Number("POLYKERN_BROKEN_DRIVER", 12040));
  return 0;
}
BROKEN int cuInit(unsigned flags);
BROKEN int cuInit(unsigned) {
  return 0;
}
BROKEN int cuDeviceGetCount(int* count);
BROKEN int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Number("POLYKERN_BROKEN_GPUS", 1));
  return 0;
}
BROKEN int cuDeviceGet(int* device, int number);
BROKEN int cuDeviceGet(int* device, int number) {
  *device = number;
  const char* log = std::getenv("POLYKERN_BROKEN_LOG");
  if (log == nullptr) return 0;
  std::FILE* file = std::fopen(log, "a");
  if (file == nullptr) return 1;
  std::fprintf(file, "%d\n", number);
  return std::fclose(file);
}
BROKEN int cuDeviceGetUuid_v2(char* id, int device);
BROKEN int cuDeviceGetUuid_v2(char* id, int device) {
  std::memset(id, 'a' + device, 16);
  return 0;
}
BROKEN int cuDeviceGetName(char* text, int size, int device);
BROKEN int cuDeviceGetName(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "broken GPU %d", device);
  return 0;
}
BROKEN int cuDeviceGetAttribute(int* value, int attribute, int device);
BROKEN int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMinor = 76;
  *value = attribute == kMinor ? 0 : 9;  // an sm_90
  return 0;
}
BROKEN int cuGetErrorString(int result, const char** text);
BROKEN int cuGetErrorString(int, const char** text) {
  *text = "it is broken";
  return 0;
}
BROKEN int cuMemGetInfo_v2(std::size_t* left, std::size_t* all);
BROKEN int cuMemGetInfo_v2(std::size_t* left, std::size_t* all) {
  *left = *all = static_cast<std::size_t>(Number("POLYKERN_BROKEN_MEMORY", 1L << 30));
  return 0;
}
BROKEN int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes);
BROKEN int cuMemAlloc_v2(unsigned long long* address, std::size_t) {
  *address = 4096;
  return 0;
}
BROKEN_AT_ALL(cuDevicePrimaryCtxRetain)
BROKEN_AT_ALL(cuCtxSetCurrent)
BROKEN_AT_ALL(cuMemFree_v2)
BROKEN_AT_ALL(cuMemcpyHtoDAsync_v2)
BROKEN_AT_ALL(cuMemcpyDtoHAsync_v2)
BROKEN_AT_ALL(cuMemsetD8Async)
BROKEN_AT_ALL(cuStreamCreate)
BROKEN_AT_ALL(cuStreamDestroy_v2)
BROKEN_AT_ALL(cuStreamSynchronize)
BROKEN_AT_ALL(cuStreamWaitEvent)
BROKEN_AT_ALL(cuEventCreate)
BROKEN_AT_ALL(cuEventRecord)
BROKEN_AT_ALL(cuEventDestroy_v2)
BROKEN_AT_ALL(cuModuleUnload)
BROKEN_AT_ALL(cuModuleGetFunction)
BROKEN_AT_ALL(cuModuleLoadData)
BROKEN_AT_ALL(cuLaunchKernel)

BROKEN int nvrtcVersion(int* major, int* minor);
BROKEN int nvrtcVersion(int* major, int* minor) {
  *major = static_cast<int>(Number("POLYKERN_BROKEN_NVRTC", 12));
  *minor = 3;
  return 0;
}
BROKEN int nvrtcCreateProgram(const void** program);
BROKEN int nvrtcCreateProgram(const void** program) {
  *program = kLog;
  return 0;
}
BROKEN_AT_ALL(nvrtcCompileProgram)
BROKEN_AT_ALL(nvrtcDestroyProgram)
BROKEN int nvrtcGetCUBINSize(void* program, std::size_t* size);
BROKEN int nvrtcGetCUBINSize(void*, std::size_t* size) {
  *size = 0;
  return 0;
}
BROKEN_AT_ALL(nvrtcGetCUBIN)
BROKEN int nvrtcGetProgramLogSize(void* program, std::size_t* size);
BROKEN int nvrtcGetProgramLogSize(void*, std::size_t* size) {
  *size = sizeof(kLog);
  return 0;
}
BROKEN int nvrtcGetProgramLog(void* program, char* log);
BROKEN int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, kLog, sizeof(kLog));
  return 0;
}

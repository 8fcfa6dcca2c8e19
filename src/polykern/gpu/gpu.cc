#include "polykern/gpu/gpu.h"

#include <string>

#include "polykern/core/error.h"
#include "polykern/gpu/cuda_device.h"
#include "polykern/gpu/gpu_fleet.h"

namespace polykern {

std::unique_ptr<FleetDevice> OpenGpu(std::size_t number) {
  return gpu::NewFleetDevice(gpu::NewCudaDevice(number));
}

std::unique_ptr<FleetDevice> OpenDevice(std::string_view name, std::size_t number) {
  if (name == "cpu") return nullptr;
  if (name == "gpu") return OpenGpu(number);
  throw Error(OptionName("device") + " is \"" + std::string(name) + "\"; it must be cpu or gpu");
}

}  // namespace polykern
